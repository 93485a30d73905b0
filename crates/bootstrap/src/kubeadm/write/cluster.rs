use serde_json::{Value, json};

use super::{arguments, document, flag, image, list, object, text};
use crate::{
    configuration::{ClusterSettings, Component, Etcd, HostPathMount},
    yaml,
};

/// The `ClusterConfiguration` of a cluster: byte-identical to kubeadm's in the ConfigMap `kubeadm-config`.
#[must_use]
pub fn cluster_configuration(cluster: &ClusterSettings) -> String {
    yaml::to_string(&value(cluster))
}

pub(super) fn value(cluster: &ClusterSettings) -> Value {
    let networking = &cluster.networking;
    document(
        "ClusterConfiguration",
        [
            ("apiServer", Some(component(&cluster.api_server.component, &cluster.api_server.cert_sans))),
            ("caCertificateValidityPeriod", Some(json!(cluster.ca_certificate_validity_period))),
            ("certificateValidityPeriod", Some(json!(cluster.certificate_validity_period))),
            ("certificatesDir", text(&cluster.certificates_dir)),
            ("clusterName", text(&cluster.name)),
            (
                "controlPlaneEndpoint",
                cluster.control_plane_endpoint.as_ref().map(|endpoint| endpoint.as_str().into()),
            ),
            ("controllerManager", Some(component(&cluster.controller_manager, &[]))),
            ("dns", {
                let [repository, tag] = image(&cluster.dns.image);
                Some(object([("disabled", flag(cluster.dns.disabled)), repository, tag]))
            }),
            ("encryptionAlgorithm", Some(json!(cluster.encryption_algorithm))),
            ("etcd", Some(etcd(&cluster.etcd))),
            ("featureGates", (!cluster.feature_gates.is_empty()).then(|| json!(cluster.feature_gates))),
            ("imageRepository", text(&cluster.image_repository)),
            ("kubernetesVersion", Some(format!("v{}", cluster.kubernetes_version).into())),
            (
                "networking",
                Some(object([
                    ("dnsDomain", text(&networking.dns_domain)),
                    ("podSubnet", text(&networking.pod_subnet)),
                    ("serviceSubnet", text(&networking.service_subnet)),
                ])),
            ),
            ("proxy", Some(object([("disabled", flag(cluster.proxy.disabled))]))),
            ("scheduler", Some(component(&cluster.scheduler, &[]))),
        ],
    )
}

fn component(component: &Component, cert_sans: &[String]) -> Value {
    let volume = |volume: &HostPathMount| {
        object([
            ("hostPath", Some(volume.host_path.as_str().into())),
            ("mountPath", Some(volume.mount_path.as_str().into())),
            ("name", Some(volume.name.as_str().into())),
            ("pathType", text(&volume.path_type)),
            ("readOnly", flag(volume.read_only)),
        ])
    };
    let volumes: Vec<Value> = component.extra_volumes.iter().map(volume).collect();
    object([
        ("certSANs", list(cert_sans)),
        ("extraArgs", arguments(&component.extra_args)),
        ("extraEnvs", list(&component.extra_envs)),
        ("extraVolumes", list(&volumes)),
    ])
}

fn etcd(etcd: &Etcd) -> Value {
    match etcd {
        Etcd::Local(local) => {
            let [repository, tag] = image(&local.image);
            let local = object([
                ("dataDir", Some(local.data_dir.as_str().into())),
                ("extraArgs", arguments(&local.extra_args)),
                ("extraEnvs", list(&local.extra_envs)),
                repository,
                tag,
                ("peerCertSANs", list(&local.peer_cert_sans)),
                ("serverCertSANs", list(&local.server_cert_sans)),
            ]);
            json!({ "local": local })
        }
        Etcd::External(external) => json!({ "external": {
            "caFile": external.ca_file,
            "certFile": external.cert_file,
            "endpoints": external.endpoints,
            "keyFile": external.key_file,
        } }),
    }
}
