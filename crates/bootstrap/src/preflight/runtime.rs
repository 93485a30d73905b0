//! The container runtime, the kubelet and services around them.

use super::facts::{Facts, Runtime};
use super::questions::{Purpose, Questions};
use super::{Checks, when};

pub(super) fn check(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    if questions.purpose == Purpose::Reset {
        return;
    }
    let firewall = facts.services.get("firewalld").is_some_and(|service| service.active);
    let ports: Vec<String> = questions.ports.iter().map(|port| port.number.to_string()).collect();
    let message = format!("firewalld is at work; ports {} have to be open", ports.join(", "));
    checks.warning("Firewalld", when(firewall, message, "open them with firewall-cmd, or stop firewalld"));
    container_runtime(questions, facts, checks);
    systemd(questions, facts, checks);
    kubelet(questions, facts, checks);
}

/// A kubelet that groups processes by systemd ends at once where that does not run.
fn systemd(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let of_runtime =
        facts.runtime.as_ref().and_then(|runtime| runtime.as_ref().ok()?.cgroup_driver.as_deref());
    let by_systemd = questions.cgroup_driver.as_deref() == Some("systemd") && of_runtime != Some("cgroupfs");
    let message =
        "the kubelet groups processes by systemd, which does not run on this host: it would end at once";
    let hint = format!("{}, or use a host that runs systemd", set_driver("cgroupfs"));
    checks.error("CgroupDriver", when(by_systemd && facts.systemd == Some(false), message, hint));
}

/// The fields that set the cgroup driver of kubelets.
fn set_driver(driver: &str) -> String {
    format!(
        "set `spec.kubelet.extraConfig.cgroupDriver: {driver}` of the Cluster (`cgroupDriver: {driver}` in the KubeletConfiguration of \
         `slipway node`)"
    )
}

fn container_runtime(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let hint = "start a container runtime, or name its socket with --cri-socket";
    let runtime = match &facts.runtime {
        None => return,
        Some(Err(reason)) => {
            checks.error(
                "CRI",
                Some((format!("the container runtime does not answer: {reason}"), hint.to_owned())),
            );
            return;
        }
        Some(Ok(runtime)) => runtime,
    };
    let message = format!("{} is not ready: {}", runtime.version, runtime.not_ready.join("; "));
    checks.error("CRI", when(!runtime.not_ready.is_empty(), message, "look at the runtime's log"));
    if let (Some(wanted), Some(found)) = (&questions.cgroup_driver, &runtime.cgroup_driver) {
        let name = match runtime.version.as_str() {
            "" => "the container runtime",
            version => version,
        };
        let message = format!("the kubelet groups processes by {wanted} and {name} by {found}");
        let hint = format!("{}, or configure the runtime for {wanted}", set_driver(found));
        checks.error("CgroupDriver", when(wanted != found, message, hint));
    }
    images(questions, runtime, checks);
}

/// Images that have to be there or be fetched.
pub(super) fn images(questions: &Questions, runtime: &Runtime, checks: &mut Checks) {
    let missing: Vec<String> = questions
        .images
        .iter()
        .filter(|image| !runtime.images.contains(*image))
        .map(|image| match runtime.missing_images.get(image) {
            Some(reason) => format!("{image} ({reason})"),
            None => image.clone(),
        })
        .collect();
    let message = format!("images are missing: {}", missing.join(", "));
    let hint = "check that the registry can be reached, name another with imageRepository, or import the images; `slipway node config images list` lists all";
    checks.error("ImagePull", when(!missing.is_empty(), message, hint));
}

/// How many minor versions a kubelet may be behind its API server.
const KUBELET_BEHIND: u64 = 3;

fn kubelet(questions: &Questions, facts: &Facts, checks: &mut Checks) {
    let installed = facts.kubelet.as_ref().filter(|_| questions.kubelet_version.is_none());
    match (installed, &questions.kubernetes_version) {
        (Some(Err(reason)), _) => {
            let message = format!("the kubelet's version cannot be found out: {reason}");
            checks.error("KubeletVersion", Some((message, "install the kubelet".to_owned())));
        }
        (Some(Ok(found)), Some(wanted)) => {
            checks.error("KubeletVersion", kubelet_version(found, wanted));
        }
        _ => {}
    }
    if let Some(service) = facts.services.get("kubelet") {
        let message = if service.exists {
            "the kubelet's service does not begin with the host"
        } else {
            "there is no service for the kubelet"
        };
        let hint = "`systemctl enable kubelet.service`, or install the package that has it";
        checks.warning("Service-Kubelet", when(!service.enabled, message, hint));
    }
}

fn kubelet_version(found: &str, wanted: &str) -> Option<(String, String)> {
    let parse = |text: &str| semver::Version::parse(text.trim_start_matches('v')).ok();
    let (Some(kubelet), Some(cluster)) = (parse(found), parse(wanted)) else {
        let message = format!("the kubelet's version `{found}` cannot be compared with `{wanted}`");
        return Some((message, "install a released kubelet".to_owned()));
    };
    let newer = (kubelet.major, kubelet.minor) > (cluster.major, cluster.minor);
    let older = kubelet.major < cluster.major || kubelet.minor + KUBELET_BEHIND < cluster.minor;
    let message = if newer {
        format!("the kubelet {found} is newer than the control plane {wanted}")
    } else {
        format!(
            "the kubelet {found} is more than {KUBELET_BEHIND} minor versions behind the control plane {wanted}"
        )
    };
    when(newer || older, message, format!("install a kubelet of {}.{}", cluster.major, cluster.minor))
}
