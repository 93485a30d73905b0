//! Permissions of the driver and its helpers.

use serde_json::{Value, json};

use super::{CONTROLLER_ACCOUNT, NODE_ACCOUNT};
use crate::object::{Family, rule};

const READ: [&str; 3] = ["get", "list", "watch"];
const STORAGE: &str = "storage.k8s.io";
const SNAPSHOTS: &str = "snapshot.storage.k8s.io";
const GROUP_SNAPSHOTS: &str = "groupsnapshot.storage.k8s.io";

/// Roles and bindings.
pub(super) fn objects(family: &Family) -> Vec<Value> {
    let mut objects = Vec::new();
    let controller = [
        ("attacher", attacher()),
        ("provisioner", provisioner()),
        ("resizer", resizer()),
        ("snapshotter", snapshotter()),
    ];
    for (helper, rules) in controller {
        let role = format!("ebs-external-{helper}-role");
        objects.push(family.cluster_role(&role, rules));
        objects.push(family.cluster_binding(&format!("ebs-csi-{helper}-binding"), &role, CONTROLLER_ACCOUNT));
    }
    objects.push(family.cluster_role("ebs-csi-node-role", node()));
    objects.push(family.cluster_binding("ebs-csi-node-getter-binding", "ebs-csi-node-role", NODE_ACCOUNT));
    let leases =
        rule("coordination.k8s.io", &["leases"], &["get", "watch", "list", "delete", "update", "create"]);
    objects.push(family.role("ebs-csi-leases-role", json!([leases])));
    objects.push(family.binding("ebs-csi-leases-rolebinding", "ebs-csi-leases-role", CONTROLLER_ACCOUNT));
    objects
}

fn events() -> Value {
    rule("", &["events"], &["list", "watch", "create", "update", "patch"])
}

fn attacher() -> Value {
    json!([
        rule("", &["persistentvolumes"], &["get", "list", "watch", "patch"]),
        rule(STORAGE, &["csinodes"], &READ),
        rule(STORAGE, &["volumeattachments"], &["get", "list", "watch", "patch"]),
        rule(STORAGE, &["volumeattachments/status"], &["patch"]),
    ])
}

fn provisioner() -> Value {
    json!([
        rule("", &["persistentvolumes"], &["get", "list", "watch", "create", "patch", "delete"]),
        rule("", &["persistentvolumeclaims"], &["get", "list", "watch", "update"]),
        rule(STORAGE, &["storageclasses"], &READ),
        events(),
        rule(SNAPSHOTS, &["volumesnapshots"], &["get", "list", "watch", "update"]),
        rule(SNAPSHOTS, &["volumesnapshotcontents"], &["get", "list"]),
        rule(STORAGE, &["csinodes"], &READ),
        rule("", &["nodes"], &READ),
        rule(STORAGE, &["volumeattachments"], &READ),
        rule(STORAGE, &["volumeattributesclasses"], &["get"]),
    ])
}

fn resizer() -> Value {
    json!([
        rule("", &["persistentvolumes"], &["get", "list", "watch", "patch"]),
        rule("", &["persistentvolumeclaims"], &READ),
        rule("", &["persistentvolumeclaims/status"], &["patch"]),
        events(),
        rule("", &["pods"], &READ),
        rule(STORAGE, &["volumeattributesclasses"], &READ),
    ])
}

fn snapshotter() -> Value {
    json!([
        events(),
        rule(SNAPSHOTS, &["volumesnapshotclasses"], &READ),
        rule(SNAPSHOTS, &["volumesnapshotcontents"], &["get", "list", "watch", "update", "patch"]),
        rule(SNAPSHOTS, &["volumesnapshotcontents/status"], &["update", "patch"]),
        rule(GROUP_SNAPSHOTS, &["volumegroupsnapshotclasses"], &READ),
        rule(GROUP_SNAPSHOTS, &["volumegroupsnapshotcontents"], &["get", "list", "watch", "update", "patch"]),
        rule(GROUP_SNAPSHOTS, &["volumegroupsnapshotcontents/status"], &["update", "patch"]),
    ])
}

fn node() -> Value {
    json!([
        rule("", &["nodes"], &["get"]),
        rule("", &["nodes"], &["patch", "list", "watch"]),
        rule(STORAGE, &["volumeattachments"], &["get", "list", "watch"]),
        rule(STORAGE, &["csinodes"], &["get"]),
    ])
}
