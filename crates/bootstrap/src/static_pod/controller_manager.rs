use serde_json::{Value, json};

use super::arguments::{command_line, defaults};
use super::pod::{Parts, environment, pod};
use super::probe::{Place, reachable};
use super::volume::Volumes;
use crate::configuration::{Argument, Configuration, argument_value};
use crate::expand::Facts;
use crate::version::Images;

const KUBECONFIG: &str = "/etc/kubernetes/controller-manager.conf";
const FLEX_VOLUMES: &str = "/usr/libexec/kubernetes/kubelet-plugins/volume/exec";

/// The static pod of the controller manager.
#[must_use]
pub fn controller_manager(configuration: &Configuration, facts: &Facts) -> Value {
    let cluster = &configuration.cluster;
    let component = &cluster.controller_manager;
    let extra = &component.extra_args;
    let mut volumes = Volumes::default();
    volumes.folder("k8s-certs", &cluster.certificates_dir, true);
    volumes.file("kubeconfig", KUBECONFIG);
    // Drivers put their sockets there, so it may be written to.
    let flex_volumes = argument_value(extra, "flex-volume-plugin-dir").unwrap_or(FLEX_VOLUMES);
    volumes.folder("flexvolume-dir", flex_volumes, false);
    volumes.ca_certificates(facts);
    volumes.extra(&component.extra_volumes);
    let host = argument_value(extra, "bind-address").map_or("127.0.0.1", reachable);
    let place = Place { host, scheme: "HTTPS" };
    pod(Parts {
        name: "kube-controller-manager",
        image: Images::of(cluster).controller_manager,
        command: command_line(flags(configuration, facts), extra),
        annotation: None,
        requests: json!({"cpu": "200m"}),
        port: 10257,
        liveness: place.liveness("/healthz"),
        readiness: None,
        startup: place.startup("/healthz", configuration.node.timeouts.control_plane_component_health_check),
        environment: environment(&facts.proxy_environment, &component.extra_envs),
        mounts: volumes.mounts(),
        volumes: volumes.volumes(),
    })
}

fn flags(configuration: &Configuration, facts: &Facts) -> Vec<Argument> {
    let cluster = &configuration.cluster;
    let networking = &cluster.networking;
    let pki = |file: &str| format!("{}/{file}", cluster.certificates_dir);
    let text = ToOwned::to_owned;
    // Without the CA's key nothing can be signed here: the signing controllers then do not start.
    let signing = |file: &str| if facts.external_ca() { String::new() } else { pki(file) };
    let mut flags = defaults([
        ("authentication-kubeconfig", text(KUBECONFIG)),
        ("authorization-kubeconfig", text(KUBECONFIG)),
        ("bind-address", text("127.0.0.1")),
        ("client-ca-file", pki("ca.crt")),
        ("cluster-signing-cert-file", signing("ca.crt")),
        ("cluster-signing-key-file", signing("ca.key")),
        ("controllers", text("*,bootstrapsigner,tokencleaner")),
        ("kubeconfig", text(KUBECONFIG)),
        ("leader-elect", text("true")),
        ("requestheader-client-ca-file", pki("front-proxy-ca.crt")),
        ("root-ca-file", pki("ca.crt")),
        ("service-account-private-key-file", pki("sa.key")),
        ("use-service-account-credentials", text("true")),
    ]);
    if !networking.pod_subnet.is_empty() {
        flags.extend(defaults([
            ("allocate-node-cidrs", text("true")),
            ("cluster-cidr", networking.pod_subnet.clone()),
        ]));
        if !networking.service_subnet.is_empty() {
            flags.push(Argument::new("service-cluster-ip-range", networking.service_subnet.clone()));
        }
    }
    if !cluster.name.is_empty() {
        flags.push(Argument::new("cluster-name", cluster.name.clone()));
    }
    flags
}
