//! Plans that leave an etcd cluster without the majority of its members: all of its data is lost, and not that of one disk.

use slipway_plan::{ChangeAction, Plan, ResourceChange};
use slipway_resource::provider::ExpandNote;
use slipway_spec::model::{Cluster, EtcdCluster, EtcdMember};

/// Says so in a note, and in the confirmation of each disk of a member that is lost.
pub(super) fn name(plan: &mut Plan, last: Option<&Cluster>, next: &Cluster) {
    for etcd in last.into_iter().flat_map(|last| &last.etcd) {
        let goes = |action: ChangeAction| action.is_replace() || action == ChangeAction::Delete;
        let disks = plan.changes.iter_mut().filter(|change| {
            goes(change.action) && change.confirmation.is_some() && is_disk(etcd, change.address.name())
        });
        let disks: Vec<&mut ResourceChange> = disks.collect();
        let after = next.etcd.iter().find(|next| next.name == etcd.name);
        let Some(text) = lost(etcd, after, disks.len()).filter(|_| !disks.is_empty()) else { continue };
        for disk in disks {
            disk.confirm(text.as_str());
        }
        plan.notes.push(ExpandNote { field: format!("etcd[{}].members", etcd.name), message: text });
    }
}

/// What stands before an address whose name would begin with a digit.
const BEFORE_DIGIT: &str = "prefix_";

/// Whether a resource is the disk of a member, by its name: `etcd-main-a`, or `a.etcd-main.example.com` as kOps names it. Addresses of
/// clouds have hyphens in place of dots. A store of backups has the name of the etcd cluster alone.
fn is_disk(etcd: &EtcdCluster, name: &str) -> bool {
    let hyphenated = name.strip_prefix(BEFORE_DIGIT).unwrap_or(name).replace('.', "-");
    let is_of = |member: &EtcdMember| {
        let (cluster, member) = (&etcd.name, &member.name);
        let own = format!("{member}-etcd-{cluster}").replace('.', "-");
        let begins =
            hyphenated.strip_prefix(&own).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        begins || name.contains(&format!("etcd-{cluster}-{member}"))
    };
    etcd.members.iter().any(is_of)
}

/// What is lost of an etcd cluster, if no majority of its members keeps its name, its subnet and its disk.
fn lost(before: &EtcdCluster, after: Option<&EtcdCluster>, disks: usize) -> Option<String> {
    let members = after.map_or(&[][..], |after| &after.members);
    let stays = |member: &&EtcdMember| {
        members.iter().any(|other| other.name == member.name && other.subnet == member.subnet)
    };
    let all = before.members.len();
    let kept = before.members.iter().filter(stays).count().min(all.saturating_sub(disks));
    (kept * 2 <= all).then(|| {
        let what = if before.name == "events" { "all events" } else { "all objects of the cluster" };
        format!(
            "the etcd cluster {} keeps {kept} of {all} members, which is no majority: {what} are lost",
            before.name
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn etcd(members: &[(&str, &str)]) -> EtcdCluster {
        let members: Vec<_> = members
            .iter()
            .map(|(name, subnet)| json!({ "name": name, "pool": "control-plane", "subnet": subnet }))
            .collect();
        serde_json::from_value(json!({ "name": "main", "members": members, "backups": {} })).unwrap()
    }

    #[test]
    fn a_store_of_backups_is_no_disk() {
        let etcd = etcd(&[("a", "1"), ("1.b", "2")]);
        let of_addresses = ["a-etcd-main-demo", "a-etcd-main-example-com", "prefix_1-b-etcd-main-demo"];
        for name in ["etcd-main-a", "a.etcd-main.example.com"].into_iter().chain(of_addresses) {
            assert!(is_disk(&etcd, name), "{name}");
        }
        for name in ["etcd-main", "etcd-events-a", "backups-etcd-main", "a-etcd-events-demo", "a-etcd-mainly"]
        {
            assert!(!is_disk(&etcd, name), "{name}");
        }
    }

    #[test]
    fn a_majority_must_stay() {
        let three = etcd(&[("a", "1"), ("b", "2"), ("c", "3")]);
        assert_eq!(lost(&three, Some(&three), 0), None);
        assert_eq!(lost(&three, Some(&etcd(&[("a", "1"), ("b", "2")])), 0), None);
        let text = lost(&three, Some(&etcd(&[("a", "1")])), 0).unwrap();
        assert!(text.contains("keeps 1 of 3 members"), "{text}");
        let swapped = etcd(&[("a", "2"), ("b", "1"), ("c", "3")]);
        assert!(lost(&three, Some(&swapped), 0).is_some());
        let one = etcd(&[("a", "1")]);
        assert_eq!(lost(&one, Some(&three), 0), None, "members are added");
        assert!(lost(&one, Some(&etcd(&[("a", "2")])), 0).is_some());
        assert!(lost(&three, None, 0).is_some());
        assert_eq!(lost(&three, Some(&three), 1), None);
        assert!(lost(&three, Some(&three), 2).is_some(), "two disks are replaced");
    }
}
