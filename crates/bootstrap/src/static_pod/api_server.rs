use std::net::IpAddr;

use serde_json::{Value, json};

use super::arguments::{command_line, defaults};
use super::pod::{Parts, environment, pod};
use super::probe::{Place, reachable};
use super::volume::Volumes;
use crate::configuration::{Argument, Configuration, Etcd, argument_value};
use crate::expand::Facts;
use crate::version::Images;

const AUTHORIZATION_MODES: [&str; 6] = ["Node", "RBAC", "Webhook", "ABAC", "AlwaysAllow", "AlwaysDeny"];

/// The static pod of the API server.
#[must_use]
pub fn api_server(configuration: &Configuration, facts: &Facts) -> Value {
    let cluster = &configuration.cluster;
    let node = &configuration.node;
    let component = &cluster.api_server.component;
    let mut volumes = Volumes::default();
    volumes.folder("k8s-certs", &cluster.certificates_dir, true);
    if let Some(etcd) = cluster.etcd.external() {
        let files = [etcd.ca_file.as_str(), &etcd.cert_file, &etcd.key_file];
        volumes.etcd_certificates(files, &cluster.certificates_dir);
    }
    volumes.ca_certificates(facts);
    volumes.extra(&component.extra_volumes);
    let address = node.advertise_address.to_string();
    let place = Place { host: reachable(&address), scheme: "HTTPS" };
    let timeout = node.timeouts.control_plane_component_health_check;
    pod(Parts {
        name: "kube-apiserver",
        image: Images::of(cluster).api_server,
        command: command_line(flags(configuration), &component.extra_args),
        annotation: Some((
            "kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint",
            configuration.local_endpoint().to_string(),
        )),
        requests: json!({"cpu": "250m"}),
        port: node.bind_port,
        liveness: place.liveness("/livez"),
        readiness: Some(place.readiness("/readyz")),
        startup: place.startup("/livez", timeout),
        environment: environment(&facts.proxy_environment, &component.extra_envs),
        mounts: volumes.mounts(),
        volumes: volumes.volumes(),
    })
}

fn flags(configuration: &Configuration) -> Vec<Argument> {
    let cluster = &configuration.cluster;
    let node = &configuration.node;
    let pki = |file: &str| format!("{}/{file}", cluster.certificates_dir);
    let text = ToOwned::to_owned;
    let mut flags = defaults([
        ("advertise-address", node.advertise_address.to_string()),
        ("allow-privileged", text("true")),
        ("client-ca-file", pki("ca.crt")),
        ("enable-admission-plugins", text("NodeRestriction")),
        ("enable-bootstrap-token-auth", text("true")),
        ("kubelet-client-certificate", pki("apiserver-kubelet-client.crt")),
        ("kubelet-client-key", pki("apiserver-kubelet-client.key")),
        ("kubelet-preferred-address-types", text("InternalIP,ExternalIP,Hostname")),
        ("proxy-client-cert-file", pki("front-proxy-client.crt")),
        ("proxy-client-key-file", pki("front-proxy-client.key")),
        ("requestheader-allowed-names", text("front-proxy-client")),
        ("requestheader-client-ca-file", pki("front-proxy-ca.crt")),
        ("requestheader-extra-headers-prefix", text("X-Remote-Extra-")),
        ("requestheader-group-headers", text("X-Remote-Group")),
        ("requestheader-username-headers", text("X-Remote-User")),
        ("secure-port", node.bind_port.to_string()),
        (
            "service-account-issuer",
            format!("https://kubernetes.default.svc.{}", cluster.networking.dns_domain),
        ),
        ("service-account-key-file", pki("sa.pub")),
        ("service-account-signing-key-file", pki("sa.key")),
        ("service-cluster-ip-range", cluster.networking.service_subnet.clone()),
        ("tls-cert-file", pki("apiserver.crt")),
        ("tls-private-key-file", pki("apiserver.key")),
    ]);
    flags.extend(etcd_flags(configuration));
    let extra = &cluster.api_server.component.extra_args;
    // A file of authorizers takes the place of the list of modes.
    if argument_value(extra, "authorization-config").is_none() {
        flags.push(Argument::new("authorization-mode", authorization_modes(extra)));
    }
    flags
}

fn etcd_flags(configuration: &Configuration) -> Vec<Argument> {
    let cluster = &configuration.cluster;
    let pki = |file: &str| format!("{}/{file}", cluster.certificates_dir);
    match &cluster.etcd {
        Etcd::External(etcd) => {
            let mut flags = defaults([("etcd-servers", etcd.endpoints.join(","))]);
            if !etcd.ca_file.is_empty() {
                flags.push(Argument::new("etcd-cafile", etcd.ca_file.clone()));
            }
            if !etcd.cert_file.is_empty() && !etcd.key_file.is_empty() {
                flags.push(Argument::new("etcd-certfile", etcd.cert_file.clone()));
                flags.push(Argument::new("etcd-keyfile", etcd.key_file.clone()));
            }
            flags
        }
        Etcd::Local(etcd) => {
            let own = match configuration.node.advertise_address {
                IpAddr::V4(_) => "https://127.0.0.1:2379",
                IpAddr::V6(_) => "https://[::1]:2379",
            };
            let servers = argument_value(&etcd.extra_args, "advertise-client-urls").unwrap_or(own);
            defaults([
                ("etcd-cafile", pki("etcd/ca.crt")),
                ("etcd-certfile", pki("apiserver-etcd-client.crt")),
                ("etcd-keyfile", pki("apiserver-etcd-client.key")),
                ("etcd-servers", servers.to_owned()),
            ])
        }
    }
}

/// The user's modes that exist; the default when there is none.
fn authorization_modes(extra: &[Argument]) -> String {
    let modes: Vec<&str> = argument_value(extra, "authorization-mode")
        .unwrap_or_default()
        .split(',')
        .filter(|mode| AUTHORIZATION_MODES.contains(mode))
        .collect();
    if modes.is_empty() { "Node,RBAC".to_owned() } else { modes.join(",") }
}
