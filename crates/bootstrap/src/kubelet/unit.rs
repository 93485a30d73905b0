use crate::configuration::Configuration;
use crate::expand::Facts;

/// The path of systemd's unit for the kubelet.
pub const UNIT_PATH: &str = "/etc/systemd/system/kubelet.service";
/// The path of the addition to it that takes the node's own flags.
pub const DROP_IN_PATH: &str = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf";

/// The path of the addition to a package's unit that names the program.
pub const PROGRAM_DROP_IN_PATH: &str = "/etc/systemd/system/kubelet.service.d/20-slipway.conf";

const DEFAULT_PROGRAM: &str = "/usr/bin/kubelet";

fn program(facts: &Facts) -> &str {
    facts.kubelet.as_deref().unwrap_or(DEFAULT_PROGRAM)
}

/// A unit for the kubelet, for hosts where no package brought one.
#[must_use]
pub fn unit(facts: &Facts) -> String {
    format!(
        "[Unit]\n\
         Description=kubelet: the Kubernetes node agent\n\
         Documentation=https://kubernetes.io/docs/\n\
         Wants=network-online.target\n\
         After=network-online.target\n\
         \n\
         [Service]\n\
         ExecStart={}\n\
         Restart=always\n\
         StartLimitInterval=0\n\
         RestartSec=10\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n",
        program(facts)
    )
}

/// The addition to the kubelet's unit: where it finds its kubeconfigs, its configuration and its flags.
#[must_use]
pub fn drop_in(facts: &Facts) -> String {
    format!(
        "[Service]\n\
         Environment=\"KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig={} --kubeconfig={}\"\n\
         Environment=\"KUBELET_CONFIG_ARGS=--config={}\"\n\
         EnvironmentFile=-{}\n\
         EnvironmentFile=-/etc/default/kubelet\n\
         {}",
        super::BOOTSTRAP_KUBECONFIG_PATH,
        super::KUBECONFIG_PATH,
        super::CONFIG_PATH,
        super::FLAGS_PATH,
        start(facts)
    )
}

/// A drop-in for a packaged unit, which has another drop-in for the node's flags: it changes only the
/// program.
#[must_use]
pub fn program_drop_in(facts: &Facts) -> String {
    format!("[Service]\n{}", start(facts))
}

/// The lines of a unit that start the kubelet with the variables of [`drop_in`], which packages call by the same names.
fn start(facts: &Facts) -> String {
    format!(
        "ExecStart=\nExecStart={} $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n",
        program(facts)
    )
}

/// The kubelet's whole command line, for hosts where nothing reads units.
#[must_use]
pub fn command(configuration: &Configuration, facts: &Facts) -> Vec<String> {
    let mut command = vec![
        program(facts).to_owned(),
        format!("--bootstrap-kubeconfig={}", super::BOOTSTRAP_KUBECONFIG_PATH),
        format!("--kubeconfig={}", super::KUBECONFIG_PATH),
        format!("--config={}", super::CONFIG_PATH),
    ];
    command.extend(super::arguments(configuration, facts));
    command
}
