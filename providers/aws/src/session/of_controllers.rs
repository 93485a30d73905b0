//! Objects that controllers inside the cluster created: load balancers of Services and Ingresses with their target groups and
//! security groups, and volumes of claims. They are no resources of a spec, and their tags name the cluster. When the whole cluster
//! is deleted, nothing is left that would delete them, so they are found as objects that the plan deletes.
//!
//! Tags of controllers have the name of the cluster and not its unique id. Another cluster of the account may have the same name, also
//! one of another tool. So only objects in networks of this cluster are found, and volumes only if no other cluster of the name has
//! machines.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::future::try_join_all;
use slipway_aws_model::tags::{self, membership};
use slipway_resource::{Address, Identity, Observation, Observed, ProviderError, Value};

use super::balancing::security_groups;
use crate::cloud::Cloud;
use crate::kind::{self, Condition, Kind, Tagged, balancers_of_others, machines, target_groups_of_others};
use crate::look::{Look, filter, tagged_any};
use crate::owner::{OF_CONTROLLERS, Owner, Tags, of_ec2, wanted};

/// The tag with the cluster on all objects of the AWS Load Balancer Controller.
const BALANCER_CONTROLLER: &str = "elbv2.k8s.aws/cluster";

/// The tags in which controllers name the Service or the Ingress of an object.
const SERVICES: [&str; 3] = ["kubernetes.io/service-name", "service.k8s.aws/stack", "ingress.k8s.aws/stack"];

/// The tags in which the controller of volumes names the claim of a volume: its namespace and its name.
const CLAIM: [&str; 2] = ["kubernetes.io/created-for/pvc/namespace", "kubernetes.io/created-for/pvc/name"];

/// A tag of all volumes of the CSI driver.
const CSI_VOLUME: &str = "CSIVolumeName";

/// The objects of the cluster's controllers, without those that were found already.
///
/// # Errors
/// When a call failed that may be repeated. Calls that are not permitted find nothing.
pub(super) async fn discover(
    look: &Look,
    owned: &BTreeSet<Identity>,
) -> Result<Vec<Observed>, ProviderError> {
    let candidates = candidates(look, owned).await?;
    let reads = candidates.iter().map(|(kind, identity)| read(look, *kind, identity));
    let found: Vec<Observed> = try_join_all(reads).await?.into_iter().flatten().collect();
    if found.is_empty() {
        return Ok(found);
    }
    let place = answered("the networks of the cluster", Place::of(look).await)?;
    let (own, others): (Vec<Observed>, Vec<Observed>) = found.into_iter().partition(|found| place.has(found));
    for other in others {
        let (address, identity) = (other.address, other.identity);
        tracing::warn!(%address, %identity, "it is kept: it may belong to another cluster of the same name");
    }
    Ok(own)
}

/// Where the cluster is.
#[derive(Debug, Default)]
struct Place {
    networks: BTreeSet<String>,
    /// Whether no machine with the name of the cluster is in another network.
    is_alone: bool,
}

impl Place {
    /// The place of the cluster that is looked at.
    ///
    /// # Errors
    /// When it cannot be read.
    async fn of(look: &Look) -> Result<Self, ProviderError> {
        let cluster = look.request.cluster.as_str();
        let networks = networks(look).await?;
        let is_own =
            |network: &Option<String>| network.as_ref().is_some_and(|network| networks.contains(network));
        let machines = machines(&look.cloud, cluster).await?;
        let is_alone = !networks.is_empty() && machines.iter().all(|(_, network)| is_own(network));
        Ok(Self { networks, is_alone })
    }

    /// Whether an object is that of this cluster, and not that of another one of the same name.
    fn has(&self, found: &Observed) -> bool {
        // A volume is in no network.
        if found.address.kind() == "aws_ebs_volume" {
            return self.is_alone;
        }
        let Observation::Present(attributes) = &found.observation else { return false };
        let network = attributes.get("vpc_id").and_then(Value::as_str);
        network.is_some_and(|network| self.networks.contains(network))
    }
}

/// The networks with objects that the cluster owns. An adopted cluster may own none by its tags: then those with security groups that
/// another tool has made for a cluster of the name.
async fn networks(look: &Look) -> Result<BTreeSet<String>, ProviderError> {
    let (cloud, cluster) = (&look.cloud, look.request.cluster.as_str());
    let (key, value) = look.mark();
    let own = security_groups(cloud, vec![filter(&format!("tag:{key}"), [value])]).await?;
    let mut found: BTreeSet<String> = look.tagged("vpc").await?.into_iter().collect();
    found.extend(own.iter().filter_map(|group| group.vpc_id()).map(str::to_owned));
    if found.is_empty() {
        let tag = format!("tag:{}", tags::CLUSTER);
        let named = security_groups(cloud, vec![filter(&tag, [cluster])]).await?;
        let unowned = named.iter().filter(|group| Owner::of(&of_ec2(group.tags())).is_none());
        found.extend(unowned.filter_map(|group| group.vpc_id()).map(str::to_owned));
    }
    Ok(found)
}

/// Objects that may belong to controllers: few besides those that do.
async fn candidates(
    look: &Look,
    owned: &BTreeSet<Identity>,
) -> Result<Vec<(&'static dyn Kind, Identity)>, ProviderError> {
    let (cloud, cluster) = (&look.cloud, look.request.cluster.as_str());
    let (in_ec2, balancers, groups) = tokio::join!(
        in_ec2(cloud, cluster),
        balancers_of_others(cloud, cluster),
        target_groups_of_others(cloud, cluster),
    );
    let mut in_ec2 = answered("security groups and volumes", in_ec2)?;
    let balancers = answered("load balancers", balancers)?;
    let groups = answered("target groups", groups)?;
    let of_cluster = |tagged: &[Tagged]| -> Vec<Identity> {
        let own = tagged.iter().filter(|(_, tags)| is_of_controller(tags, cluster));
        own.map(|(identity, _)| identity.clone()).collect()
    };
    let mut found = Vec::new();
    for kind in kind::all().iter().copied().filter(|kind| look.wants(kind.name())) {
        let identities = match kind.name() {
            "aws_lb" => of_cluster(&balancers),
            "aws_lb_target_group" => of_cluster(&groups),
            "aws_security_group" | "aws_ebs_volume" => {
                let ids = kind.tagged_as().and_then(|name| in_ec2.remove(name)).unwrap_or_default();
                ids.into_iter().map(Identity::new).collect()
            }
            _ => continue,
        };
        found
            .extend(identities.into_iter().filter(|identity| !owned.contains(identity)).map(|id| (kind, id)));
    }
    Ok(found)
}

/// The ids of EC2's objects with a tag of the cluster, by type.
async fn in_ec2(cloud: &Cloud, cluster: &str) -> Result<BTreeMap<String, Vec<String>>, ProviderError> {
    let membership = membership(cluster);
    tagged_any(cloud, &[membership.as_str(), BALANCER_CONTROLLER], &["owned", cluster]).await
}

async fn read(look: &Look, kind: &dyn Kind, identity: &Identity) -> Result<Option<Observed>, ProviderError> {
    let found = answered("an object of a controller", kind::read(kind, &look.cloud, identity).await)?;
    let Some(found) = found.filter(|found| found.owner.is_none() && found.condition != Condition::Ending)
    else {
        return Ok(None);
    };
    let tags = wanted(&found.attributes);
    if !is_of_controller(&tags, &look.request.cluster) {
        return Ok(None);
    }
    let name = match kind.name() {
        // Unlike names of groups, it is unique.
        "aws_security_group" => None,
        _ => found.attributes.get("name").and_then(|name| name.as_str()),
    };
    let address = address(kind.name(), &tags, name.unwrap_or(identity.as_str()));
    Ok(Some(Observed {
        address,
        identity: found.identity,
        token: None,
        owner: None,
        observation: Observation::Present(found.attributes),
    }))
}

/// Whether tags are those of an object that a controller of the cluster created. The tag of the cluster alone does not say so: kOps
/// sets it too.
fn is_of_controller(tags: &Tags, cluster: &str) -> bool {
    let is_owned = tags.get(&membership(cluster)).is_some_and(|value| value == "owned");
    let mut marks = SERVICES.iter().chain(&CLAIM).chain([&CSI_VOLUME]);
    tags.get(BALANCER_CONTROLLER).is_some_and(|name| name == cluster)
        || (is_owned && marks.any(|mark| tags.contains_key(*mark)))
}

/// The address of an object in a plan: with the Service, the Ingress or the claim for which it was created.
fn address(kind: &str, tags: &Tags, name: &str) -> Address {
    let service = SERVICES.iter().find_map(|key| tags.get(*key)).cloned();
    let claim = || {
        let parts: Vec<&str> = CLAIM.iter().filter_map(|key| tags.get(*key)).map(String::as_str).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
    };
    let user = service.or_else(claim).map(|user| format!("{user}/")).unwrap_or_default();
    // Tags can have characters that no address has.
    let allowed = |letter: char| {
        if letter.is_ascii_alphanumeric() || "-_./:@".contains(letter) { letter } else { '-' }
    };
    let name: String = format!("{user}{name}").chars().map(allowed).collect();
    Address::new(kind, format!("{OF_CONTROLLERS}{name}"))
}

/// The answer to a question; nothing if the question is not permitted.
fn answered<T: Default>(what: &str, answer: Result<T, ProviderError>) -> Result<T, ProviderError> {
    match answer {
        Err(error) if error.class.is_retryable() => Err(error),
        Err(error) => {
            tracing::debug!(%error, "{what} of controllers cannot be read");
            Ok(T::default())
        }
        answer => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tags(entries: &[(&str, &str)]) -> Tags {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn objects_of_controllers_are_told_by_their_tags() {
        let membership = ("kubernetes.io/cluster/a.example.com", "owned");
        let is_ours = |entries: &[(&str, &str)]| is_of_controller(&tags(entries), "a.example.com");
        assert!(is_ours(&[membership, ("kubernetes.io/service-name", "shop/web")]));
        assert!(is_ours(&[membership, ("CSIVolumeName", "pvc-1")]));
        assert!(is_ours(&[("elbv2.k8s.aws/cluster", "a.example.com")]));
        assert!(!is_ours(&[membership]), "kOps sets this tag too");
        assert!(!is_ours(&[("kubernetes.io/service-name", "shop/web")]));
        assert!(!is_ours(&[("elbv2.k8s.aws/cluster", "b.example.com")]));
        let shared = ("kubernetes.io/cluster/a.example.com", "shared");
        assert!(!is_ours(&[shared, ("kubernetes.io/service-name", "shop/web")]));
    }

    #[test]
    fn addresses_name_the_user_of_an_object() {
        let name = |entries: &[(&str, &str)], name: &str| address("aws_lb", &tags(entries), name).to_string();
        let service = [("kubernetes.io/service-name", "shop/web")];
        assert_eq!(name(&service, "a0d3"), "aws_lb.of-controllers/shop/web/a0d3");
        let claim = [(CLAIM[0], "shop"), (CLAIM[1], "data")];
        assert_eq!(name(&claim, "vol-1"), "aws_lb.of-controllers/shop/data/vol-1");
        let odd = name(&[("service.k8s.aws/stack", "a b{$}")], "k8s-x");
        assert_eq!(odd, "aws_lb.of-controllers/a-b---/k8s-x");
        assert!(odd.parse::<Address>().is_ok());
    }
}
