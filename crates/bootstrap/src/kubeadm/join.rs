use slipway_cluster_input::Profile;
use slipway_resource::Secret;
use slipway_spec::{diagnostic::Diagnostic, reader::Document};

use super::{code, context::Context, node, v1beta4};
use crate::{
    configuration::{
        ClusterSettings, Configuration, Detected, Discovery, Endpoint, FileDiscovery, Join, LocalEndpoint,
        TokenDiscovery,
    },
    pki::Pin,
};

/// Reads what a node needs to join a cluster.
pub(super) fn read(
    document: &Document,
    detected: &Detected,
    diagnostics: &mut Vec<Diagnostic>,
) -> Configuration {
    let (mut context, given) = Context::read::<v1beta4::JoinConfiguration>(Some(document), diagnostics);
    let context = &mut context;
    let mut node = node::registration(context, given.node_registration, detected);
    if let Some(control_plane) = &given.control_plane {
        node::endpoint(
            context,
            "controlPlane/localAPIEndpoint",
            &control_plane.local_api_endpoint,
            &mut node,
        );
        let path = "controlPlane/certificateKey";
        node.certificate_key = node::certificate_key(context, path, &control_plane.certificate_key);
    }
    node.skip_phases = given.skip_phases;
    node.patches_directory = given.patches.map(|patches| patches.directory).filter(|path| !path.is_empty());
    node.timeouts = context.timeouts(given.timeouts);
    node.dry_run = given.dry_run;
    let ca_cert_path = match given.ca_cert_path.as_str() {
        "" => "/etc/kubernetes/pki/ca.crt".to_owned(),
        path => path.to_owned(),
    };
    context.absolute("caCertPath", &ca_cert_path);
    if !ca_cert_path.ends_with(".crt") {
        let message = format!("`{ca_cert_path}` is not a path of a certificate");
        context.refuse("caCertPath", message, "let it end in `.crt`");
    }
    let (discovery, tls_bootstrap_token) = discovery(context, given.discovery);
    Configuration {
        profile: Profile::Kubeadm,
        cluster: ClusterSettings::default(),
        node,
        join: Some(Join {
            discovery,
            tls_bootstrap_token,
            ca_cert_path,
            control_plane: given.control_plane.is_some(),
        }),
        kubelet: None,
        kube_proxy: None,
    }
}

fn discovery(context: &mut Context<'_>, given: v1beta4::Discovery) -> (Discovery, Option<Secret>) {
    let path = "discovery";
    let tls = given.tls_bootstrap_token.as_str();
    if given.bootstrap_token.is_some() && given.file.is_some() {
        let message = "a cluster is discovered by `bootstrapToken` or by `file`, not by both";
        context.error(path, code::CONTRADICTION, message, "keep one of them");
    }
    let tls_path = "discovery/tlsBootstrapToken";
    let tls_token =
        |context: &mut Context<'_>| (!tls.is_empty()).then(|| node::token(context, tls_path, tls));
    match (given.bootstrap_token, given.file) {
        (Some(token), _) => {
            let discovery = by_token(context, &token);
            let own = tls_token(context).unwrap_or_else(|| discovery.token.clone());
            (Discovery::Token(discovery), Some(own))
        }
        (None, Some(file)) => {
            let kubeconfig_path = file_path(context, &file.kube_config_path);
            let token = tls_token(context);
            (Discovery::File(FileDiscovery { kubeconfig_path }), token)
        }
        (None, None) => {
            let message = "the document does not say how the cluster is discovered";
            context.error(
                path,
                code::CONTRADICTION,
                message,
                "add `discovery.bootstrapToken` or `discovery.file`",
            );
            (Discovery::File(FileDiscovery { kubeconfig_path: String::new() }), None)
        }
    }
}

fn by_token(context: &mut Context<'_>, given: &v1beta4::BootstrapTokenDiscovery) -> TokenDiscovery {
    let path = "discovery/bootstrapToken";
    if given.ca_cert_hashes.is_empty() && !given.unsafe_skip_ca_verification {
        let message = "nothing proves that the cluster is the right one: there are no `caCertHashes`";
        let hint = "add the pin that a control plane prints beside a new token; `unsafeSkipCAVerification: true` does without";
        context.error(path, code::CONTRADICTION, message, hint);
    }
    for (index, pin) in given.ca_cert_hashes.iter().enumerate() {
        if let Err(error) = pin.parse::<Pin>() {
            let hint = "copy it from what a control plane prints beside a new token";
            context.refuse(&format!("{path}/caCertHashes/{index}"), error.to_string(), hint);
        }
    }
    TokenDiscovery {
        token: node::token(context, &format!("{path}/token"), &given.token),
        api_server_endpoint: endpoint(
            context,
            &format!("{path}/apiServerEndpoint"),
            &given.api_server_endpoint,
        ),
        ca_cert_hashes: given.ca_cert_hashes.clone(),
        unsafe_skip_ca_verification: given.unsafe_skip_ca_verification,
    }
}

/// The API server for discovery; it has a port.
fn endpoint(context: &mut Context<'_>, path: &str, text: &str) -> Endpoint {
    let hint = "write a host and a port, as in api.example.test:6443";
    match text.to_lowercase().parse::<Endpoint>() {
        Ok(endpoint) if endpoint.port().is_some() => return endpoint,
        Ok(_) => context.refuse(path, format!("`{text}` has no port"), hint),
        Err(_) if text.is_empty() => context.refuse(path, "no API server is named that could be asked", hint),
        Err(error) => context.refuse(path, error.to_string(), hint),
    }
    Endpoint::from(&LocalEndpoint { host: "unknown".to_owned(), port: 6443 })
}

/// The path of a discovery file, or its `https` URL.
fn file_path(context: &mut Context<'_>, text: &str) -> String {
    let path = "discovery/file/kubeConfigPath";
    if let Some(path) = text.strip_prefix("file://") {
        return path.to_owned();
    }
    if text.is_empty() {
        context.refuse(
            path,
            "no discovery file is named",
            "write the path of a kubeconfig, or its https URL",
        );
    } else if text.contains("://") && !text.starts_with("https://") {
        let message = format!("a discovery file cannot be fetched from `{text}`");
        context.refuse(path, message, "write an https URL, or a path");
    }
    text.to_owned()
}
