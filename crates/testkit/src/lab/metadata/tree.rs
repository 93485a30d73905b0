//! The paths of the instance metadata.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::lab::emulator::Instance;

/// The content of a path: a value, or the list of entries below it. `credentials` are looked up only on
/// request.
pub fn find(
    instance: &Instance,
    path: &str,
    credentials: impl Fn(&Instance) -> Option<Value>,
) -> Option<Vec<u8>> {
    // A version is a date, or `latest`.
    let path = path.trim_matches('/').split_once('/').map_or("", |(_, path)| path);
    match path {
        "user-data" => user_data(instance),
        "dynamic/instance-identity/document" => Some(pretty(&document(instance)).into_bytes()),
        _ => {
            let path = path.strip_prefix("meta-data")?.trim_start_matches('/');
            let role = instance.role.as_deref().filter(|role| {
                path.strip_prefix("iam/security-credentials/").is_some_and(|asked| asked == *role)
            });
            match role {
                Some(_) => credentials(instance).map(|credentials| pretty(&credentials).into_bytes()),
                None => value_or_list(&leaves(instance), path).map(String::into_bytes),
            }
        }
    }
}

fn user_data(instance: &Instance) -> Option<Vec<u8>> {
    STANDARD.decode(instance.user_data.as_deref()?).ok()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn document(instance: &Instance) -> Value {
    json!({
        "accountId": instance.account,
        "architecture": instance.architecture,
        "availabilityZone": instance.zone,
        "imageId": instance.image,
        "instanceId": instance.id,
        "instanceType": instance.instance_type,
        "pendingTime": instance.launched,
        "privateIp": instance.primary().map(|interface| interface.address.clone()).unwrap_or_default(),
        "region": instance.region,
        "version": "2017-09-30",
    })
}

fn value_or_list(leaves: &BTreeMap<String, String>, path: &str) -> Option<String> {
    if let Some(value) = leaves.get(path) {
        return Some(value.clone());
    }
    let folder = if path.is_empty() { String::new() } else { format!("{}/", path.trim_end_matches('/')) };
    let below: BTreeSet<&str> = leaves
        .keys()
        .filter_map(|leaf| leaf.strip_prefix(&folder))
        .map(|rest| rest.split_inclusive('/').next().unwrap_or(rest))
        .collect();
    (!below.is_empty()).then(|| below.into_iter().collect::<Vec<_>>().join("\n"))
}

fn leaves(instance: &Instance) -> BTreeMap<String, String> {
    let mut leaves = BTreeMap::new();
    let mut add = |path: String, value: String| drop(leaves.insert(path, value));
    for (name, value) in [
        ("ami-id", &instance.image),
        ("ami-launch-index", &instance.launch_index.to_string()),
        ("hostname", &instance.host_name),
        ("instance-action", &"none".to_owned()),
        ("instance-id", &instance.id),
        ("instance-life-cycle", &instance.lifecycle),
        ("instance-type", &instance.instance_type),
        ("local-hostname", &instance.host_name),
        ("placement/availability-zone", &instance.zone),
        ("placement/region", &instance.region),
        ("services/domain", &"amazonaws.com".to_owned()),
        ("services/partition", &"aws".to_owned()),
    ] {
        add(name.to_owned(), value.clone());
    }
    for interface in &instance.interfaces {
        let of = |field: fn(&crate::lab::emulator::SecurityGroup) -> &str| {
            interface.groups.iter().map(field).collect::<Vec<_>>().join("\n")
        };
        let names = of(|group| &group.name);
        if interface.index == 0 {
            add("local-ipv4".to_owned(), interface.address.clone());
            add("mac".to_owned(), interface.mac.clone());
            add("security-groups".to_owned(), names.clone());
            if let Some(address) = &interface.public_address {
                add("public-ipv4".to_owned(), address.clone());
            }
        }
        for (name, value) in [
            ("device-number", interface.index.to_string()),
            ("interface-id", interface.id.clone()),
            ("local-hostname", instance.host_name.clone()),
            ("local-ipv4s", interface.addresses.join("\n")),
            ("mac", interface.mac.clone()),
            ("owner-id", instance.account.clone()),
            ("security-group-ids", of(|group| &group.id)),
            ("security-groups", names),
            ("subnet-id", interface.subnet.clone()),
            ("subnet-ipv4-cidr-block", interface.subnet_block.clone()),
            ("vpc-id", interface.vpc.clone()),
            ("vpc-ipv4-cidr-block", interface.vpc_blocks.first().cloned().unwrap_or_default()),
            ("vpc-ipv4-cidr-blocks", interface.vpc_blocks.join("\n")),
        ] {
            add(format!("network/interfaces/macs/{}/{name}", interface.mac), value);
        }
    }
    if let Some(profile) = &instance.profile {
        let info = json!({
            "Code": "Success",
            "LastUpdated": instance.launched,
            "InstanceProfileArn": profile.arn,
            "InstanceProfileId": profile.id,
        });
        add("iam/info".to_owned(), pretty(&info));
    }
    if let Some(role) = &instance.role {
        add(format!("iam/security-credentials/{role}"), String::new());
    }
    if instance.metadata.tags {
        for (name, value) in &instance.tags {
            add(format!("tags/instance/{name}"), value.clone());
        }
    }
    leaves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::emulator::{Interface, MetadataOptions};

    fn instance() -> Instance {
        Instance {
            id: "i-1".to_owned(),
            role: Some("masters".to_owned()),
            user_data: Some(STANDARD.encode("#!/bin/sh\n")),
            tags: BTreeMap::from([("a".to_owned(), "c".to_owned())]),
            metadata: MetadataOptions { enabled: true, tags: true, ..MetadataOptions::default() },
            interfaces: vec![Interface { mac: "02:00:00:00:00:01".to_owned(), ..Interface::default() }],
            ..Instance::default()
        }
    }

    #[test]
    fn paths_have_values_or_lists() {
        let instance = instance();
        let find = |path: &str| {
            let found = find(&instance, path, |_| Some(json!({"Code": "Success"})));
            found.map(|body| String::from_utf8(body).unwrap())
        };
        assert_eq!(find("/latest/meta-data/instance-id").unwrap(), "i-1");
        assert_eq!(find("/2021-07-15/user-data").unwrap(), "#!/bin/sh\n");
        assert_eq!(find("/latest/meta-data/network/interfaces/macs/").unwrap(), "02:00:00:00:00:01/");
        assert_eq!(find("/latest/meta-data/iam/security-credentials/").unwrap(), "masters");
        assert!(find("/latest/meta-data/iam/security-credentials/masters").unwrap().contains("Success"));
        assert_eq!(find("/latest/meta-data/iam/security-credentials/nodes"), None);
        assert_eq!(find("/latest/meta-data/tags/instance/a").unwrap(), "c");
        assert!(find("/latest/meta-data/").unwrap().contains("placement/\n"));
        assert!(
            find("/latest/dynamic/instance-identity/document").unwrap().contains("\"instanceId\": \"i-1\"")
        );
        assert_eq!(find("/latest/other"), None);
    }
}
