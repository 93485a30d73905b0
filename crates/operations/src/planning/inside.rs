//! The API of a cluster whose machines a provider makes, and the objects of add-ons behind it.
//!
//! A plan leaves them out where the machines exist and did not get the keys of the cluster from the state. Such a cluster was
//! adopted: the objects stay as they are, and the plan says so.

use slipway_plan::{Mode, Snapshot};
use slipway_provider_kubernetes::{TokenAccess, order};
use slipway_resource::provider::ExpandNote;
use slipway_resource::{Address, Desired, Path};

use super::expansion::Expansion;
use crate::composition::{self, Manifests};
use crate::error::Error;
use crate::opened::Opened;
use crate::request::Request;
use crate::spec::ClusterSpec;

/// The field of the spec that remarks are about.
const FIELD: &str = "addons";

impl Opened {
    /// Adds the objects inside the cluster of a spec to its desired resources, or says why they are left out.
    pub(crate) async fn add_inside(
        &self,
        spec: &ClusterSpec,
        request: &Request,
        prior: Option<&Snapshot>,
        expansion: &mut Expansion,
    ) -> Result<(), Error> {
        let mut objects = std::mem::take(&mut expansion.inside);
        if objects.is_empty() {
            return Ok(());
        }
        let api = objects.iter().find(|desired| composition::is_api(desired));
        if let Some(reason) = left_out(request, prior, api) {
            let count = objects.iter().filter(|desired| !composition::is_api(desired)).count();
            let message = format!("{count} objects of add-ons are not part of this plan: {reason}");
            expansion.notes.push(ExpandNote { field: FIELD.to_owned(), message });
            return Ok(());
        }
        let manifests = Manifests {
            spec,
            grounds: &self.grounds,
            downloads: &*self.environment.downloads,
            offline: self.is_offline(),
            lenient: true,
        };
        let behind: Vec<Address> = api.map(|api| api.address.clone()).into_iter().collect();
        let brought = composition::user_objects(manifests).await?;
        for addon in brought.objects {
            for mut object in addon.objects {
                object.depends_on.extend(behind.iter().cloned());
                object.origins.insert(Path::root(), format!("{FIELD}[{}].manifest", addon.addon));
                objects.push(object);
            }
        }
        for name in brought.unfetched {
            let message = format!(
                "{name} is not part of this plan: its manifest is not here, and nothing is fetched offline. Run `slipway \
                 plan` without --offline once"
            );
            expansion.notes.push(ExpandNote { field: format!("{FIELD}[{name}].manifest"), message });
        }
        expansion.secrets.extend(brought.secrets);
        expansion.desired.extend(order(objects));
        Ok(())
    }
}

/// Why a plan does not have the objects inside the cluster.
fn left_out(request: &Request, prior: Option<&Snapshot>, api: Option<&Desired>) -> Option<&'static str> {
    if request.options.infrastructure_only {
        return Some("with --infrastructure-only nothing is installed inside the cluster");
    }
    let prior = prior?;
    let servers = api.map(|api| api.depends_on.as_slice()).unwrap_or_default();
    let is_served = servers.iter().any(|server| prior.resources.contains_key(server));
    let has_way = composition::gives_keys(prior) || composition::has_objects(prior);
    (is_served && !has_way).then_some(
        "the machines exist already, and did not get the keys of the cluster from the state. What runs in the cluster \
         stays as it is; in a cluster that kOps made, kOps keeps it",
    )
}

/// A remark on a setting that names the API of a cluster whose state has one.
pub(super) fn unused_setting(
    nodes: Option<&TokenAccess>,
    mode: Mode,
    prior: Option<&Snapshot>,
) -> Option<ExpandNote> {
    let is_unused = mode != Mode::Delete && prior.is_some_and(composition::has_objects);
    let unused = nodes.filter(|_| is_unused)?;
    let message = "it is not used: the state has the API of this cluster and its authority".to_owned();
    Some(ExpandNote { field: unused.setting.clone(), message })
}

#[cfg(test)]
mod tests {
    use slipway_resource::Value;

    use super::*;
    use crate::planning::keys::tests::{adopted, state};

    #[test]
    fn an_api_beside_that_of_the_state_is_not_used() {
        let nodes = TokenAccess {
            setting: "provider.config.clusterApi".to_owned(),
            endpoint: "https://api.a.example.com".to_owned(),
            ca_file: None,
            token_file: None,
            networks: None,
        };
        let own = state(&[("kubernetes_api.a", "kubernetes")]);
        let machines = state(&[("cloud_group.masters", "cloud")]);
        let field = |nodes, mode, prior| unused_setting(nodes, mode, prior).map(|note| note.field);
        let setting = Some("provider.config.clusterApi".to_owned());
        assert_eq!(field(Some(&nodes), Mode::Apply, Some(&own)), setting);
        assert_eq!(field(Some(&nodes), Mode::Delete, Some(&own)), None, "nothing is drained");
        assert_eq!(field(Some(&nodes), Mode::Apply, Some(&machines)), None);
        assert_eq!(field(Some(&nodes), Mode::Apply, None), None);
        assert_eq!(field(None, Mode::Apply, Some(&own)), None);
    }

    #[test]
    fn only_machines_without_an_authority_in_the_state_keep_what_runs_in_them() {
        let mut api = Desired::new("kubernetes_api.a".parse().unwrap(), Value::Null);
        api.depends_on = vec!["cloud_group.masters".parse().unwrap()];
        let reason = |state: &Snapshot| left_out(&Request::apply(), Some(state), Some(&api)).is_some();
        let machines = ("cloud_group.masters", "cloud");
        assert!(left_out(&Request::apply(), None, Some(&api)).is_none());
        // The first run was interrupted, before the machines and after them.
        assert!(!reason(&state(&[("cloud_network.a", "cloud")])));
        assert!(!reason(&state(&[("keypair.kubernetes-ca", slipway_generated_secrets::NAME), machines])));
        assert!(reason(&state(&[machines])), "the cluster was adopted");
        let key = ("keypair.kubernetes-ca", slipway_generated_secrets::NAME);
        assert!(reason(&adopted(state(&[machines, key]))), "the cluster was adopted with its keys");
        assert!(!reason(&adopted(state(&[machines, key, ("kubernetes_api.a", "kubernetes")]))));
        let mut request = Request::apply();
        request.options.infrastructure_only = true;
        assert!(left_out(&request, None, Some(&api)).is_some());
    }
}
