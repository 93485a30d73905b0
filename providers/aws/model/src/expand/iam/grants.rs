//! Which parts the policies of the cluster's roles have.

use slipway_cluster_input::{DnsKind, IpFamily, NodePool, Role};

use crate::expand::addons;
use crate::expand::build::Builder;
use crate::expand::compute;
use crate::names;
use crate::policy::part::{self, Networking, Place, Protection, Store};
use crate::policy::{Document, Grants, Scope, Text};

/// The zone in ARNs when the account's zones were not read.
const UNKNOWN_ZONE: &str = "ZUNKNOWN";

/// A part that the control plane's role has, or a service account's role in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    CloudController,
    EbsCsi,
    Dns,
    Autoscaler,
    TerminationHandler,
    LoadBalancerController,
    CertManager,
    Karpenter,
    KubeRouter,
}

/// The grants of the machines of pools with a role.
pub(super) fn of_role(builder: &Builder<'_>, role: Role) -> Document {
    let scope = cluster_scope(builder);
    let mut grants = Grants::default();
    match role {
        Role::Bastion => return Document::default(),
        Role::ControlPlane => {
            part::core(&mut grants, &scope, &store(builder));
            if !builder.settings.iam.use_service_account_external_permissions {
                for wanted in on_the_control_plane(builder) {
                    part(builder, &mut grants, wanted);
                }
            }
        }
        Role::ApiServer => part::api_server(&mut grants, &scope, &store(builder)),
        Role::Worker => {}
    }
    let network = networking(builder);
    let ipv6 = builder.cluster.network.ip_family == IpFamily::Ipv6;
    part::networking(&mut grants, &scope, network, ipv6, role);
    if builder.settings.iam.allow_container_registry {
        part::registry(&mut grants);
    }
    let programs = in_buckets(builder);
    part::mirrors(&mut grants, &scope, programs.iter().map(String::as_str));
    let hooked = builder
        .cluster
        .pools_with(role)
        .any(|pool| pool.warm_pool.is_some_and(|warm_pool| warm_pool.lifecycle_hook));
    if hooked && role != Role::ControlPlane {
        part::warm_pool(&mut grants, &scope);
    }
    grants.document()
}

/// The files with programs that are on mirrors in buckets, each as `bucket/key`.
fn in_buckets(builder: &Builder<'_>) -> Vec<String> {
    let programs = &builder.cluster.assets.programs;
    let urls = programs.files.iter().flat_map(|file| programs.urls(file));
    urls.filter_map(|url| url.strip_prefix("s3://").map(str::to_owned)).collect()
}

/// The parts that the control plane's role has where service accounts have no roles of their own.
fn on_the_control_plane(builder: &Builder<'_>) -> Vec<Part> {
    let cluster = builder.cluster;
    let mut parts = vec![Part::CloudController, Part::EbsCsi, Part::Autoscaler];
    if cluster.control_plane.dns.kind != DnsKind::None {
        parts.push(Part::Dns);
    }
    if has_termination_queue(builder) {
        parts.push(Part::TerminationHandler);
    }
    if addons::is_enabled(cluster, "aws-load-balancer-controller") {
        parts.push(Part::LoadBalancerController);
    }
    if addons::is_enabled(cluster, "karpenter") {
        parts.push(Part::Karpenter);
    }
    parts
}

/// Adds the grants of a part.
pub(crate) fn part(builder: &Builder<'_>, grants: &mut Grants, wanted: Part) {
    let cluster = builder.cluster;
    let scope = cluster_scope(builder);
    match wanted {
        Part::CloudController => {
            part::cloud_controller(grants, &scope, cluster.network.cni.name == "kubenet");
        }
        Part::EbsCsi => {
            part::ebs_csi(grants, &scope);
            if addons::is_enabled(cluster, "snapshot-controller") {
                part::snapshots(grants, &scope);
            }
        }
        Part::Dns => {
            let zone = hosted_zone(builder).unwrap_or(UNKNOWN_ZONE);
            part::dns(
                grants,
                &scope,
                Text::from(format!("arn:{}:route53:::hostedzone/{zone}", scope.partition)),
            );
        }
        Part::Autoscaler => {
            let own_types = addons::flag(cluster, "cluster-autoscaler", "awsUseStaticInstanceList", false);
            part::autoscaler(grants, &scope, own_types);
        }
        Part::TerminationHandler => part::termination_handler(grants, &scope),
        Part::LoadBalancerController => {
            part::load_balancer_controller(grants, &scope, protection(builder));
        }
        Part::CertManager => {
            let zones: Vec<String> = addons::setting(cluster, "cert-manager", "hostedZoneIDs")
                .and_then(|zones| serde_json::from_value(zones.clone()).ok())
                .unwrap_or_default();
            part::cert_manager(grants, &scope, &zones);
        }
        Part::Karpenter => {
            part::karpenter(grants, &scope, passed_by_karpenter(builder));
            if of_karpenter(builder).any(|pool| pool.root_volume.key.is_some()) {
                part::karpenter_keys(grants, &scope);
            }
        }
        Part::KubeRouter => grants.tagged(&scope, ["ec2:ModifyInstanceAttribute"]),
    }
}

/// The values in ARNs and conditions.
fn cluster_scope<'a>(builder: &Builder<'a>) -> Scope<'a> {
    Scope {
        cluster: &builder.cluster.name,
        partition: builder.catalog.partition(),
        region: &builder.catalog.region,
    }
}

/// Which protection the load balancer controller may put in front of its load balancers.
fn protection(builder: &Builder<'_>) -> Protection {
    let flag = |key| addons::flag(builder.cluster, "aws-load-balancer-controller", key, false);
    Protection { waf: flag("enableWAF"), waf_v2: flag("enableWAFv2"), shield: flag("enableShield") }
}

/// The id of the zone that the cluster's records are in, if the account was asked.
fn hosted_zone<'a>(builder: &Builder<'a>) -> Option<&'a str> {
    let dns = &builder.cluster.control_plane.dns;
    let named = dns.zone.as_deref()?;
    builder.catalog.hosted_zone(named, dns.kind == DnsKind::Private).map(|zone| zone.id.as_str())
}

/// The pools whose machines Karpenter creates.
fn of_karpenter<'a>(builder: &Builder<'a>) -> impl Iterator<Item = &'a NodePool> {
    builder.cluster.pools.iter().filter(|pool| !compute::is_group(builder, pool))
}

/// The role of Karpenter's machines: that of the workers; any role, if a pool brings a profile whose role is
/// not known.
fn passed_by_karpenter(builder: &Builder<'_>) -> Text {
    let foreign = of_karpenter(builder).any(|pool| super::existing_profile(builder, pool).is_some());
    let own = super::role_name(&builder.named(names::instance_role(Role::Worker)));
    let role = if foreign { "*" } else { own.as_str() };
    Text::from(format!("arn:{}:iam::*:role/{role}", builder.catalog.partition()))
}

/// Whether the node termination handler is fed by a queue. It may also listen to each machine's own metadata.
pub(crate) fn has_termination_queue(builder: &Builder<'_>) -> bool {
    let cluster = builder.cluster;
    addons::is_enabled(cluster, "node-termination-handler")
        && addons::flag(cluster, "node-termination-handler", "enableSQSTerminationDraining", true)
}

fn networking(builder: &Builder<'_>) -> Networking {
    let cluster = builder.cluster;
    match cluster.network.cni.name.as_str() {
        "amazon-vpc" => Networking::AmazonVpc,
        "cilium" if is(addons::network_setting(cluster, "ipam"), "eni") => Networking::CiliumEni,
        "calico" if !is(addons::network_setting(cluster, "awsSrcDstCheck"), "DoNothing") => {
            Networking::Calico
        }
        "kube-router" => Networking::KubeRouter,
        _ => Networking::Plain,
    }
}

fn is(setting: Option<&serde_json::Value>, word: &str) -> bool {
    setting.and_then(serde_json::Value::as_str) == Some(word)
}

/// Where control planes read the cluster's secrets, and where etcd's backups go.
fn store(builder: &Builder<'_>) -> Store {
    let base = builder.settings.config_base.as_deref().and_then(Place::parse);
    let backups = builder.cluster.etcd.iter().filter(|etcd| etcd.backups.enabled).filter_map(|etcd| {
        match &etcd.backups.store {
            Some(url) => Place::parse(url),
            None => base.as_ref().map(|base| base.join(&format!("backups/etcd/{}", etcd.name))),
        }
    });
    let mut backups: Vec<Place> = backups.collect();
    backups.sort();
    backups.dedup();
    let state = builder.settings.state.as_deref().filter(|url| url.starts_with("s3://"));
    Store { read: base.iter().cloned().collect(), backups, state: state.and_then(Place::parse) }
}
