//! Policy documents: long JSON texts, as clouds have them.

use serde_json::{Value, json};
use slipway_cluster_input::{ClusterInput, DnsKind, Endpoint, Role};

/// The permissions of machines with a role.
pub(super) fn document(cluster: &ClusterInput, role: Role) -> String {
    let mut statements = vec![allow("Describe", &["compute:Describe*", "network:Describe*"], "*", None)];
    match role {
        Role::ControlPlane => control_plane(cluster, &mut statements),
        Role::ApiServer => statements.push(allow("ReadKeys", &["keys:Read"], &keys(cluster), None)),
        Role::Worker => {
            statements.push(allow("PullImages", &["registry:Get*", "registry:BatchGet*"], "*", None));
        }
        Role::Bastion => {}
    }
    let document = json!({ "Version": "2026-01-01", "Statement": statements });
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

fn control_plane(cluster: &ClusterInput, statements: &mut Vec<Value>) {
    let name = cluster.name.as_str();
    let volumes =
        ["storage:AttachVolume", "storage:CreateVolume", "storage:DeleteVolume", "storage:DetachVolume"];
    statements.push(allow("ManageVolumes", &volumes, "*", Some(name)));
    let routes = ["network:CreateRoute", "network:DeleteRoute", "network:ModifySecurityGroup"];
    statements.push(allow("ManageNetwork", &routes, "*", Some(name)));
    statements.push(allow("ReadKeys", &["keys:Read"], &keys(cluster), None));
    if matches!(cluster.control_plane.endpoint, Endpoint::LoadBalancer(_)) {
        let targets = ["balance:DeregisterTargets", "balance:RegisterTargets"];
        statements.push(allow("RegisterTargets", &targets, "*", Some(name)));
    }
    if cluster.control_plane.dns.kind != DnsKind::None {
        let zone = cluster.control_plane.dns.zone.as_deref().unwrap_or("*");
        let records = ["dns:ChangeRecords", "dns:ListRecords"];
        statements.push(allow("ManageRecords", &records, &format!("arn:sim:dns:zone/{zone}"), None));
    }
    for etcd in cluster.etcd.iter().filter(|etcd| etcd.backups.enabled) {
        let store = etcd
            .backups
            .store
            .clone()
            .unwrap_or_else(|| format!("arn:sim:storage:{name}/etcd-{}", etcd.name));
        let actions = ["storage:DeleteObject", "storage:GetObject", "storage:PutObject"];
        statements.push(allow(&format!("BackUp{}", capital(&etcd.name)), &actions, &store, None));
    }
    if let Some(store) = &cluster.service_accounts.discovery_store {
        statements.push(allow("PublishKeys", &["storage:PutObject"], store, None));
    }
}

fn keys(cluster: &ClusterInput) -> String {
    format!("arn:sim:keys:{}/*", cluster.name)
}

fn capital(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().collect::<String>() + letters.as_str())
        .unwrap_or_default()
}

fn allow(id: &str, actions: &[&str], resource: &str, cluster: Option<&str>) -> Value {
    let mut statement = json!({ "Sid": id, "Effect": "Allow", "Action": actions, "Resource": resource });
    if let (Some(cluster), Some(fields)) = (cluster, statement.as_object_mut()) {
        fields.insert("Condition".into(), json!({ "StringEquals": { "tag/slipway-cluster": cluster } }));
    }
    statement
}
