//! The kubelet's files on a node, and its configuration in the cluster.

mod configuration;
mod flags;
mod unit;

pub use configuration::{config_file, config_map_text, generated, instance_config};
pub use flags::{arguments, flags_file};
pub use unit::{DROP_IN_PATH, PROGRAM_DROP_IN_PATH, UNIT_PATH, command, drop_in, program_drop_in, unit};

use crate::configuration::{Argument, Configuration, argument_value};

/// The folder of the kubelet's own files.
pub const FOLDER: &str = "/var/lib/kubelet";
/// The path of its configuration.
pub const CONFIG_PATH: &str = "/var/lib/kubelet/config.yaml";
/// The path of what in its configuration is this node's own.
pub const INSTANCE_CONFIG_PATH: &str = "/var/lib/kubelet/instance-config.yaml";
/// The path of its flags.
pub const FLAGS_PATH: &str = "/var/lib/kubelet/kubeadm-flags.env";
/// The path of the kubeconfig with the token, from which it gets its own.
pub const BOOTSTRAP_KUBECONFIG_PATH: &str = "/etc/kubernetes/bootstrap-kubelet.conf";
/// The path of its kubeconfig.
pub const KUBECONFIG_PATH: &str = "/etc/kubernetes/kubelet.conf";

/// The URL that tells whether the kubelet is healthy, by its configuration.
#[must_use]
pub fn health_url(configuration: &Configuration) -> String {
    let setting = |key: &str| configuration.kubelet.as_ref().and_then(|settings| settings.get(key));
    let address = setting("healthzBindAddress").and_then(|value| value.as_str()).unwrap_or("127.0.0.1");
    let port = setting("healthzPort").and_then(serde_json::Value::as_u64).unwrap_or(10248);
    if address.contains(':') {
        format!("http://[{address}]:{port}/healthz")
    } else {
        format!("http://{address}:{port}/healthz")
    }
}

/// Sets up kubelet and controller manager for a cloud controller that runs as a program of its own: the kubelet
/// registers with the taint that waits for it, and neither asks a cloud itself.
pub fn use_external_cloud_provider(configuration: &mut Configuration) {
    let name = "cloud-provider";
    for arguments in
        [&mut configuration.node.kubelet_extra_args, &mut configuration.cluster.controller_manager.extra_args]
    {
        if argument_value(arguments, name).is_none() {
            arguments.push(Argument::new(name, "external"));
        }
    }
}

#[cfg(test)]
mod tests;
