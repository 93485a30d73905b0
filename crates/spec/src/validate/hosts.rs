use std::collections::BTreeMap;

use slipway_cluster_input::ssh_client;

use super::context::{Context, error, warning};
use super::names::dns_name;
use crate::{
    diagnostic::code::{CONTRADICTION, HOSTS},
    model::{Host, HostSsh, NodePool},
};

/// Hosts have different names and can be reached, and pools find as many hosts as they ask for.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    let mut addresses: BTreeMap<std::net::IpAddr, &str> = BTreeMap::new();
    for host in &cluster.hosts {
        let path = format!("hosts[{}]", host.name);
        one(context, host, &path);
        for entry in &host.addresses {
            if let Some(other) = addresses.insert(entry.address, &host.name)
                && other != host.name
            {
                let complaint = error(
                    HOSTS,
                    format!(
                        "the hosts `{other}` and `{}` have the same address {}",
                        host.name, entry.address
                    ),
                    "correct one of them: two machines cannot share an address",
                );
                context.at(&format!("{path}.addresses"), complaint);
            }
        }
    }
    for pool in &cluster.pools {
        selection(context, pool);
    }
}

fn one(context: &mut Context<'_>, host: &Host, path: &str) {
    let name = &host.name;
    if let Some(reason) = dns_name(name) {
        let complaint = error(
            HOSTS,
            format!("the host `{name}` cannot be a node: its name {reason}"),
            "use lower-case letters, digits, hyphens and dots",
        );
        context.at(&format!("{path}.name"), complaint);
    }
    if host.addresses.is_empty() {
        let complaint = error(
            HOSTS,
            format!("the host `{name}` has no address"),
            "add `addresses: [{ address: 10.0.0.10 }]`: the one under which other hosts reach it",
        );
        context.at(&format!("{path}.addresses"), complaint);
    }
    if let Some(ssh) = &host.ssh {
        client(context, name, ssh, path);
    }
    match (&host.ssh, &host.agent) {
        (Some(_), Some(_)) => {
            let complaint = error(
                CONTRADICTION,
                format!("the host `{name}` is entered by SSH and has an agent"),
                "remove `ssh`, or `agent`",
            );
            context.at_key(&format!("{path}.agent"), complaint);
        }
        (Some(ssh), None) if ssh.host_keys.is_empty() => {
            let complaint = warning(
                HOSTS,
                format!("the host `{name}` has no `hostKeys`: it will be refused when it is entered"),
                format!("compare and add what `ssh-keyscan -p {} {name}` prints, without the name", ssh.port),
            );
            context.at(&format!("{path}.ssh"), complaint);
        }
        (Some(ssh), None) => {
            for key in &ssh.host_keys {
                let mut words = key.split_whitespace();
                let known = words.next().is_some_and(|kind| {
                    [
                        "ssh-ed25519",
                        "ssh-rsa",
                        "ecdsa-sha2-nistp256",
                        "ecdsa-sha2-nistp384",
                        "ecdsa-sha2-nistp521",
                    ]
                    .contains(&kind)
                });
                if !known || words.next().is_none_or(|text| !text.starts_with("AAAA")) {
                    let complaint = error(
                        HOSTS,
                        format!("a host key of `{name}` has not the form of a public key"),
                        "write the type and the key, as in `ssh-ed25519 AAAA…`",
                    );
                    context.at(&format!("{path}.ssh.hostKeys"), complaint);
                }
            }
        }
        _ => {}
    }
}

/// Arguments of the SSH client are used as they are written.
fn client(context: &mut Context<'_>, name: &str, ssh: &HostSsh, path: &str) {
    let mut bad = |part: &str, what: &str, text: &str, fault: Option<&str>, hint: &str| {
        if let Some(fault) = fault {
            let text: String = text.chars().flat_map(char::escape_debug).collect();
            let complaint =
                error(HOSTS, format!("the {what} `{text}` that `{name}` is entered with {fault}"), hint);
            context.at(&format!("{path}.ssh.{part}"), complaint);
        }
    };
    bad(
        "user",
        "user",
        &ssh.user,
        ssh_client::user_fault(&ssh.user),
        "write the name of the user on the host",
    );
    if let Some(address) = &ssh.address {
        let hint = "write the bare address or name; the user and the port stand in `user` and `port`";
        bad("address", "address", address, ssh_client::address_fault(address), hint);
    }
    if let Some(file) = &ssh.identity_file {
        let hint = "write the path of the file itself, relative to this file or absolute";
        bad("identityFile", "key file", file, ssh_client::file_fault(file), hint);
    }
}

/// The hosts of the inventory that a pool may take are at least as many as it asks for, and have a fitting address.
fn selection(context: &mut Context<'_>, pool: &NodePool) {
    let Some(selection) = &pool.hosts else { return };
    let Some(inventory) = &selection.inventory else { return };
    let path = format!("pools[{}].hosts", pool.name);
    let fitting: Vec<&Host> = context.cluster.hosts.iter().filter(|host| selection.fits(host)).collect();
    let wanted = usize::try_from(pool.size.min()).unwrap_or(usize::MAX);
    let listed = selection.addresses.len();
    // Without any Host document the inventory is the provider's own, and says itself what it has.
    if !context.cluster.hosts.is_empty() && fitting.len() + listed < wanted {
        let complaint = error(
            HOSTS,
            format!(
                "the pool `{}` asks for {wanted} hosts, and the inventory `{inventory}` has {} that fit",
                pool.name,
                fitting.len()
            ),
            "add `Host` documents with the labels of `matchLabels`, or ask for fewer",
        )
        .related("the size", format!("pools[{}].size", pool.name));
        context.at(&path, complaint);
    }
    for host in fitting {
        if selection.address.choose(host).is_none() && !host.addresses.is_empty() {
            let complaint = error(
                HOSTS,
                format!(
                    "the host `{}` has no address that the rule of the pool `{}` allows",
                    host.name, pool.name
                ),
                "give the host such an address, or change the rule",
            )
            .related("the host's addresses", format!("hosts[{}].addresses", host.name));
            context.at(&format!("{path}.address"), complaint);
        }
    }
}
