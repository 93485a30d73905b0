use slipway_resource::{Secret, SecretText};

use super::{code, context::Context, v1beta4};
use crate::{
    certificate_upload::CertificateKey,
    configuration::{
        Argument, BootstrapTokenSettings, Detected, GoDuration, NodeSettings, Taint, is_dns_name,
    },
    token::{self, Token},
};

/// A secret whose text is in the document itself.
pub(super) fn secret(context: &Context<'_>, path: &str, text: &str) -> Secret {
    Secret { text: Some(SecretText::new(text)), ..Secret::new(context.source(path)) }
}

/// The registration of the node, checked as in kubeadm.
pub(super) fn registration(
    context: &mut Context<'_>,
    given: v1beta4::NodeRegistration,
    detected: &Detected,
) -> NodeSettings {
    let default = NodeSettings::worker(detected);
    let path = "nodeRegistration";
    let name = if given.name.trim().is_empty() { default.name.clone() } else { given.name };
    let name = name.trim().to_lowercase();
    if !is_dns_name(&name) {
        let message = format!("`{name}` cannot be a node's name");
        let hint = "write small letters, digits, hyphens and dots, as in worker-1.example.test";
        context.refuse(&format!("{path}/name"), message, hint);
    }
    let cri_socket = socket(context, &format!("{path}/criSocket"), &given.cri_socket, detected);
    ignored_errors(context, &format!("{path}/ignorePreflightErrors"), &given.ignore_preflight_errors);
    let kubelet_extra_args = flags(context, given.kubelet_extra_args);
    NodeSettings {
        name,
        cri_socket,
        taints: given.taints.map(|taints| {
            let taint =
                |taint: v1beta4::Taint| Taint { key: taint.key, value: taint.value, effect: taint.effect };
            taints.into_iter().map(taint).collect()
        }),
        kubelet_extra_args,
        ignore_preflight_errors: given.ignore_preflight_errors,
        image_pull_policy: given.image_pull_policy.unwrap_or_default(),
        image_pull_serial: given.image_pull_serial.unwrap_or(true),
        ..default
    }
}

fn flags(context: &mut Context<'_>, given: Vec<v1beta4::Arg>) -> Vec<Argument> {
    context.arguments("nodeRegistration/kubeletExtraArgs", given)
}

/// The CRI endpoint: a path is made a URL, and other schemes are refused.
pub(super) fn socket(
    context: &mut Context<'_>,
    path: &str,
    given: &str,
    detected: &Detected,
) -> Option<String> {
    if given.is_empty() {
        return detected.cri_socket().map(ToOwned::to_owned);
    }
    if given.starts_with("unix://") {
        return Some(given.to_owned());
    }
    if given.contains("://") {
        context.refuse(
            path,
            format!("`{given}` is not a unix socket"),
            "write unix:// and the socket's path",
        );
    } else {
        let message = format!("`{given}` has no scheme");
        context.warn(path, code::WITHOUT_EFFECT, message, format!("write unix://{given}"));
    }
    Some(format!("unix://{given}"))
}

/// Names of checks: `all` must be the only one.
pub(super) fn ignored_errors(context: &mut Context<'_>, path: &str, names: &[String]) {
    if names.len() > 1 && names.iter().any(|name| name.eq_ignore_ascii_case("all")) {
        let message = "`all` takes every check, and others are named beside it";
        context.error(path, code::CONTRADICTION, message, "write `all` alone, or only the others");
    }
}

/// The address and port that this node's API server advertises.
pub(super) fn endpoint(
    context: &mut Context<'_>,
    path: &str,
    given: &v1beta4::ApiEndpoint,
    node: &mut NodeSettings,
) {
    if given.bind_port != 0 {
        node.bind_port = given.bind_port;
    }
    let text = given.advertise_address.as_str();
    if text.is_empty() {
        return;
    }
    let place = format!("{path}/advertiseAddress");
    match text.parse::<std::net::IpAddr>() {
        Err(_) => {
            context.refuse(&place, format!("`{text}` is not an IP address"), "write an address of this host")
        }
        // As kubeadm has it: every address means the one with the default route.
        Ok(address) if address.is_unspecified() => {}
        Ok(address) if address.is_loopback() || address.is_multicast() || is_link_local(address) => {
            let message = format!("other nodes cannot reach `{address}`");
            context.refuse(&place, message, "write an address of this host that other nodes reach");
        }
        Ok(address) => node.advertise_address = address,
    }
}

const fn is_link_local(address: std::net::IpAddr) -> bool {
    match address {
        std::net::IpAddr::V4(address) => address.is_link_local() || address.is_broadcast(),
        std::net::IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// The key under which shared certificates are encrypted.
pub(super) fn certificate_key(context: &mut Context<'_>, path: &str, text: &str) -> Option<Secret> {
    if text.is_empty() {
        return None;
    }
    if text.parse::<CertificateKey>().is_err() {
        let hint = "write the 64 hexadecimal digits that the upload printed";
        context.refuse(path, "this is not a certificate key", hint);
    }
    Some(secret(context, path, text))
}

/// A token, as `id.secret`; a wrong one is not shown.
pub(super) fn token(context: &mut Context<'_>, path: &str, text: &str) -> Secret {
    if text.parse::<Token>().is_err() {
        let hint = "a token has the form abcdef.0123456789abcdef, in small letters and digits";
        context.refuse(path, "this is not a bootstrap token", hint);
    }
    secret(context, path, text)
}

/// The tokens that are made; one with defaults when none is given.
pub(super) fn tokens(
    context: &mut Context<'_>,
    given: Vec<v1beta4::BootstrapToken>,
) -> Vec<BootstrapTokenSettings> {
    if given.is_empty() {
        return vec![BootstrapTokenSettings::default()];
    }
    let tokens = given.into_iter().enumerate();
    tokens
        .map(|(index, given)| bootstrap_token(context, &format!("bootstrapTokens/{index}"), given))
        .collect()
}

fn bootstrap_token(
    context: &mut Context<'_>,
    path: &str,
    given: v1beta4::BootstrapToken,
) -> BootstrapTokenSettings {
    let default = BootstrapTokenSettings::default();
    if given.expires.is_some() {
        let message = "kubeadm gives every token a `ttl`, and so takes none with `expires`";
        context.error(
            &format!("{path}/expires"),
            code::CONTRADICTION,
            message,
            "write how long it lives as `ttl`",
        );
    }
    for usage in given.usages.iter().filter(|usage| !token::USAGES.contains(&usage.as_str())) {
        let message = format!("a token cannot be used for `{usage}`");
        context.refuse(&format!("{path}/usages"), message, "its usages are signing and authentication");
    }
    for group in given.groups.iter().filter(|group| !token::is_group(group)) {
        let message = format!("a token cannot have the group `{group}`");
        let hint = "its groups begin with system:bootstrappers: and go on in small letters, digits, hyphens and colons";
        context.refuse(&format!("{path}/groups"), message, hint);
    }
    let usages = if given.usages.is_empty() { default.usages } else { given.usages };
    let groups = if given.groups.is_empty() { default.groups } else { given.groups };
    if !usages.iter().any(|usage| usage == "authentication") {
        let message =
            "a bootstrap token without the usage `authentication` cannot have groups, and kubeadm adds one";
        context.error(&format!("{path}/usages"), code::CONTRADICTION, message, "add `authentication`");
    }
    BootstrapTokenSettings {
        token: (!given.token.is_empty()).then(|| token(context, &format!("{path}/token"), &given.token)),
        description: given.description,
        ttl: context.duration(&format!("{path}/ttl"), given.ttl.as_deref(), GoDuration::from_hours(24)),
        expires: None,
        usages,
        groups,
    }
}
