//! The objects of add-ons inside a cluster whose machines a provider makes.
//!
//! A plan has them as long as it creates the cluster: they are behind an API that the plan itself brings. Once the machines
//! exist, the state must know a way to their API; without one the objects stay as they are, and the plan says so.

use slipway_plan::Snapshot;
use slipway_provider_kubernetes::order;
use slipway_resource::Path;
use slipway_resource::provider::ExpandNote;

use super::expansion::Expansion;
use crate::composition::{self, Manifests};
use crate::error::Error;
use crate::opened::Opened;
use crate::request::Request;

/// The field of the spec that remarks are about.
const FIELD: &str = "addons";

impl Opened {
    /// Adds the objects inside the cluster to the desired resources, or says why they are left out.
    pub(super) async fn add_inside(
        &self,
        request: &Request,
        prior: Option<&Snapshot>,
        expansion: &mut Expansion,
    ) -> Result<(), Error> {
        let mut objects = std::mem::take(&mut expansion.inside);
        if objects.is_empty() {
            return Ok(());
        }
        if let Some(reason) = left_out(request, prior) {
            let message = format!("{} objects of add-ons are not part of this plan: {reason}", objects.len());
            expansion.notes.push(ExpandNote { field: FIELD.to_owned(), message });
            return Ok(());
        }
        let manifests = Manifests {
            spec: &self.spec,
            grounds: &self.grounds,
            downloads: &*self.environment.downloads,
            offline: self.is_offline(),
            lenient: true,
        };
        let behind = objects.first().map(|object| object.depends_on.clone()).unwrap_or_default();
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
fn left_out(request: &Request, prior: Option<&Snapshot>) -> Option<&'static str> {
    if request.options.infrastructure_only {
        return Some("with --infrastructure-only nothing is installed inside the cluster");
    }
    let exists = prior.is_some_and(|prior| !prior.resources.is_empty() && !composition::has_objects(prior));
    exists.then_some(
        "the machines exist already, and the state does not know a way to their API. What runs in the cluster stays as \
         it is; in a cluster that kOps made, kOps keeps it",
    )
}
