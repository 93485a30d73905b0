//! The bootstrap document: the settings with which a machine becomes a node, without any secret.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value as Json, json};
use slipway_bootstrap::boot::{ETCD, REFERENCE_KIND, document_text, settings_name};
use slipway_cluster_input::value::{Cidr, KubernetesVersion, PortRange};
use slipway_cluster_input::{
    Addon, Architecture, Assets, Audit, Authentication, ClusterInput, Component, ComponentName,
    ContainerRuntime, EgressProxy, Endpoint, EtcdCluster, IpFamily, Kubelet, Network, NodePool, PodSecurity,
    ProgramFile, ProgramName, Programs, ProxyMode, Role, ServiceAccounts, Taint,
};
use slipway_resource::{Address, Digest, ErrorClass, Path, ProviderError, Reference, TemplatePart};

use super::script::{OwnProgram, S3};
use crate::expand::addons::is_enabled;
use crate::expand::build::Builder;
use crate::expand::compute::has_nvidia;
use crate::expand::compute::tags::node_labels;
use crate::expand::links::balancer;
use crate::expand::node_settings::{
    files_of_seed, first, is_component_of_seed, is_in_place, kubelet_of_seed,
};
use crate::expand::topology::{has_api_server, load_balancer, names_machines, without_dns};

/// The type of the core with the authorities of a cluster.
pub(super) const KEYPAIR: &str = "keypair";
/// The services that the cloud controller manager calls, as its configuration names them.
const CALLED: [&str; 3] = ["EC2", "Elastic Load Balancing", "Elastic Load Balancing v2"];

/// The document of a machine, version `v1alpha1`. Missing fields have the spec's default.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct NodeBootstrap<'a> {
    api_version: &'static str,
    kind: &'static str,
    cluster: About<'a>,
    node: Node<'a>,
    /// Where further settings of the pool are.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<SettingsObject>,
    runtime: &'a ContainerRuntime,
    #[serde(skip_serializing_if = "Option::is_none")]
    egress_proxy: Option<&'a EgressProxy>,
    assets: Assets,
    programs: Fetched<'a>,
    components: BTreeMap<ComponentName, &'a Component>,
    addons: Vec<Setting<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    control_plane: Option<ControlPlane<'a>>,
}

/// The object in the cluster with the settings that change in place.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SettingsObject {
    config_map: String,
    /// The settings with which a control plane begins the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<String>,
}

/// The programs that Slipway installs when the image lacks them.
#[derive(Serialize)]
struct Fetched<'a> {
    mirrors: &'a [String],
    files: Vec<File<'a>>,
}

/// One file with programs.
#[derive(Serialize)]
struct File<'a> {
    name: ProgramName,
    path: &'a str,
    sha256: &'a str,
}

/// The cluster.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct About<'a> {
    name: &'a str,
    provider: &'static str,
    region: &'a str,
    ip_family: IpFamily,
    domain: &'a str,
    dns_address: String,
    pod_cidrs: &'a [Cidr],
    service_cidrs: &'a [Cidr],
    cni: Plugin<'a>,
    proxy_mode: ProxyMode,
    /// Where control planes read the cluster's authority and keys by their instance's identity.
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<&'a str>,
    /// The name under which nodes reach the API servers, where it differs from the endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    internal_endpoint: Option<String>,
    /// The configuration of the cloud controller manager on control planes. Its presence says that `apply` installs the add-ons.
    cloud_controller: String,
    /// kOps' `cloudConfig` settings.
    #[serde(skip_serializing_if = "Json::is_null")]
    cloud_config: Json,
    /// kOps' `containerd` settings for the account's registries.
    #[serde(skip_serializing_if = "Json::is_null")]
    registries: Json,
}

/// The pods' network and its settings.
#[derive(Serialize)]
struct Plugin<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Json::is_null")]
    config: Json,
}

/// The machine.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Node<'a> {
    pool: &'a str,
    role: Role,
    architecture: Architecture,
    kubernetes_version: &'a KubernetesVersion,
    labels: BTreeMap<String, String>,
    taints: &'a [Taint],
    kubelet: Kubelet,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    packages: &'a [String],
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    sysctls: &'a BTreeMap<String, String>,
    files: &'a [slipway_cluster_input::FileAsset],
    hooks: &'a [slipway_cluster_input::Hook],
    mounts: Vec<Mount<'a>>,
    /// Images to fetch before the machine waits in the warm pool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warm_images: Vec<String>,
}

/// A volume that is mounted.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Mount<'a> {
    device: &'a str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    filesystem: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    format_options: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    mount_options: Vec<String>,
}

/// An add-on and its settings.
#[derive(Serialize)]
struct Setting<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replicas: Option<u32>,
    #[serde(skip_serializing_if = "Json::is_null")]
    config: Json,
}

/// Settings that only machines with an API server need.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ControlPlane<'a> {
    names: Vec<String>,
    node_port_range: PortRange,
    schedulable: bool,
    authentication: &'a Authentication,
    service_accounts: &'a ServiceAccounts,
    /// The kinds of objects that are encrypted; keys come from the store.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    encrypted: Vec<&'a str>,
    audit: &'a Audit,
    #[serde(skip_serializing_if = "Option::is_none")]
    pod_security: Option<&'a PodSecurity>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    etcd: Vec<&'a EtcdCluster>,
    /// The members keep their data on the volumes of the cluster. Documents of earlier versions left it on the disk of the machine.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    etcd_volumes: bool,
    /// The facts about pools for the cluster autoscaler that tags do not contain.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    autoscaling: BTreeMap<&'a str, Autoscaling>,
}

/// How the cluster autoscaler treats a pool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Autoscaling {
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i64>,
}

/// The JSON of a pool's document in one line, without what is empty.
pub(super) fn of_pool(builder: &Builder<'_>, pool: &NodePool) -> Result<String, ProviderError> {
    serde_json::to_string(&whole(builder, pool)?).map_err(unwritable)
}

/// A pool's document as the cluster has it.
pub(in crate::expand) fn text(builder: &Builder<'_>, pool: &NodePool) -> Result<String, ProviderError> {
    Ok(document_text(&whole(builder, pool)?))
}

/// The reference to a pool's document: what a machine needs to find its cluster and to prove its identity. It gets the document
/// from a control plane.
pub(super) fn reference(builder: &Builder<'_>, pool: &NodePool) -> Result<String, ProviderError> {
    let whole = whole(builder, pool)?;
    let part = |name: &str, fields: &[&str]| -> Json {
        let field = |field: &&str| Some(((*field).to_owned(), whole[name].get(*field)?.clone()));
        Json::Object(fields.iter().filter_map(field).collect())
    };
    let mut reference = json!({
        "apiVersion": whole["apiVersion"],
        "kind": REFERENCE_KIND,
        "cluster": part("cluster", &["name", "provider", "region"]),
        "node": part("node", &["pool", "role", "architecture", "kubernetesVersion"]),
        "document": { "digest": Digest::of_bytes(document_text(&whole).as_bytes()).to_string() },
        "programs": whole["programs"],
    });
    prune(&mut reference);
    serde_json::to_string(&reference).map_err(unwritable)
}

fn unwritable(error: serde_json::Error) -> ProviderError {
    ProviderError::new(ErrorClass::Permanent, format!("the bootstrap document cannot be written: {error}"))
}

/// The JSON of a pool's document, without what is empty.
fn whole(builder: &Builder<'_>, pool: &NodePool) -> Result<Json, ProviderError> {
    let document = NodeBootstrap {
        api_version: "slipway.dev/v1alpha1",
        kind: "NodeBootstrap",
        cluster: about(builder),
        node: node(builder, pool),
        settings: is_in_place(builder, pool)
            .then(|| SettingsObject { config_map: settings_name(&pool.name), first: first(builder, pool) }),
        runtime: &builder.cluster.container_runtime,
        egress_proxy: builder.cluster.egress_proxy.as_ref(),
        assets: Assets { programs: Programs::default(), ..builder.cluster.assets.clone() },
        programs: fetched(builder, pool),
        components: components(builder, pool),
        addons: addons(builder, pool),
        control_plane: has_api_server(pool).then(|| control_plane(builder, pool)),
    };
    let mut json = serde_json::to_value(&document).map_err(unwritable)?;
    prune(&mut json);
    Ok(json)
}

/// The files for the machines of a pool, without Slipway itself, which the script fetches.
fn fetched<'a>(builder: &Builder<'a>, pool: &NodePool) -> Fetched<'a> {
    let Programs { mirrors, files } = &builder.cluster.assets.programs;
    let of_pool = |file: &&ProgramFile| {
        let version = file.version.as_ref().filter(|_| file.name == ProgramName::Kubelet);
        file.architecture == pool.architecture
            && file.name != ProgramName::Slipway
            && version.is_none_or(|version| *version == pool.kubernetes_version)
    };
    let file = |file: &'a ProgramFile| File { name: file.name, path: &file.path, sha256: &file.sha256 };
    let files: Vec<File<'a>> = files.iter().filter(of_pool).map(file).collect();
    Fetched { mirrors: if files.is_empty() { &[] } else { mirrors }, files }
}

/// Slipway's own program for the machines of a pool: the URLs to fetch it from, and its SHA-256.
pub(super) fn own_program(builder: &Builder<'_>, pool: &NodePool) -> Option<OwnProgram> {
    let programs = &builder.cluster.assets.programs;
    let is_own =
        |file: &&ProgramFile| file.name == ProgramName::Slipway && file.architecture == pool.architecture;
    let file = programs.files.iter().find(is_own)?;
    let s3 = S3::of(builder.settings.endpoint.as_deref(), &builder.catalog.region, builder.catalog.domain());
    Some(OwnProgram { urls: programs.urls(file), sha256: file.sha256.clone(), s3 })
}

/// The authority of the cluster for the workers of a pool, by which they trust the control plane that gives them the credential of
/// their node.
pub(super) fn authority(builder: &Builder<'_>, pool: &NodePool) -> Option<TemplatePart> {
    let is_asked = names_machines(builder.cluster) && pool.role == Role::Worker;
    let address = Address::new(KEYPAIR, "kubernetes-ca");
    is_asked.then(|| TemplatePart::Reference(Reference { address, path: Path::key("certificate_base64") }))
}

/// Leaves out what says nothing: null, and lists and objects without anything in them.
pub(in crate::expand) fn prune(json: &mut Json) {
    match json {
        Json::Object(fields) => {
            fields.retain(|_, value| {
                prune(value);
                !is_empty(value)
            });
        }
        Json::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

fn is_empty(json: &Json) -> bool {
    match json {
        Json::Null => true,
        Json::Object(fields) => fields.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn about<'a>(builder: &Builder<'a>) -> About<'a> {
    let Network { ip_family, cluster_domain, dns_address, pod_cidrs, service_cidrs, cni, proxy_mode, .. } =
        &builder.cluster.network;
    About {
        name: &builder.cluster.name,
        provider: "aws",
        region: &builder.catalog.region,
        ip_family: *ip_family,
        domain: cluster_domain,
        dns_address: dns_address.to_string(),
        pod_cidrs,
        service_cidrs,
        cni: Plugin { name: &cni.name, config: plain(&cni.config) },
        proxy_mode: *proxy_mode,
        store: builder.settings.state.as_deref().or(builder.settings.config_base.as_deref()),
        internal_endpoint: builder
            .settings
            .api
            .load_balancer
            .use_for_internal_api
            .then(|| builder.named("api.internal")),
        cloud_controller: cloud_controller(builder),
        cloud_config: builder.settings.cloud_config.clone(),
        registries: builder.settings.containerd.clone(),
    }
}

/// The configuration of the cloud controller manager (`CloudConfig` of k8s.io/cloud-provider-aws): its defaults, and where the
/// services are if they are not at AWS.
fn cloud_controller(builder: &Builder<'_>) -> String {
    let mut text = "[global]\n".to_owned();
    let region = &builder.catalog.region;
    for (service, url) in CALLED.iter().zip(builder.settings.endpoint.iter().cycle()) {
        text.push_str(&format!(
            "[ServiceOverride \"{service}\"]\nService = \"{service}\"\nRegion = \"{region}\"\nURL = \"{url}\"\n\
             SigningRegion = \"{region}\"\n"
        ));
    }
    text
}

/// Settings in the form of Slipway's spec: those under the key `kops` are moved beside it.
fn plain(config: &Json) -> Json {
    let Json::Object(own) = config else { return config.clone() };
    let mut plain = match own.get("kops") {
        Some(Json::Object(kops)) => kops.clone(),
        _ => serde_json::Map::new(),
    };
    plain.extend(
        own.iter().filter(|(name, _)| *name != "kops").map(|(name, value)| (name.clone(), value.clone())),
    );
    Json::Object(plain)
}

fn node<'a>(builder: &Builder<'a>, pool: &'a NodePool) -> Node<'a> {
    let settings = builder.pool_settings(pool);
    let mounts = pool.volumes.iter().filter_map(|volume| {
        let (device, path) = (volume.device.as_deref()?, volume.mount_path.as_deref()?);
        let how = settings.volume_mounts.iter().find(|mount| mount.device == device).cloned();
        let how = how.unwrap_or_default();
        Some(Mount {
            device,
            path,
            filesystem: how.filesystem,
            format_options: how.format_options,
            mount_options: how.mount_options,
        })
    });
    Node {
        pool: &pool.name,
        role: pool.role,
        architecture: pool.architecture,
        kubernetes_version: &pool.kubernetes_version,
        labels: if is_in_place(builder, pool) { BTreeMap::new() } else { node_labels(builder, pool) },
        taints: &pool.taints,
        kubelet: kubelet_of_seed(builder, pool),
        packages: &pool.packages,
        sysctls: &pool.sysctls,
        files: files_of_seed(builder, pool),
        hooks: &pool.node_files.hooks,
        mounts: mounts.collect(),
        warm_images: if pool.warm_pool.is_some() { settings.warm_pool.additional_images } else { Vec::new() },
    }
}

/// Workers run the proxy; machines with an API server run that, and control planes the rest.
fn components<'a>(builder: &Builder<'a>, pool: &NodePool) -> BTreeMap<ComponentName, &'a Component> {
    let runs = |name: ComponentName| match pool.role {
        Role::ControlPlane => true,
        Role::ApiServer => {
            matches!(name, ComponentName::ApiServer | ComponentName::Kubelet | ComponentName::Proxy)
        }
        _ => matches!(name, ComponentName::Kubelet | ComponentName::Proxy),
    };
    let all = builder.cluster.components.iter();
    let is_here = |name: ComponentName| runs(name) && is_component_of_seed(builder, pool, name);
    all.filter(|(name, _)| is_here(**name)).map(|(name, component)| (*name, component)).collect()
}

/// Control planes install the add-ons; add-ons that change machines are for all machines.
fn addons<'a>(builder: &Builder<'a>, pool: &NodePool) -> Vec<Setting<'a>> {
    let everywhere = |addon: &Addon| matches!(addon.name.as_str(), "gvisor" | "nvidia" | "node-local-dns");
    let all = builder.cluster.addons.iter().filter(|addon| addon.enabled);
    let wanted = all.filter(|addon| pool.role == Role::ControlPlane || everywhere(addon));
    let mut settings: Vec<Setting<'a>> = wanted
        .map(|addon| Setting {
            name: &addon.name,
            version: addon.version.as_deref(),
            replicas: addon.replicas,
            config: plain(&addon.config),
        })
        .collect();
    let nvidia = "nvidia";
    if has_nvidia(builder, pool) && !settings.iter().any(|setting| setting.name == nvidia) {
        settings.push(Setting { name: nvidia, version: None, replicas: None, config: Json::Null });
    }
    settings
}

fn control_plane<'a>(builder: &Builder<'a>, pool: &NodePool) -> ControlPlane<'a> {
    let cluster = builder.cluster;
    let encrypted = cluster.encryption.at_rest.iter().flat_map(|at_rest| &at_rest.resources);
    let mut names = cluster.control_plane.additional_sans.clone();
    names.extend(builder.settings.master_public_name.clone());
    ControlPlane {
        names,
        node_port_range: cluster.network.node_port_range,
        schedulable: cluster.control_plane.schedulable,
        authentication: &cluster.authentication,
        service_accounts: &cluster.service_accounts,
        encrypted: encrypted.map(String::as_str).collect(),
        audit: &cluster.audit,
        pod_security: cluster.pod_security.as_ref(),
        etcd: if pool.role == Role::ControlPlane { cluster.etcd.iter().collect() } else { Vec::new() },
        etcd_volumes: pool.role == Role::ControlPlane && has_member(cluster, pool),
        autoscaling: if pool.role == Role::ControlPlane { autoscaling(builder) } else { BTreeMap::new() },
    }
}

/// Whether machines of a pool run members of the etcd cluster that has all objects.
fn has_member(cluster: &ClusterInput, pool: &NodePool) -> bool {
    let main = cluster.etcd.iter().filter(|etcd| etcd.name == ETCD);
    main.flat_map(|etcd| &etcd.members).any(|member| member.pool == pool.name)
}

fn autoscaling<'a>(builder: &Builder<'a>) -> BTreeMap<&'a str, Autoscaling> {
    let of = |pool: &'a NodePool| {
        let settings = builder.pool_settings(pool);
        let (enabled, priority) = (settings.autoscale, settings.autoscale_priority);
        (enabled.is_some() || priority.is_some())
            .then_some((pool.name.as_str(), Autoscaling { enabled, priority }))
    };
    if !is_enabled(builder.cluster, "cluster-autoscaler") {
        return BTreeMap::new();
    }
    builder.cluster.pools.iter().filter_map(of).collect()
}

/// Where the machine finds the cluster: a name, or the load balancer's own where no records are made.
pub(super) fn endpoint(builder: &Builder<'_>) -> Vec<TemplatePart> {
    let text = |host: &str| vec![TemplatePart::Text(host.to_owned())];
    match &builder.cluster.control_plane.endpoint {
        Endpoint::Given(given) => text(&given.host),
        Endpoint::VirtualIp(address) => text(&address.address.to_string()),
        _ if load_balancer(builder.cluster).is_some() && without_dns(builder.cluster) => {
            let address = balancer(builder, "api");
            vec![TemplatePart::Reference(Reference { address, path: Path::key("dns_name") })]
        }
        _ => match &builder.settings.master_public_name {
            Some(name) => text(name),
            None => text(&builder.named("api")),
        },
    }
}
