//! Members of etcd on nodes of control planes: whether one votes, and whether the others do without it.
//!
//! The pod of a member is ready when the member votes and hears the leader (`/readyz` of etcd). Only clusters with members whose data is
//! on volumes are looked at: their machines are replaced, and the member comes back with the volume.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use slipway_bootstrap::boot::ETCD_DATA;
use slipway_resource::ProviderError;

use crate::api::{Connection, Selector};

/// Where the pods of members are, and their labels.
const PODS: &str = "/api/v1/namespaces/kube-system/pods";
const LABELS: &str = "component=etcd,tier=control-plane";

/// A member as its pod shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    name: String,
    node: String,
    ready: bool,
    on_volume: bool,
    /// When the pod was made. A member that moved to another machine has two pods for a while.
    made: String,
    /// The members of its cluster when it started on this machine.
    cluster: BTreeSet<String>,
}

impl Member {
    fn of(pod: &Json) -> Option<Self> {
        let text = |path: &str| pod.pointer(path).and_then(Json::as_str).map(str::to_owned);
        let words = |path: &str| {
            pod.pointer(path).and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str)
        };
        let flag = |name: &str| {
            let all = words("/spec/containers/0/command").chain(words("/spec/containers/0/args"));
            let mut found = all.filter_map(|word| word.strip_prefix(name)?.strip_prefix('='));
            found.next_back().map(str::to_owned)
        };
        let conditions = pod.pointer("/status/conditions").and_then(Json::as_array).into_iter().flatten();
        let is = |condition: &Json, field: &str, value: &str| {
            condition.get(field).and_then(Json::as_str) == Some(value)
        };
        let mut ready = conditions.filter(|condition| is(condition, "type", "Ready"));
        let cluster = flag("--initial-cluster").unwrap_or_default();
        let cluster = cluster.split(',').filter_map(|one| Some(one.split_once('=')?.0.to_owned())).collect();
        Some(Self {
            name: flag("--name")?,
            node: text("/spec/nodeName")?,
            ready: ready.any(|condition| is(condition, "status", "True")),
            on_volume: flag("--data-dir").as_deref() == Some(ETCD_DATA),
            made: text("/metadata/creationTimestamp").unwrap_or_default(),
            cluster,
        })
    }
}

/// The members by name, of each the one on its latest machine.
fn latest(members: Vec<Member>) -> BTreeMap<String, Member> {
    let mut by_name: BTreeMap<String, Member> = BTreeMap::new();
    for member in members {
        let known = by_name.get(&member.name);
        if known.is_none_or(|known| known.made < member.made) {
            by_name.insert(member.name.clone(), member);
        }
    }
    by_name
}

/// Whether a node has a member, and any member is on a volume. Members of an earlier version are on disks beside those on volumes until
/// all of their machines are replaced.
fn is_watched(members: &BTreeMap<String, Member>, node: &str) -> bool {
    members.values().any(|member| member.node == node) && members.values().any(|member| member.on_volume)
}

/// Why etcd cannot do without the member of a node: another member does not vote. `None` also for nodes without a member, and where no
/// member is on a volume.
fn needs(members: &BTreeMap<String, Member>, ready: &BTreeSet<String>, node: &str) -> Option<String> {
    let own = members.values().find(|member| member.node == node).filter(|_| is_watched(members, node))?;
    let all = members.values().map(|member| member.cluster.len()).max().unwrap_or_default();
    let votes = |member: &&Member| member.name != own.name && member.ready && ready.contains(&member.node);
    let voting: Vec<&str> = members.values().filter(votes).map(|member| member.name.as_str()).collect();
    if voting.len() + 1 >= all {
        return None;
    }
    let others = match voting.as_slice() {
        [] => "none of the others votes".to_owned(),
        [one] => format!("only {one} of the others votes"),
        several => format!("only {} of the others vote", several.join(", ")),
    };
    Some(format!("etcd has {all} members, and beside {} {others}", own.name))
}

impl Connection {
    /// Why etcd cannot do without the member of a node, as a sentence; `None` when all other members vote, for nodes without a member,
    /// and where no member has its data on a volume.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn etcd_needs(&self, node: &str) -> Result<Option<String>, ProviderError> {
        let members = latest(self.members().await?);
        if !is_watched(&members, node) {
            return Ok(None);
        }
        let nodes = self.nodes().await?;
        let ready = nodes.into_iter().filter(|node| node.ready).map(|node| node.name).collect();
        Ok(needs(&members, &ready, node))
    }

    /// Whether a node has a member of etcd whose data is on a volume, and that does not vote.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn lacks_vote(&self, node: &str) -> Result<bool, ProviderError> {
        let members = self.members().await?;
        Ok(members.iter().any(|member| member.node == node && member.on_volume && !member.ready))
    }

    async fn members(&self) -> Result<Vec<Member>, ProviderError> {
        let pods = self.list_all(PODS, ("v1", "Pod"), Selector::Labels(LABELS)).await?;
        Ok(pods.iter().filter_map(Member::of).collect())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, node: &str, (made, ready): (&str, bool), cluster: &str) -> Json {
        json!({"metadata": {"creationTimestamp": made},
            "spec": {"nodeName": node, "containers": [{"command": ["etcd", format!("--name={name}"),
                "--data-dir=/var/lib/etcd/data", format!("--initial-cluster={cluster}")]}]},
            "status": {"conditions": [{"type": "Ready", "status": if ready { "True" } else { "False" }}]}})
    }

    fn needed(pods: &[Json], ready: &[&str], node: &str) -> Option<String> {
        let members = latest(pods.iter().filter_map(Member::of).collect());
        needs(&members, &ready.iter().map(|name| (*name).to_owned()).collect(), node)
    }

    #[test]
    fn a_second_member_stays_until_the_first_votes_again() {
        let all = "a=https://1:2380,b=https://2:2380,c=https://3:2380";
        let (b, c) = (pod("b", "n2", ("1", true), "a=x,b=y"), pod("c", "n3", ("2", true), all));
        let before = [pod("a", "n1", ("0", true), "a=x"), b.clone(), c.clone()];
        assert_eq!(needed(&before, &["n1", "n2", "n3"], "n1"), None);
        // The machine of a is replaced: its new pod does not vote yet, or its node has not registered.
        let gone = [b.clone(), c.clone()];
        let why = needed(&gone, &["n2", "n3"], "n2").unwrap();
        assert_eq!(why, "etcd has 3 members, and beside b only c of the others votes");
        let again = |ready| {
            [pod("a", "n1", ("0", true), "a=x"), b.clone(), c.clone(), pod("a", "n4", ("3", ready), all)]
        };
        assert!(needed(&again(false), &["n1", "n2", "n3", "n4"], "n2").is_some());
        assert_eq!(needed(&again(true), &["n2", "n3", "n4"], "n2"), None);
        // A pod of a node that does not answer is none that votes.
        assert!(needed(&again(true), &["n2", "n4"], "n2").is_some());
        // The broken one itself may be replaced.
        assert_eq!(needed(&again(false), &["n2", "n3", "n4"], "n4"), None);
    }

    #[test]
    fn a_single_member_and_nodes_without_a_volume_wait_for_nobody() {
        let single = [pod("a", "n1", ("0", true), "a=x")];
        assert_eq!(needed(&single, &["n1"], "n1"), None);
        let mut on_disk = pod("n1", "n1", ("0", true), "n1=x,n2=y,n3=z");
        on_disk["spec"]["containers"][0]["command"][2] = "--data-dir=/var/lib/etcd".into();
        assert_eq!(needed(std::slice::from_ref(&on_disk), &["n1"], "n1"), None);
        // The first of them was replaced by one with a volume, which does not vote yet.
        let mixed = |ready| {
            let mut other = on_disk.clone();
            other["spec"]["containers"][0]["command"][1] = "--name=n2".into();
            other["spec"]["nodeName"] = "n2".into();
            [pod("a", "n9", ("1", ready), "n1=x,n2=y,a=z"), on_disk.clone(), other]
        };
        assert!(needed(&mixed(false), &["n1", "n2", "n9"], "n1").is_some());
        assert_eq!(needed(&mixed(true), &["n1", "n2", "n9"], "n1"), None);
        assert_eq!(needed(&single, &["n1", "n9"], "n9"), None);
    }
}
