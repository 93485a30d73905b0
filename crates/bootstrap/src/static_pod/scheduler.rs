use serde_json::{Value, json};

use super::arguments::{command_line, defaults};
use super::pod::{Parts, environment, pod};
use super::probe::{Place, reachable};
use super::volume::Volumes;
use crate::configuration::{Configuration, argument_value};
use crate::expand::Facts;
use crate::version::Images;

const KUBECONFIG: &str = "/etc/kubernetes/scheduler.conf";

/// The static pod of the scheduler.
#[must_use]
pub fn scheduler(configuration: &Configuration, facts: &Facts) -> Value {
    let cluster = &configuration.cluster;
    let component = &cluster.scheduler;
    let mut volumes = Volumes::default();
    volumes.file("kubeconfig", KUBECONFIG);
    volumes.extra(&component.extra_volumes);
    let host = argument_value(&component.extra_args, "bind-address").map_or("127.0.0.1", reachable);
    let place = Place { host, scheme: "HTTPS" };
    let flags = defaults([
        ("authentication-kubeconfig", KUBECONFIG.to_owned()),
        ("authorization-kubeconfig", KUBECONFIG.to_owned()),
        ("bind-address", "127.0.0.1".to_owned()),
        ("kubeconfig", KUBECONFIG.to_owned()),
        ("leader-elect", "true".to_owned()),
    ]);
    pod(Parts {
        name: "kube-scheduler",
        image: Images::of(cluster).scheduler,
        command: command_line(flags, &component.extra_args),
        annotation: None,
        requests: json!({"cpu": "100m"}),
        port: 10259,
        liveness: place.liveness("/livez"),
        readiness: Some(place.readiness("/readyz")),
        startup: place.startup("/livez", configuration.node.timeouts.control_plane_component_health_check),
        environment: environment(&facts.proxy_environment, &component.extra_envs),
        mounts: volumes.mounts(),
        volumes: volumes.volumes(),
    })
}
