//! Storage classes for volumes of EBS.

use serde_json::{Value, json};

use crate::object::{Family, rule};

/// The name of the add-on.
pub(crate) const NAME: &str = "storage-classes";
const IN_TREE: &str = "kubernetes.io/aws-ebs";
const DRIVER: &str = "ebs.csi.aws.com";
const ROLE: &str = "system:aws-cloud-provider";

/// The classes. The one of the driver is the default where the driver is installed.
pub(crate) fn objects(has_driver: bool) -> Vec<Value> {
    let family = Family::new([("k8s-addon", "storage-aws.addons.k8s.io")]);
    let class = |name: &str, provisioner: &str, parameters: Value, is_default: Option<bool>| {
        let mut class = family.global("storage.k8s.io/v1", "StorageClass", name);
        class["provisioner"] = provisioner.into();
        class["parameters"] = parameters;
        if let Some(is_default) = is_default {
            class["metadata"]["annotations"] =
                json!({"storageclass.kubernetes.io/is-default-class": is_default.to_string()});
        }
        class
    };
    let late = |mut class: Value| {
        class["allowVolumeExpansion"] = true.into();
        class["volumeBindingMode"] = "WaitForFirstConsumer".into();
        class
    };
    let encrypted = |kind: &str| json!({"type": kind, "encrypted": "true"});
    let mut objects = vec![
        class("default", IN_TREE, json!({"type": "gp2"}), None),
        class("gp2", IN_TREE, json!({"type": "gp2"}), Some(false)),
        late(class("kops-ssd-1-17", IN_TREE, encrypted("gp2"), Some(!has_driver))),
    ];
    if has_driver {
        objects.push(late(class("kops-csi-1-21", DRIVER, encrypted("gp3"), Some(true))));
    }
    let rules = json!([
        rule("", &["nodes"], &["get", "list", "patch"]),
        rule("", &["events"], &["create", "patch", "update"]),
    ]);
    objects.push(family.cluster_role(ROLE, rules));
    objects.push(family.cluster_binding(ROLE, ROLE, "aws-cloud-provider"));
    objects
}
