use serde_json::{Map, Value, json};
use slipway_spec::{diagnostic::Diagnostic, reader::Document, value::KubernetesVersion};

use super::{code, context::Context, etcd, network, v1beta4};
use crate::{
    configuration::{
        ApiServer, ClusterSettings, Component, Dns, Endpoint, GivenImages, GoDuration, HostPathMount,
        KubeProxy, LocalEndpoint,
    },
    version,
};

/// The content of a `ClusterConfiguration`.
pub(super) struct Read {
    pub settings: ClusterSettings,
    /// v1beta3 has the time that the control plane may take here.
    pub control_plane_timeout: Option<GoDuration>,
}

/// Reads a `ClusterConfiguration`; without one all is default.
pub(super) fn read(document: Option<&Document>, bind_port: u16, diagnostics: &mut Vec<Diagnostic>) -> Read {
    let (mut context, given) = Context::read::<v1beta4::ClusterConfiguration>(document, diagnostics);
    let context = &mut context;
    let default = ClusterSettings::default();
    let or = |text: String, default: String| if text.is_empty() { default } else { text };

    let timeout = given.api_server.timeout_for_control_plane.clone();
    let path = "apiServer/timeoutForControlPlane";
    let control_plane_timeout =
        timeout.map(|text| context.duration(path, Some(&text), GoDuration::from_mins(4)));
    let api_server = api_server(context, given.api_server);
    let controller_manager = component(context, "controllerManager", given.controller_manager);
    let networking = network::read(context, given.networking, &controller_manager.extra_args);
    let certificates_dir = or(given.certificates_dir, default.certificates_dir);
    context.absolute("certificatesDir", &certificates_dir);
    let image_repository = or(given.image_repository, default.image_repository);
    context.image_repository("imageRepository", &image_repository);
    if !given.dns.image_repository.is_empty() {
        context.image_repository("dns/imageRepository", &given.dns.image_repository);
    }
    for gate in given.feature_gates.keys() {
        feature_gate(context, gate);
    }
    let certificate_validity_period = context.duration(
        "certificateValidityPeriod",
        given.certificate_validity_period.as_deref(),
        default.certificate_validity_period,
    );
    let ca_certificate_validity_period = context.duration(
        "caCertificateValidityPeriod",
        given.ca_certificate_validity_period.as_deref(),
        default.ca_certificate_validity_period,
    );
    let settings = ClusterSettings {
        name: or(given.cluster_name, default.name),
        kubernetes_version: kubernetes_version(context, &given.kubernetes_version),
        api_balancer: None,
        control_plane_endpoint: endpoint(context, &given.control_plane_endpoint, bind_port),
        networking,
        certificates_dir,
        image_repository,
        given_images: GivenImages::default(),
        encryption_algorithm: given.encryption_algorithm.unwrap_or_default(),
        certificate_validity_period,
        ca_certificate_validity_period,
        api_server,
        controller_manager,
        scheduler: component(context, "scheduler", given.scheduler),
        etcd: etcd::read(context, given.etcd),
        dns: Dns {
            image: etcd::image(given.dns.image_repository, given.dns.image_tag),
            disabled: given.dns.disabled,
        },
        proxy: KubeProxy { disabled: given.proxy.disabled, version: None },
        feature_gates: given.feature_gates,
    };
    validity(context, &settings);
    Read { settings, control_plane_timeout }
}

fn component(context: &mut Context<'_>, path: &str, given: v1beta4::ControlPlaneComponent) -> Component {
    for (index, volume) in given.extra_volumes.iter().enumerate() {
        for (field, value) in
            [("name", &volume.name), ("hostPath", &volume.host_path), ("mountPath", &volume.mount_path)]
        {
            if value.is_empty() {
                let message = format!("a volume has no `{field}`: its pod could not start");
                let hint = "a volume needs `name`, `hostPath` and `mountPath`";
                context.refuse(&format!("{path}/extraVolumes/{index}"), message, hint);
            }
        }
    }
    for (index, variable) in
        given.extra_envs.iter().enumerate().filter(|(_, variable)| variable.name.is_empty())
    {
        let _ = variable;
        context.refuse(
            &format!("{path}/extraEnvs/{index}"),
            "an environment variable has no name",
            "add `name`",
        );
    }
    Component {
        extra_args: context.arguments(&format!("{path}/extraArgs"), given.extra_args),
        extra_volumes: given
            .extra_volumes
            .into_iter()
            .map(|volume| HostPathMount {
                name: volume.name,
                host_path: volume.host_path,
                mount_path: volume.mount_path,
                read_only: volume.read_only,
                path_type: volume.path_type,
            })
            .collect(),
        extra_envs: variables(given.extra_envs),
    }
}

fn api_server(context: &mut Context<'_>, given: v1beta4::ApiServer) -> ApiServer {
    // As kubeadm has it: names of load balancers may come with capitals.
    let cert_sans: Vec<String> = given.cert_sans.iter().map(|name| name.to_lowercase()).collect();
    context.alternative_names("apiServer/certSANs", &cert_sans);
    let component = v1beta4::ControlPlaneComponent {
        extra_args: given.extra_args,
        extra_volumes: given.extra_volumes,
        extra_envs: given.extra_envs,
    };
    ApiServer { component: self::component(context, "apiServer", component), cert_sans }
}

/// Environment variables as the core API has them, with its one default.
pub(super) fn variables(given: Vec<v1beta4::EnvVar>) -> Vec<Value> {
    let variable = |variable: v1beta4::EnvVar| {
        let mut fields = Map::from_iter([("name".to_owned(), json!(variable.name))]);
        if !variable.value.is_empty() {
            fields.insert("value".to_owned(), json!(variable.value));
        }
        if let Some(mut source) = variable.value_from {
            if let Some(field) = source.get_mut("fieldRef").and_then(Value::as_object_mut) {
                field.entry("apiVersion").or_insert_with(|| "v1".into());
            }
            fields.insert("valueFrom".to_owned(), source);
        }
        Value::Object(fields)
    };
    given.into_iter().map(variable).collect()
}

fn kubernetes_version(context: &mut Context<'_>, text: &str) -> KubernetesVersion {
    let path = "kubernetesVersion";
    if text.is_empty() {
        return version::DEFAULT_KUBERNETES;
    }
    let parsed: KubernetesVersion = match text.parse() {
        Ok(parsed) => parsed,
        Err(_) if text.starts_with(|c: char| c.is_ascii_alphabetic() && c != 'v') => {
            let message = format!("`{text}` would have to be looked up on the Internet");
            context.refuse(path, message, format!("write a release, as in v{}", version::DEFAULT_KUBERNETES));
            return version::DEFAULT_KUBERNETES;
        }
        Err(error) => {
            context.refuse(path, format!("`{text}` {error}"), error.hint);
            return version::DEFAULT_KUBERNETES;
        }
    };
    if (parsed.major, parsed.minor) < version::OLDEST_KUBERNETES {
        let (major, minor) = version::OLDEST_KUBERNETES;
        let message =
            format!("Kubernetes {parsed} is too old: {major}.{minor} is the oldest that kubeadm makes");
        context.refuse(path, message, format!("write {major}.{minor} or later"));
    }
    parsed
}

/// The shared endpoint; without a port it gets that of the API servers.
fn endpoint(context: &mut Context<'_>, text: &str, bind_port: u16) -> Option<Endpoint> {
    if text.is_empty() {
        return None;
    }
    match text.parse::<Endpoint>() {
        Ok(endpoint) if endpoint.port().is_none() => {
            Some(Endpoint::from(&LocalEndpoint { host: endpoint.host().to_owned(), port: bind_port }))
        }
        Ok(endpoint) => Some(endpoint),
        Err(error) => {
            let hint = "write a host and perhaps a port, as in api.example.test:6443";
            context.refuse("controlPlaneEndpoint", error.to_string(), hint);
            None
        }
    }
}

fn feature_gate(context: &mut Context<'_>, name: &str) {
    let known: Vec<&str> = version::FEATURE_GATES.iter().map(|(name, _)| *name).collect();
    if known.contains(&name) {
        return;
    }
    let hint = match slipway_spec::diagnostic::closest(name, known.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!(
            "kubeadm's gates are {}; those of components are flags in `extraArgs`, as `feature-gates`",
            known.join(", ")
        ),
    };
    context.refuse(&format!("featureGates/{name}"), format!("kubeadm has no feature gate `{name}`"), hint);
}

fn validity(context: &mut Context<'_>, settings: &ClusterSettings) {
    let default = ClusterSettings::default();
    let (leaf, authority) = (settings.certificate_validity_period, settings.ca_certificate_validity_period);
    if leaf > default.certificate_validity_period {
        let message = format!("certificates of {leaf} last longer than a year");
        let hint = "a certificate cannot be revoked: a shorter validity is safer";
        context.warn("certificateValidityPeriod", code::UNUSUAL, message, hint);
    }
    if authority > default.ca_certificate_validity_period {
        let message = format!("CAs of {authority} last longer than ten years");
        context.warn("caCertificateValidityPeriod", code::UNUSUAL, message, "a shorter time is safer");
    }
    if leaf > authority {
        let message = format!("certificates of {leaf} would last longer than their CA with {authority}");
        context.warn("certificateValidityPeriod", code::UNUSUAL, message, "give the CA more time");
    }
}
