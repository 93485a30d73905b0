use serde_json::{Map, Value, json};

use crate::configuration::{Argument, ClusterSettings, Component, Configuration, Etcd, HostPathMount, Image};
use crate::shape::CONTAINER_ENVIRONMENT;

/// The cluster's part of a configuration as kubeadm's `ClusterConfiguration` (v1beta4), with the fields that kubeadm
/// writes: what is empty is left out.
#[must_use]
pub fn cluster_configuration(configuration: &Configuration) -> Value {
    let cluster = &configuration.cluster;
    let mut api_server = component(&cluster.api_server.component);
    texts(&mut api_server, "certSANs", &cluster.api_server.cert_sans);
    let mut dns = image(&cluster.dns.image);
    flag(&mut dns, "disabled", cluster.dns.disabled);
    let mut proxy = Map::new();
    flag(&mut proxy, "disabled", cluster.proxy.disabled);
    let mut document = Map::new();
    let mut set = |key: &str, value: Value| document.insert(key.to_owned(), value);
    set("apiVersion", "kubeadm.k8s.io/v1beta4".into());
    set("kind", "ClusterConfiguration".into());
    set("apiServer", api_server.into());
    set("controllerManager", component(&cluster.controller_manager).into());
    set("scheduler", component(&cluster.scheduler).into());
    set("dns", dns.into());
    set("proxy", proxy.into());
    set("etcd", etcd(&cluster.etcd));
    set("networking", networking(cluster).into());
    set("caCertificateValidityPeriod", cluster.ca_certificate_validity_period.to_string().into());
    set("certificateValidityPeriod", cluster.certificate_validity_period.to_string().into());
    for (key, value) in [
        ("certificatesDir", cluster.certificates_dir.clone()),
        ("clusterName", cluster.name.clone()),
        ("encryptionAlgorithm", cluster.encryption_algorithm.to_string()),
        ("imageRepository", cluster.image_repository.clone()),
        ("kubernetesVersion", format!("v{}", cluster.kubernetes_version)),
    ] {
        text(&mut document, key, &value);
    }
    if let Some(endpoint) = &cluster.control_plane_endpoint {
        text(&mut document, "controlPlaneEndpoint", endpoint.as_str());
    }
    if !cluster.feature_gates.is_empty() {
        document.insert("featureGates".to_owned(), json!(cluster.feature_gates));
    }
    document.into()
}

fn text(into: &mut Map<String, Value>, key: &str, value: &str) {
    if !value.is_empty() {
        into.insert(key.to_owned(), value.into());
    }
}

fn texts(into: &mut Map<String, Value>, key: &str, values: &[String]) {
    if !values.is_empty() {
        into.insert(key.to_owned(), json!(values));
    }
}

fn flag(into: &mut Map<String, Value>, key: &str, value: bool) {
    if value {
        into.insert(key.to_owned(), true.into());
    }
}

fn arguments(into: &mut Map<String, Value>, arguments: &[Argument]) {
    if !arguments.is_empty() {
        let items: Vec<Value> = arguments
            .iter()
            .map(|argument| json!({"name": argument.name, "value": argument.value}))
            .collect();
        into.insert("extraArgs".to_owned(), items.into());
    }
}

fn variables(into: &mut Map<String, Value>, variables: &[Value]) {
    if !variables.is_empty() {
        let variables = Value::Array(variables.to_vec());
        into.insert("extraEnvs".to_owned(), CONTAINER_ENVIRONMENT.encode(Some(&variables)));
    }
}

fn component(component: &Component) -> Map<String, Value> {
    let mut entries = Map::new();
    arguments(&mut entries, &component.extra_args);
    variables(&mut entries, &component.extra_envs);
    if !component.extra_volumes.is_empty() {
        let volumes: Vec<Value> = component.extra_volumes.iter().map(volume).collect();
        entries.insert("extraVolumes".to_owned(), volumes.into());
    }
    entries
}

fn volume(mount: &HostPathMount) -> Value {
    let mut entries = Map::new();
    entries.insert("name".to_owned(), mount.name.clone().into());
    entries.insert("hostPath".to_owned(), mount.host_path.clone().into());
    entries.insert("mountPath".to_owned(), mount.mount_path.clone().into());
    flag(&mut entries, "readOnly", mount.read_only);
    text(&mut entries, "pathType", &mount.path_type);
    entries.into()
}

fn image(image: &Image) -> Map<String, Value> {
    let mut entries = Map::new();
    text(&mut entries, "imageRepository", image.repository.as_deref().unwrap_or_default());
    text(&mut entries, "imageTag", image.tag.as_deref().unwrap_or_default());
    entries
}

fn etcd(etcd: &Etcd) -> Value {
    match etcd {
        Etcd::Local(local) => {
            let mut entries = image(&local.image);
            entries.insert("dataDir".to_owned(), local.data_dir.clone().into());
            arguments(&mut entries, &local.extra_args);
            variables(&mut entries, &local.extra_envs);
            texts(&mut entries, "serverCertSANs", &local.server_cert_sans);
            texts(&mut entries, "peerCertSANs", &local.peer_cert_sans);
            json!({"local": entries})
        }
        Etcd::External(external) => json!({"external": {
            "endpoints": external.endpoints, "caFile": external.ca_file,
            "certFile": external.cert_file, "keyFile": external.key_file,
        }}),
    }
}

fn networking(cluster: &ClusterSettings) -> Map<String, Value> {
    let mut entries = Map::new();
    text(&mut entries, "serviceSubnet", &cluster.networking.service_subnet);
    text(&mut entries, "podSubnet", &cluster.networking.pod_subnet);
    text(&mut entries, "dnsDomain", &cluster.networking.dns_domain);
    entries
}
