use serde_json::{Value, json};
use slipway_resource::Secret;

use super::{arguments, document, flag, list, object, patches, text, timeouts};
use crate::configuration::{BootstrapTokenSettings, Configuration, Discovery, Join, NodeSettings, Taint};

/// `InitConfiguration`, or `JoinConfiguration` for a node that joins.
pub(super) fn node(configuration: &Configuration) -> Value {
    let node = &configuration.node;
    match &configuration.join {
        None => init(node),
        Some(join) => self::join(node, join),
    }
}

fn init(node: &NodeSettings) -> Value {
    let tokens: Vec<Value> = node.bootstrap_tokens.iter().map(token).collect();
    document(
        "InitConfiguration",
        [
            ("bootstrapTokens", list(&tokens)),
            ("certificateKey", node.certificate_key.as_ref().and_then(secret)),
            ("dryRun", flag(node.dry_run)),
            ("localAPIEndpoint", Some(endpoint(node))),
            ("nodeRegistration", Some(registration(node, true))),
            ("patches", patches(node.patches_directory.as_deref())),
            ("skipPhases", list(&node.skip_phases)),
            ("timeouts", timeouts(&node.timeouts)),
        ],
    )
}

fn join(node: &NodeSettings, join: &Join) -> Value {
    let control_plane = join.control_plane.then(|| {
        object([
            ("certificateKey", node.certificate_key.as_ref().and_then(secret)),
            ("localAPIEndpoint", Some(endpoint(node))),
        ])
    });
    document(
        "JoinConfiguration",
        [
            ("caCertPath", text(&join.ca_cert_path)),
            ("controlPlane", control_plane),
            ("discovery", Some(discovery(join))),
            ("dryRun", flag(node.dry_run)),
            ("nodeRegistration", Some(registration(node, join.control_plane))),
            ("patches", patches(node.patches_directory.as_deref())),
            ("skipPhases", list(&node.skip_phases)),
            ("timeouts", timeouts(&node.timeouts)),
        ],
    )
}

fn discovery(join: &Join) -> Value {
    let (by_token, by_file) = match &join.discovery {
        Discovery::Token(token) => (
            Some(object([
                ("apiServerEndpoint", Some(token.api_server_endpoint.as_str().into())),
                ("caCertHashes", list(&token.ca_cert_hashes)),
                ("token", secret(&token.token)),
                ("unsafeSkipCAVerification", flag(token.unsafe_skip_ca_verification)),
            ])),
            None,
        ),
        Discovery::File(file) => (None, Some(json!({ "kubeConfigPath": file.kubeconfig_path }))),
    };
    object([
        ("bootstrapToken", by_token),
        ("file", by_file),
        ("tlsBootstrapToken", join.tls_bootstrap_token.as_ref().and_then(secret)),
    ])
}

fn registration(node: &NodeSettings, control_plane: bool) -> Value {
    let taint = |taint: &Taint| {
        object([
            ("effect", Some(taint.effect.as_str().into())),
            ("key", Some(taint.key.as_str().into())),
            ("value", text(&taint.value)),
        ])
    };
    let taints = match &node.taints {
        None if !control_plane => Value::Null,
        _ => node.effective_taints(control_plane).iter().map(taint).collect(),
    };
    object([
        ("criSocket", node.cri_socket.as_deref().and_then(text)),
        ("ignorePreflightErrors", list(&node.ignore_preflight_errors)),
        ("imagePullPolicy", Some(node.image_pull_policy.as_str().into())),
        ("imagePullSerial", Some(node.image_pull_serial.into())),
        ("kubeletExtraArgs", arguments(&node.kubelet_extra_args)),
        ("name", text(&node.name)),
        ("taints", Some(taints)),
    ])
}

fn endpoint(node: &NodeSettings) -> Value {
    json!({ "advertiseAddress": node.advertise_address.to_string(), "bindPort": node.bind_port })
}

fn token(token: &BootstrapTokenSettings) -> Value {
    object([
        ("description", text(&token.description)),
        ("groups", list(&token.groups)),
        ("token", token.token.as_ref().and_then(secret)),
        ("ttl", Some(json!(token.ttl))),
        ("usages", list(&token.usages)),
    ])
}

fn secret(secret: &Secret) -> Option<Value> {
    secret.text.as_ref().map(|text| text.expose().into())
}
