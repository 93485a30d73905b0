//! The kubelet's files, and its service.

use slipway_cluster_input::Profile;
use slipway_resource::{Address, Value};

use super::kubeconfigs::{KUBELET, ROTATED};
use super::phased::{Resources, refer};
use super::{Facts, InitSystem, Inputs, KubeletProgram};
use crate::configuration::Configuration;
use crate::kubelet;
use crate::patch::{PatchError, Patches};

const PHASE: &str = "kubelet-start";

/// The mode of files that every user of the host may read.
const OPEN: &str = "0644";
/// The mode of files for root alone.
const CLOSED: &str = "0600";

/// The kubelet's configuration and flags, and the service that runs it, after its kubeconfig.
pub(super) fn add(
    resources: &mut Resources,
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
    patches: &Patches,
    mut after: Vec<Address>,
) -> Result<Address, PatchError> {
    let program = inputs.kubelet.as_ref();
    let facts = &with_program(facts, program);
    after.extend(program.map(|program| fetched(resources, program)));
    let file = |path: &str, content: String, mode: &'static str| {
        vec![("path", Value::from(path)), ("content", content.into()), ("mode", mode.into())]
    };
    let mut triggers = Vec::new();
    // Named by their paths, so that it is seen when the kubelet runs with something else than they hold.
    let mut add = |resources: &mut Resources, name: &str, path: &'static str, content: String, mode| {
        let mut attributes = file(path, content, mode);
        attributes.push(("keep_previous", true.into()));
        if mode == CLOSED && path == kubelet::DROP_IN_PATH {
            // The one of a package in /etc, where there is one, comes back with a delete.
            attributes.push(("replace_existing", true.into()));
        }
        let address = resources.add(PHASE, "file", name, attributes, &[]);
        triggers.push((path, Value::reference(address, "sha256")));
    };
    let hardened = configuration.profile == Profile::Hardened;
    let config = kubelet::config_file(configuration, facts, patches)?;
    let mode = if configuration.profile.has_own_defaults() { CLOSED } else { OPEN };
    add(resources, "kubelet-config", kubelet::CONFIG_PATH, config, mode);
    add(resources, "kubelet-flags", kubelet::FLAGS_PATH, kubelet::flags_file(configuration, facts), OPEN);
    if facts.init_system == InitSystem::Systemd {
        let mode = if hardened { CLOSED } else { OPEN };
        if facts.kubelet_drop_in_missing || hardened {
            // In /etc it takes the place of one of the same name that a package has brought.
            add(resources, "kubelet-drop-in", kubelet::DROP_IN_PATH, kubelet::drop_in(facts), mode);
        } else if inputs.kubelet_is_named {
            let content = kubelet::program_drop_in(facts);
            add(resources, "kubelet-program", kubelet::PROGRAM_DROP_IN_PATH, content, mode);
        }
    }
    if let Some(instance) = kubelet::instance_config(configuration) {
        let attributes = file(kubelet::INSTANCE_CONFIG_PATH, instance, OPEN);
        after.push(resources.add(PHASE, "file", "kubelet-instance-config", attributes, &[]));
    }
    let manifests = vec![("path", crate::static_pod::MANIFESTS.into()), ("mode", "0700".into())];
    after.push(resources.add(PHASE, "directory", "manifests", manifests, &[]));
    after.extend(leftovers(resources));
    let mut attributes = vec![
        ("name", "kubelet".into()),
        ("running", true.into()),
        ("enabled", true.into()),
        ("restart_triggers", Value::map(triggers)),
    ];
    match facts.init_system {
        InitSystem::None => {
            attributes.push(("command", Value::list(kubelet::command(configuration, facts))));
            attributes.push(("environment", facts.kubelet_environment.clone().into()));
        }
        InitSystem::Systemd if facts.kubelet_unit_missing => {
            attributes.push(("unit", kubelet::unit(facts).into()));
        }
        InitSystem::Systemd | InitSystem::Openrc => {}
    }
    let timeout = configuration.node.timeouts.kubelet_health_check.get().as_secs();
    attributes.push(("ready_timeout_seconds", i64::try_from(timeout).unwrap_or(i64::MAX).into()));
    if !configuration.is_control_plane() {
        // On a control plane the static pods are waited for, and they need the kubelet: no time is lost there.
        attributes.push(("ready_url", kubelet::health_url(configuration).into()));
    }
    attributes.extend(program.map(|program| ("program_version", program.version.clone().into())));
    attributes.push(("steady_url", kubelet::health_url(configuration).into()));
    attributes.push(("steady_node", configuration.node.name.clone().into()));
    attributes.push(("steady_kubeconfig_path", KUBELET.into()));
    Ok(resources.add(PHASE, "service", "kubelet", attributes, &refer(&after)))
}

/// The facts of a host whose kubelet is the one that it fetches.
fn with_program(facts: &Facts, program: Option<&KubeletProgram>) -> Facts {
    let mut facts = facts.clone();
    if let Some(program) = program {
        facts.kubelet = Some(program.path.clone());
    }
    facts
}

/// The kubelet as a file that is fetched before anything uses it.
fn fetched(resources: &mut Resources, program: &KubeletProgram) -> Address {
    let attributes = vec![
        ("path", Value::from(program.path.as_str())),
        ("sha256", program.sha256.as_str().into()),
        ("urls", Value::list(program.urls.iter().map(String::as_str))),
        ("version", program.version.as_str().into()),
    ];
    let name = program.path.rsplit('/').next().unwrap_or_default();
    resources.add_made_by(PHASE, "program", name, attributes, "urls")
}

/// Files that the kubelet and the network of its pods will create: none is made now, and a reset removes
/// those that exist by then.
fn leftovers(resources: &mut Resources) -> [Address; 2] {
    let state = vec![("path", "/var/lib/kubelet".into())];
    let network = vec![
        ("name", "pods".into()),
        ("interfaces", Value::list(["cni0", "flannel.1", "flannel-v6.1", "kube-ipvs0"])),
        ("files", Value::list(["/run/flannel", "/etc/cni/net.d/10-flannel.conflist", "/var/lib/cni"])),
        ("chains", Value::list(["KUBE-", "FLANNEL-", "CNI-"])),
        ("tables", Value::list(["ip kube-proxy", "ip6 kube-proxy"])),
    ];
    let network = resources.add(PHASE, "network_state", "pods", network, &[]);
    [resources.add(PHASE, "kubelet_state", "kubelet", state, &[&network]), network]
}

/// Waits until the kubelet has a certificate that it renews itself; the token with which it came is removed.
pub(super) fn credentials(
    resources: &mut Resources,
    phase: &'static str,
    configuration: &Configuration,
    bootstrapped: bool,
    after: &[&Address],
) -> Address {
    let timeout = configuration.node.timeouts.tls_bootstrap.get().as_secs();
    let mut attributes = vec![
        ("name", "kubelet".into()),
        ("kubeconfig_path", KUBELET.into()),
        ("certificate_path", ROTATED.into()),
        ("timeout_seconds", i64::try_from(timeout).unwrap_or(i64::MAX).into()),
    ];
    if bootstrapped {
        attributes.push(("bootstrap_kubeconfig_path", kubelet::BOOTSTRAP_KUBECONFIG_PATH.into()));
    }
    resources.add(phase, "kubelet_credentials", "kubelet", attributes, after)
}
