use super::context::{Context, error, warning};
use crate::{
    diagnostic::code::{CONTRADICTION, EXPOSED, INLINE_SECRET},
    value::AccessSource,
};

/// Checks that at least one address may reach the API server, that SSH is not open to the internet, and that
/// keys are public ones.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    if cluster.control_plane.access.is_empty() {
        let complaint = error(
            CONTRADICTION,
            "no address may reach the API server: its access list is empty",
            "list the ranges that may, as in `access: [203.0.113.0/24]`, or leave the field out",
        );
        context.at_key("controlPlane.access", complaint);
    }
    for (index, source) in cluster.ssh.access.iter().enumerate() {
        if matches!(source, AccessSource::Cidr(range) if range.prefix_len() == 0) {
            let complaint = warning(
                EXPOSED,
                format!("{source} lets the whole internet try to log in to nodes"),
                "list the ranges of your operators, as in 203.0.113.0/24",
            );
            context.at(&format!("ssh.access[{index}]"), complaint);
        }
    }
    if !cluster.ssh.access.is_empty() && cluster.ssh.keys.is_empty() && cluster.ssh.key_name.is_none() {
        let complaint = warning(
            CONTRADICTION,
            "the SSH port is open, and no key may log in",
            "add a public key to `ssh.keys` or a `keyName`, or remove `ssh.access`",
        );
        context.at_key("ssh.access", complaint);
    }
    for (index, key) in cluster.ssh.keys.iter().enumerate() {
        let path = format!("ssh.keys[{index}]");
        if key.contains("PRIVATE KEY") {
            let complaint = error(
                INLINE_SECRET,
                "`ssh.keys` contains a private key",
                "write the public key, the content of the file that ends in .pub; and replace this key, it is known now",
            );
            context.at(&path, complaint);
        } else if !is_public_key(key) {
            let complaint = error(
                CONTRADICTION,
                "this is not a public SSH key",
                "write the content of the file that ends in .pub, as in `ssh-ed25519 AAAA… name`",
            );
            context.at(&path, complaint);
        }
    }
    if let Some(proxy) = &cluster.egress_proxy
        && !proxy.url.starts_with("http://")
        && !proxy.url.starts_with("https://")
    {
        let complaint = error(
            CONTRADICTION,
            format!("the proxy `{}` is not a URL", proxy.url),
            "write the scheme, the host and the port, as in http://proxy.example.com:3128",
        );
        context.at("egressProxy.url", complaint);
    }
}

fn is_public_key(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let kind = words.next().unwrap_or_default();
    let known = ["ssh-ed25519", "ssh-rsa", "ecdsa-sha2-", "sk-ssh-ed25519", "sk-ecdsa-sha2-"];
    known.iter().any(|prefix| kind.starts_with(prefix))
        && words.next().is_some_and(|body| body.starts_with("AAAA"))
}
