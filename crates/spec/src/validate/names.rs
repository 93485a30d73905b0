use super::context::{Context, error};
use crate::{
    diagnostic::code::{BAD_NAME, DUPLICATE_NAME},
    reader::item_path,
};

/// Checks that names have the form that their use requires, and are unique.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    if let Some(problem) = dns_name(&cluster.name) {
        context
            .at("name", error(BAD_NAME, format!("the cluster name `{}` {problem}", cluster.name), DNS_NAME));
    }
    if let Some(problem) = dns_name(&cluster.network.cluster_domain) {
        let domain = &cluster.network.cluster_domain;
        let complaint = error(BAD_NAME, format!("the cluster domain `{domain}` {problem}"), DNS_NAME);
        context.at("network.clusterDomain", complaint);
    }
    for pool in &cluster.pools {
        if let Some(problem) = dns_label(&pool.name) {
            let complaint = error(
                BAD_NAME,
                format!("the pool name `{}` {problem}", pool.name),
                format!(
                    "a pool name is at most 63 lower-case letters, digits and hyphens{}",
                    suggestion(&pool.name)
                ),
            );
            context.at(&format!("pools[{}].name", pool.name), complaint);
        }
    }
    for subnet in &cluster.network.subnets {
        if let Some(problem) = dns_label(&subnet.name) {
            let complaint = error(
                BAD_NAME,
                format!("the subnet name `{}` {problem}", subnet.name),
                format!(
                    "a subnet name is at most 63 lower-case letters, digits and hyphens{}",
                    suggestion(&subnet.name)
                ),
            );
            context.at(&format!("network.subnets[{}].name", subnet.name), complaint);
        }
    }
    for (index, san) in cluster.control_plane.additional_sans.iter().enumerate() {
        let name = san.strip_prefix("*.").unwrap_or(san);
        if name.parse::<std::net::IpAddr>().is_err() && dns_name(name).is_some() {
            let complaint = error(
                BAD_NAME,
                format!("`{san}` is neither a DNS name nor an IP address"),
                "write the bare name or address, without scheme, port or path, as in api.example.com",
            );
            context.at(&format!("controlPlane.additionalSans[{index}]"), complaint);
        }
    }
    repeated(context);
}

fn repeated(context: &mut Context<'_>) {
    let cluster = context.cluster;
    let network = &cluster.network;
    once(context, "subnet", "network.subnets", network.subnets.iter().map(|subnet| &*subnet.name).collect());
    once(context, "etcd cluster", "etcd", cluster.etcd.iter().map(|etcd| &*etcd.name).collect());
    let gates = cluster.control_plane.gates.iter().map(|gate| &*gate.name).collect();
    once(context, "gate", "controlPlane.gates", gates);
    once(context, "add-on", "addons", cluster.addons.iter().map(|addon| &*addon.name).collect());
    let files = &cluster.node_files;
    once(context, "file", "nodeFiles.files", files.files.iter().map(|file| &*file.name).collect());
    once(context, "hook", "nodeFiles.hooks", files.hooks.iter().map(|hook| &*hook.name).collect());
    same(context, "zone", "zones", cluster.zones.iter().map(|zone| &**zone).collect());
    for etcd in &cluster.etcd {
        let path = format!("etcd[{}].members", etcd.name);
        once(context, "etcd member", &path, etcd.members.iter().map(|member| &*member.name).collect());
    }
    let mut hosts: Vec<(&str, String)> = Vec::new();
    for pool in &cluster.pools {
        let path = format!("pools[{}]", pool.name);
        let parts = pool.user_data.iter().map(|part| &*part.name).collect();
        once(context, "user-data part", &format!("{path}.userData"), parts);
        let devices =
            pool.volumes.iter().map(|volume| volume.device.as_deref().unwrap_or_default()).collect();
        same(context, "device", &format!("{path}.volumes"), devices);
        same(
            context,
            "subnet",
            &format!("{path}.subnets"),
            pool.subnets.iter().map(|name| &**name).collect(),
        );
        let addresses = pool.hosts.iter().flat_map(|hosts| &hosts.addresses);
        let list = format!("{path}.hosts.addresses");
        let names: Vec<&str> = addresses.clone().map(|host| &*host.name).collect();
        for (index, host) in addresses.enumerate() {
            let place = item_path(&list, &names, index);
            match hosts.iter().find(|(name, _)| *name == host.name) {
                Some((name, first)) => {
                    let complaint = error(
                        DUPLICATE_NAME,
                        format!("there are two hosts named `{name}`"),
                        "a host is one node: remove it here, or give it another name",
                    )
                    .related("the first one", first.clone());
                    context.at(&format!("{place}.name"), complaint);
                }
                None => hosts.push((&host.name, place)),
            }
        }
    }
}

/// Items of a list have different names.
fn once(context: &mut Context<'_>, what: &str, path: &str, names: Vec<&str>) {
    // A derived value is a duplicate only where its source is one.
    if !context.is_written(path) {
        return;
    }
    for (index, name) in names.iter().enumerate() {
        let Some(first) = names.iter().take(index).position(|earlier| earlier == name) else { continue };
        let complaint = error(
            DUPLICATE_NAME,
            format!("there are two {what}s named `{name}`"),
            format!("give one of the {what}s another name, or remove it"),
        )
        .related("the first one", item_path(path, &names, first));
        context.at(&format!("{}.name", item_path(path, &names, index)), complaint);
    }
}

/// Texts of a list are different; empty ones do not count.
fn same(context: &mut Context<'_>, what: &str, path: &str, texts: Vec<&str>) {
    if !context.is_written(path) {
        return;
    }
    for (index, text) in texts.iter().enumerate() {
        if text.is_empty() || !texts[..index].contains(text) {
            continue;
        }
        let complaint = error(
            DUPLICATE_NAME,
            format!("the {what} `{text}` is listed twice"),
            format!("remove one `{text}`"),
        );
        let item = format!("{path}[{index}]");
        let device = format!("{item}.device");
        let place = if context.is_written(&device) { device } else { item };
        context.at(&place, complaint);
    }
}

const DNS_NAME: &str = "a DNS name is lower-case letters, digits and hyphens in parts with dots between them, as in prod.example.com";

/// Why a text is not a DNS label (RFC 1123); `None` for a valid one.
pub(super) fn dns_label(text: &str) -> Option<&'static str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if text.is_empty() {
        Some("is empty")
    } else if text.len() > 63 {
        Some("is longer than 63 characters")
    } else if !text.bytes().all(|byte| plain(byte) || byte == b'-') {
        Some("has characters that a DNS label cannot have")
    } else if text.starts_with('-') || text.ends_with('-') {
        Some("begins or ends with a hyphen")
    } else {
        None
    }
}

/// Why a text is not a DNS name (RFC 1123); `None` for a valid one.
pub(super) fn dns_name(text: &str) -> Option<&'static str> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    if text.is_empty() {
        Some("is empty")
    } else if text.len() > 253 {
        Some("is longer than 253 characters")
    } else if !text.bytes().all(plain) {
        Some("has characters that a DNS name cannot have")
    } else if text.split('.').any(str::is_empty) {
        Some("has nothing before, between or behind its dots")
    } else {
        text.split('.').find_map(dns_label)
    }
}

/// The closest label, as the end of a hint; empty when there is none.
fn suggestion(text: &str) -> String {
    let label: String = text
        .to_lowercase()
        .chars()
        .map(|letter| if letter.is_ascii_lowercase() || letter.is_ascii_digit() { letter } else { '-' })
        .collect();
    let label = label.trim_matches('-');
    if dns_label(label).is_none() { format!("; did you mean `{label}`?") } else { String::new() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_wrong_with_a_name_is_named() {
        for (name, problem) in [
            ("", Some("is empty")),
            ("../../x", Some("has characters that a DNS name cannot have")),
            ("a..b", Some("has nothing before, between or behind its dots")),
            (".", Some("has nothing before, between or behind its dots")),
            ("-a.b", Some("begins or ends with a hyphen")),
            ("prod.example.com", None),
        ] {
            assert_eq!(super::dns_name(name), problem, "{name}");
        }
    }
}
