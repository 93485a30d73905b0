//! From options and documents to the configuration of a node. Options win over documents.

use slipway_bootstrap::configuration::{
    BootstrapTokenSettings, Configuration, Detected, Discovery, Endpoint, FileDiscovery, GoDuration, Join,
    NodeSettings, TokenDiscovery,
};
use slipway_bootstrap::preflight::Purpose;
use slipway_node_agent::spec::NodeSpec;
use slipway_node_agent::{Error, documents};
use slipway_resource::{Secret, SecretText};

use crate::cli::node::{InitSettings, JoinSettings, NodeSettingsArguments, SourceArguments};
use crate::error::CommandError;

/// The path of the CA's certificate on a joining node.
const CA_CERTIFICATE: &str = "/etc/kubernetes/pki/ca.crt";

/// The configuration of a node that begins a cluster. Without documents it is the one that the machine has recorded, if any,
/// as for `node plan`.
pub(crate) fn init(
    source: &SourceArguments,
    settings: &InitSettings,
    detected: &Detected,
    recorded: Option<&NodeSpec>,
) -> Result<Configuration, CommandError> {
    let recorded = recorded.filter(|spec| spec.role == Purpose::Init);
    let mut configuration = match (&source.config, recorded) {
        (Some(path), _) => documents::init(path, detected)?,
        (None, Some(recorded)) => recorded.configuration.clone(),
        (None, None) => Configuration::new(detected),
    };
    configuration.join = None;
    node(&mut configuration.node, &settings.node);
    let cluster = &mut configuration.cluster;
    for name in &settings.apiserver_cert_extra_sans {
        if !cluster.api_server.cert_sans.contains(name) {
            cluster.api_server.cert_sans.push(name.clone());
        }
    }
    if let Some(folder) = &settings.cert_dir {
        cluster.certificates_dir.clone_from(folder);
    }
    if let Some(endpoint) = &settings.control_plane_endpoint {
        cluster.control_plane_endpoint = Some(parsed("--control-plane-endpoint", endpoint)?);
    }
    for gate in &settings.feature_gates {
        let (name, value) = gate.split_once('=').unwrap_or((gate, "true"));
        cluster.feature_gates.insert(name.to_owned(), parsed("--feature-gates", value)?);
    }
    if let Some(repository) = &settings.image_repository {
        cluster.image_repository.clone_from(repository);
    }
    if let Some(version) = &settings.kubernetes_version {
        cluster.kubernetes_version = parsed("--kubernetes-version", version.trim_start_matches('v'))?;
    }
    for (range, place) in [
        (&settings.pod_network_cidr, &mut cluster.networking.pod_subnet),
        (&settings.service_cidr, &mut cluster.networking.service_subnet),
    ] {
        if let Some(range) = range {
            place.clone_from(range);
        }
    }
    if let Some(domain) = &settings.service_dns_domain {
        cluster.networking.dns_domain.clone_from(domain);
    }
    if let Some(token) = &settings.node.token {
        let first = configuration.node.bootstrap_tokens.first().cloned().unwrap_or_default();
        let token = BootstrapTokenSettings { token: Some(secret("option:token", token)), ..first };
        configuration.node.bootstrap_tokens = vec![token];
    }
    if let Some(ttl) = &settings.token_ttl {
        let ttl = duration("--token-ttl", ttl)?;
        configuration.node.bootstrap_tokens.iter_mut().for_each(|token| token.ttl = ttl);
    }
    Ok(configuration)
}

/// The configuration of a joining node; the cluster's settings are read later. Without documents, it is the
/// one that the machine has recorded, if any.
pub(crate) fn join(
    source: &SourceArguments,
    settings: &JoinSettings,
    detected: &Detected,
    recorded: Option<&NodeSpec>,
) -> Result<Configuration, CommandError> {
    let recorded = recorded.filter(|spec| spec.role != Purpose::Init);
    let mut configuration = match (&source.config, recorded) {
        (Some(path), _) => documents::join(path, detected)?,
        (None, Some(recorded)) => recorded.configuration.clone(),
        (None, None) => {
            Configuration { node: NodeSettings::worker(detected), ..Configuration::new(detected) }
        }
    };
    let options = &settings.options;
    node(&mut configuration.node, &options.node);
    if let Some(discovery) = discovery(settings)? {
        let before = configuration.join.take();
        let token = options.tls_bootstrap_token.as_ref().or(options.node.token.as_ref());
        configuration.join = Some(Join {
            discovery,
            tls_bootstrap_token: token
                .map(|token| secret("option:token", token))
                .or(before.as_ref().and_then(|join| join.tls_bootstrap_token.clone())),
            ca_cert_path: before
                .as_ref()
                .map_or_else(|| CA_CERTIFICATE.to_owned(), |join| join.ca_cert_path.clone()),
            control_plane: before.is_some_and(|join| join.control_plane),
        });
    }
    let Some(join) = &mut configuration.join else {
        return Err(missing("nothing says which cluster to join").hint(
            "name an API server with --token and --discovery-token-ca-cert-hash, a --discovery-file, or a --config with a JoinConfiguration",
        ));
    };
    join.control_plane |= options.control_plane;
    if let Discovery::Token(token) = &join.discovery
        && token.ca_cert_hashes.is_empty()
        && !token.unsafe_skip_ca_verification
    {
        return Err(missing("nothing says which CA the cluster has").hint(
            "`slipway node token create --print-join-command` on a control plane prints --discovery-token-ca-cert-hash; --discovery-token-unsafe-skip-ca-verification goes without",
        ));
    }
    Ok(configuration)
}

/// The configuration of a node that has joined, by documents; how it joined stays as it is.
pub(crate) fn rejoin(
    source: &SourceArguments,
    before: &Configuration,
    detected: &Detected,
) -> Result<Configuration, CommandError> {
    let Some(path) = &source.config else { return Ok(before.clone()) };
    let configuration = documents::join(path, detected)?;
    Ok(Configuration { join: before.join.clone(), ..configuration })
}

/// How the options say that the cluster is found; none when they do not.
fn discovery(settings: &JoinSettings) -> Result<Option<Discovery>, CommandError> {
    let options = &settings.options;
    if let Some(path) = &options.discovery_file {
        return Ok(Some(Discovery::File(FileDiscovery { kubeconfig_path: path.clone() })));
    }
    let Some(server) = &settings.api_server else { return Ok(None) };
    let server = server.strip_prefix("https://").unwrap_or(server);
    let mut endpoint: Endpoint = parsed("the API server", server)?;
    if endpoint.port().is_none() {
        let host = if endpoint.host().contains(':') {
            format!("[{}]", endpoint.host())
        } else {
            endpoint.host().to_owned()
        };
        endpoint = parsed("the API server", &format!("{host}:6443"))?;
    }
    let token = options.discovery_token.as_ref().or(options.node.token.as_ref());
    let Some(token) = token else {
        return Err(missing("a join by an API server's address needs a token")
            .hint("`slipway node token create` on a control plane makes one; give it with --token"));
    };
    Ok(Some(Discovery::Token(TokenDiscovery {
        token: secret("option:token", token),
        api_server_endpoint: endpoint,
        ca_cert_hashes: options.discovery_token_ca_cert_hash.clone(),
        unsafe_skip_ca_verification: options.discovery_token_unsafe_skip_ca_verification,
    })))
}

fn node(node: &mut NodeSettings, options: &NodeSettingsArguments) {
    if let Some(address) = options.apiserver_advertise_address {
        node.advertise_address = address;
    }
    if let Some(port) = options.apiserver_bind_port {
        node.bind_port = port;
    }
    if let Some(key) = &options.certificate_key {
        node.certificate_key = Some(secret("option:certificate-key", key));
    }
    if let Some(socket) = &options.cri_socket {
        let url = if socket.contains("://") { socket.clone() } else { format!("unix://{socket}") };
        node.cri_socket = Some(url);
    }
    if let Some(name) = &options.node_name {
        node.name.clone_from(name);
    }
    if let Some(folder) = &options.patches {
        node.patches_directory = Some(folder.display().to_string());
    }
}

/// An option or a field of the documents has a value that cannot be used.
pub(crate) fn invalid(message: impl Into<String>) -> CommandError {
    Error::invalid(message).into()
}

/// A setting is required, and neither an option nor a document has it.
pub(crate) fn missing(message: impl Into<String>) -> CommandError {
    Error::missing(message).into()
}

/// A secret that is known here and that is stored nowhere.
pub(crate) fn secret(source: &str, text: &str) -> Secret {
    Secret { text: Some(SecretText::new(text)), ..Secret::new(source) }
}

/// A span of time as Go writes it; a bare 0 is none.
pub(crate) fn duration(what: &str, text: &str) -> Result<GoDuration, CommandError> {
    if text == "0" { Ok(GoDuration::default()) } else { parsed(what, text) }
}

fn parsed<T>(what: &str, text: &str) -> Result<T, CommandError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    text.parse()
        .map_err(|error: T::Err| invalid(format!("{what}: `{text}` cannot be used")).cause(error.to_string()))
}
