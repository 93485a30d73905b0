//! The checks before a host becomes a node: those of kubeadm, and one for data of another etcd.
//!
//! For a host without an agent, one script reads all facts. A host with an agent is a node or becomes one,
//! and its agent reports the paths that are taken.

mod images;
mod read;
mod script;

use std::collections::{BTreeMap, BTreeSet};

use slipway_bootstrap::preflight::{ExpectedFile, Facts, Questions, Report, Severity, check, check_images};
use slipway_provider_node::images_of_pod;
use slipway_resource::provider::{PreflightFinding, PreflightItem};
use slipway_resource::{Address, ErrorClass, Value};

use crate::schema::{CLAIM, HOST};

pub(crate) use images::alone as about_images;
pub(crate) use read::{Read, read};
pub(crate) use script::{of_images, script};

/// The objects that a plan creates or changes on one host.
#[derive(Default)]
pub(crate) struct Making {
    /// The objects inside the host, without claim and agent.
    pub inside: Vec<PreflightItem>,
    /// The images of the static pods that the plan creates or changes.
    pub images: BTreeSet<String>,
    /// Whether the plan claims the host.
    pub claims: bool,
    /// Whether the plan installs an agent.
    pub installs: bool,
}

impl Making {
    /// The objects of a plan, by host.
    pub fn by_host(items: Vec<PreflightItem>, is_inside: impl Fn(&str) -> bool) -> BTreeMap<String, Self> {
        let mut hosts: BTreeMap<String, Self> = BTreeMap::new();
        for item in items {
            let Some(host) = item.desired.get(HOST).and_then(Value::as_str) else { continue };
            let making = hosts.entry(host.to_owned()).or_default();
            if let Some(manifest) = item.desired.get("manifest").and_then(Value::as_str) {
                making.images.extend(images_of_pod(manifest));
            }
            if item.action != "create" {
                continue;
            }
            match item.address.kind() {
                CLAIM => making.claims = true,
                kind if is_inside(kind) => making.inside.push(item),
                _ => making.installs = true,
            }
        }
        hosts
    }

    /// Whether the host becomes a node by this plan, and is none yet.
    pub fn is_new_node(&self, host: &str) -> bool {
        let kubelet = Address::new("service", format!("{host}/kubelet"));
        self.installs && self.inside.iter().any(|item| item.address == kubelet)
    }

    /// Files that must not be there: each would be written by this plan.
    fn files(&self) -> BTreeMap<&str, &Address> {
        let is_replaced = |item: &PreflightItem, name: &str| {
            item.desired.get(name).and_then(Value::as_bool).unwrap_or_default()
        };
        self.inside
            .iter()
            .filter(|item| item.address.kind() != "directory")
            .filter(|item| !is_replaced(item, "keep_existing") && !is_replaced(item, "replace_existing"))
            .flat_map(|item| {
                let paths = ["path", "private_path"]
                    .into_iter()
                    .filter_map(|name| item.desired.get(name).and_then(Value::as_str));
                paths.map(|path| (path, &item.address))
            })
            .filter(|(path, _)| path.starts_with("/etc/kubernetes/") || path.starts_with("/var/lib/kubelet/"))
            .collect()
    }
}

/// The questions about a host, with those about the files that the plan writes.
pub(crate) fn questions(of_cluster: Option<&Questions>, making: &Making) -> Questions {
    let mut questions = of_cluster.cloned().unwrap_or_default();
    for path in making.files().into_keys() {
        if questions.absent_files.iter().all(|file| file.path != path) {
            questions.absent_files.push(ExpectedFile { path: path.to_owned() });
        }
    }
    for image in &making.images {
        if !questions.images.contains(image) {
            questions.images.push(image.clone());
        }
    }
    // Settings that the plan itself sets are not checked before.
    let set: BTreeSet<String> = making
        .inside
        .iter()
        .filter(|item| item.address.kind() == "sysctl")
        .filter_map(|item| Some(item.desired.get("name")?.as_str()?.replace('.', "/")))
        .collect();
    questions.kernel_settings.retain(|setting| !set.contains(&setting.path));
    questions
}

/// The obstacles on a host. Each finding has the name of its check and a hint.
pub(crate) fn findings(
    host: &str,
    making: &Making,
    questions: &Questions,
    facts: &Facts,
    ignored: &[String],
) -> Vec<PreflightFinding> {
    findings_of(check(questions, facts), host, making, facts, ignored)
}

/// The images that are missing on a host which is a node already.
pub(crate) fn missing_images(
    host: &str,
    making: &Making,
    questions: &Questions,
    facts: &Facts,
    ignored: &[String],
) -> Vec<PreflightFinding> {
    findings_of(check_images(questions, facts), host, making, facts, ignored)
}

fn findings_of(
    mut report: Report,
    host: &str,
    making: &Making,
    facts: &Facts,
    ignored: &[String],
) -> Vec<PreflightFinding> {
    report.ignore(ignored);
    // This finding cannot be ignored: the agent would refuse the data after the other machines were changed.
    let of_data: BTreeSet<String> =
        facts.etcd_data.keys().map(|path| format!("DirAvailable-{}", path.replace('/', "-"))).collect();
    for finding in
        report.findings.iter_mut().filter(|finding| finding.ignored && of_data.contains(&finding.check))
    {
        finding.severity = Severity::Error;
        finding.message.push_str("; this cannot be ignored");
    }
    let files = making.files();
    let is_a_node = facts
        .paths
        .get("/etc/kubernetes/kubelet.conf")
        .is_some_and(|state| *state == slipway_bootstrap::preflight::PathState::File);
    let of_file = |check: &str| {
        let path = check.strip_prefix("FileAvailable-")?;
        files.iter().find(|(file, _)| file.replace('/', "-") == path).map(|(_, address)| (*address).clone())
    };
    let finding = |finding: &slipway_bootstrap::preflight::Finding| {
        let in_place = finding.check.starts_with("FileAvailable") || finding.check.starts_with("Port-");
        let hint = match finding.check.as_str() {
            "AdvertiseAddress" => format!("correct `addresses` in the Host document {host}"),
            "CRI" => "start a container runtime on the host".to_owned(),
            "ImagePull" => "check `kubernetesVersion` and `assets.imageRegistry` in the spec, let the host reach the registry, or import the images there (`ctr -n k8s.io images import FILE`)".to_owned(),
            "NumCPU" | "Mem" => format!(
                "use a larger machine, or accept it with `ignore_preflight_errors: [{}]` in the provider's `config`",
                finding.check
            ),
            _ if in_place && is_a_node => {
                "a host that is a node of a running cluster is taken over with `slipway adopt`; `kubeadm reset` on the host removes that node for good".to_owned()
            }
            _ if in_place => {
                "stop what is in the way on the host, or move its files aside with `mv`".to_owned()
            }
            _ => finding.hint.clone(),
        };
        PreflightFinding {
            address: of_file(&finding.check).or_else(|| Some(Address::new(CLAIM, host))),
            class: ErrorClass::Conflict,
            message: format!("{host}: {}: {}", finding.check, on_host(&finding.message)),
            hint: Some(hint),
        }
    };
    report.findings.iter().filter(|found| found.severity == Severity::Error).map(finding).collect()
}

/// Rewrites the message of a check that was written for users on the host itself.
fn on_host(message: &str) -> String {
    message
        .replace("of this host", "of the host")
        .replace("cannot be resolved here", "cannot be resolved on the host")
        .replace("that of the cluster's API", "that of the machine that plans")
}

/// Keeps each hint once, at its first finding.
pub(crate) fn hints_once(findings: &mut [PreflightFinding]) {
    let mut known = BTreeSet::new();
    for finding in findings {
        finding.hint = finding.hint.take().filter(|hint| known.insert(hint.clone()));
    }
}

#[cfg(test)]
mod tests;
