//! The change of one stage, as part of a request.

use std::collections::{BTreeMap, BTreeSet};

use slipway_bootstrap::from_cluster::{ENCRYPTION_CONFIGURATION, RotatedKey, Rotation, Stage};
use slipway_generated_secrets::{CROSS_CERTIFICATE, ENCRYPTION_KEY, KEYPAIR};
use slipway_plan::{ChangeAction, Plan, Snapshot};
use slipway_resource::provider::{Catalog, ExpandNote};
use slipway_resource::{Address, Desired};

use crate::composition;
use crate::error::Error;
use crate::opened::Opened;

/// A change from one stage of a rotation to another one beside it.
#[derive(Clone, Debug)]
pub(crate) struct RotationChange {
    /// The key.
    pub subject: RotatedKey,
    /// The stage that the state pins.
    pub pinned: Rotation,
    /// The stage in which machines are before.
    pub from: Rotation,
    /// The stage that the plan brings and pins.
    pub to: Rotation,
    /// The fingerprints of keys in files that the plan may overwrite.
    pub overwrites: BTreeSet<String>,
}

impl RotationChange {
    /// Refuses a state that pins another stage than when the change was decided.
    pub fn check(&self, cluster: &str, pinned: &BTreeMap<String, Catalog>) -> Result<(), Error> {
        if rotation(pinned, self.subject)? == self.pinned {
            return Ok(());
        }
        Err(Error::RotationMoved { cluster: cluster.to_owned(), subject: self.subject.name() })
    }

    /// The pinned choices of the providers, with a stage of the rotation.
    pub fn pin(
        &self,
        mut catalogs: BTreeMap<String, Catalog>,
        rotation: Rotation,
    ) -> Result<BTreeMap<String, Catalog>, Error> {
        for catalog in catalogs.values_mut() {
            let Some(mut placement) = composition::placement(catalog)? else { continue };
            // An encryption key that was never rotated leaves no trace. Pods have been restarted for a key of service accounts.
            if self.subject == RotatedKey::EncryptionKey && rotation == Rotation::default() {
                placement.rotations.remove(&self.subject);
            } else {
                placement.rotations.insert(self.subject, rotation);
            }
            *catalog = composition::with_placement(catalog, &placement)?;
        }
        Ok(catalogs)
    }

    /// The pinned choices that the stage is compared with. The plan changes what differs from any of them: from those of the stage
    /// before, and from those that the state has pinned. The latter are others if machines are not in the stage that is pinned, and
    /// before the first rotation of a key, which adds resources and settings that the cluster keeps in all later stages.
    pub fn starts(
        &self,
        pinned: &BTreeMap<String, Catalog>,
    ) -> Result<Vec<BTreeMap<String, Catalog>>, Error> {
        let mut starts = vec![self.pin(pinned.clone(), self.from)?];
        if starts.iter().all(|start| start != pinned) {
            starts.push(pinned.clone());
        }
        Ok(starts)
    }

    /// What the plan does, for its reader.
    pub fn note(&self) -> ExpandNote {
        let back = format!("`slipway rotate {} --back` goes back", self.subject.name());
        let message = match (self.to.generation > self.pinned.generation, self.to == self.pinned) {
            (true, _) => {
                format!(
                    "last stage: {}. There is no way back. {}",
                    last(self.subject),
                    after_last(self.subject)
                )
            }
            (_, true) => {
                format!(
                    "machines are brought to the stage that the others have reached ({})",
                    stage(self.subject, self.to)
                )
            }
            _ => match before_next(self.subject, self.to.stage) {
                Some(task) => format!("{}; {back}. {task}", stage(self.subject, self.to)),
                None => format!("{}; {back}", stage(self.subject, self.to)),
            },
        };
        ExpandNote { field: format!("rotation of the {}", self.subject.name()), message }
    }
}

/// What a stage means.
const fn stage(subject: RotatedKey, rotation: Rotation) -> &'static str {
    match (rotation.stage, subject) {
        (Stage::Rest, RotatedKey::EncryptionKey | RotatedKey::SaKey) => "there is one key",
        (Stage::Rest, RotatedKey::KubernetesCa | RotatedKey::FrontProxyCa | RotatedKey::EtcdCa) => {
            "there is one authority"
        }
        (Stage::Added, RotatedKey::EncryptionKey | RotatedKey::SaKey) => {
            "stage 1 of 3: all API servers accept the new key too, and use the old one"
        }
        (Stage::Used, RotatedKey::EncryptionKey | RotatedKey::SaKey) => {
            "stage 2 of 3: all API servers use the new key, and accept the old one too"
        }
        (Stage::Added, RotatedKey::KubernetesCa) => {
            "stage 1 of 3: API servers, kubelets and kubeconfigs trust the new authority too, and pods get both. API servers, controller \
             managers, schedulers and kubelets are restarted on one machine after the other"
        }
        (Stage::Used, RotatedKey::KubernetesCa) => {
            "stage 2 of 3: the certificates of API servers, kubelets and kubeconfigs are signed by the new authority; both authorities are \
             trusted. API servers also send the certificate of the new authority that the old one has signed, for clients that trust the \
             old one alone"
        }
        (Stage::Added, RotatedKey::FrontProxyCa) => {
            "stage 1 of 3: API servers accept the new authority too, and publish it for aggregated APIs"
        }
        (Stage::Used, RotatedKey::FrontProxyCa) => {
            "stage 2 of 3: API servers present certificates of the new authority to aggregated APIs; both authorities are accepted"
        }
        (Stage::Added, RotatedKey::EtcdCa) => {
            "stage 1 of 3: members of etcd and API servers accept the new authority too. They are restarted on one control plane after \
             the other"
        }
        (Stage::Used, RotatedKey::EtcdCa) => {
            "stage 2 of 3: the certificates of etcd and of its clients are signed by the new authority; both authorities are accepted"
        }
    }
}

/// What people do before the next stage: clients that Slipway does not manage trust the authority too.
const fn before_next(subject: RotatedKey, stage: Stage) -> Option<&'static str> {
    match (subject, stage) {
        (RotatedKey::KubernetesCa, Stage::Added) => Some(
            "Before stage 3, restart pods that use the API and do not read their authorities again, and give both authorities to clients \
             outside the cluster, as with `slipway kubeconfig`. Older pods are listed before stage 2",
        ),
        (RotatedKey::KubernetesCa, Stage::Used) => Some(
            "Before stage 3, give clients with certificates of the old authority new ones, as with `slipway kubeconfig`",
        ),
        (RotatedKey::FrontProxyCa, Stage::Added) => Some(
            "Before stage 2, restart aggregated APIs that do not watch the ConfigMap kube-system/extension-apiserver-authentication",
        ),
        (RotatedKey::FrontProxyCa, Stage::Used) => Some(
            "Before stage 3, give proxies that use a certificate of this authority one of the new authority",
        ),
        (RotatedKey::EtcdCa, Stage::Added) => Some(
            "Before stage 2, give both authorities to clients of etcd that Slipway does not manage, such as networks of pods",
        ),
        (RotatedKey::EtcdCa, Stage::Used) => {
            Some("Before stage 3, give these clients of etcd certificates of the new authority")
        }
        (RotatedKey::EncryptionKey | RotatedKey::SaKey, _) | (_, Stage::Rest) => None,
    }
}

/// What the last stage does.
const fn last(subject: RotatedKey) -> &'static str {
    match subject {
        RotatedKey::EncryptionKey | RotatedKey::SaKey => "the old key is removed and deleted",
        RotatedKey::KubernetesCa => {
            "the old authority is removed from API servers, kubelets, kubeconfigs and from what pods get, and its key is deleted. API \
             servers, controller managers, schedulers and kubelets are restarted on one machine after the other"
        }
        RotatedKey::FrontProxyCa => {
            "the old authority is removed from API servers and from what they publish, and its key is deleted"
        }
        RotatedKey::EtcdCa => {
            "the old authority is removed. Members of etcd and API servers are restarted on one control plane after the other"
        }
    }
}

const fn after_last(subject: RotatedKey) -> &'static str {
    match subject {
        RotatedKey::EncryptionKey => {
            "Snapshots of etcd from before stage 2 cannot be read without the old key; keep a copy of `secrets/` of the cluster in the state \
             store for them"
        }
        RotatedKey::SaKey => {
            "Tokens that were signed with the old key are refused afterwards: those in Secrets of the type \
             kubernetes.io/service-account-token, and bound tokens that their pods have not read again since stage 2. The kubelet \
             renews a bound token when 80 percent of its time is over, or after 24 hours"
        }
        RotatedKey::KubernetesCa => {
            "Clients with a certificate of the old authority are refused afterwards, and clients that trust the old authority alone refuse \
             the API"
        }
        RotatedKey::FrontProxyCa => {
            "An aggregated API that does not watch the ConfigMap kube-system/extension-apiserver-authentication, and was started before \
             stage 1, refuses requests afterwards: restart it before"
        }
        RotatedKey::EtcdCa => {
            "Clients of etcd that Slipway does not manage, such as networks of pods that keep their data in etcd, need the new authority \
             and certificates of it before. The old private key stays in the state, and opens older snapshots only"
        }
    }
}

/// How far a key is rotated, by the pinned choices of the providers.
pub(crate) fn rotation(catalogs: &BTreeMap<String, Catalog>, subject: RotatedKey) -> Result<Rotation, Error> {
    for catalog in catalogs.values() {
        if let Some(placement) = composition::placement(catalog)? {
            return Ok(placement.rotation(subject));
        }
    }
    Ok(Rotation::default())
}

/// Whether a plan begins a rotation: it enters the first stage, and generates the new key. A plan that completes this stage after an
/// interruption finds the key.
pub(crate) fn begins(plan: &Plan, pinned: &BTreeMap<String, Catalog>) -> Result<bool, Error> {
    let generates_key = plan.changes.iter().any(|change| {
        change.action == ChangeAction::Create && [KEYPAIR, ENCRYPTION_KEY].contains(&change.address.kind())
    });
    if !generates_key {
        return Ok(false);
    }
    for subject in RotatedKey::ALL {
        let (from, to) = (rotation(pinned, subject)?, rotation(&plan.binding.catalogs, subject)?);
        if from.stage == Stage::Rest && to.stage == Stage::Added {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How far a key of a cluster is rotated.
pub(super) fn pinned(opened: &Opened, subject: RotatedKey) -> Result<Rotation, Error> {
    let nothing = BTreeMap::new();
    rotation(opened.prior().map_or(&nothing, |prior| &prior.catalogs), subject)
}

/// Refuses another plan than one of the rotation after a stage was interrupted: the state has a key that belongs to a stage which
/// is not complete, and the plan would delete it.
///
/// # Errors
/// [`Error::RotationInterrupted`].
pub(crate) fn check_interrupted(
    cluster: &str,
    prior: Option<&Snapshot>,
    desired: &[Desired],
) -> Result<(), Error> {
    let is_desired = |address: &Address| desired.iter().any(|desired| desired.address == *address);
    let records = prior.into_iter().flat_map(|prior| prior.resources.keys());
    let left = records.filter(|address| !is_desired(address)).find_map(subject_of);
    match left {
        Some(subject) => Err(interrupted(cluster, subject)),
        None => Ok(()),
    }
}

/// The error of a plan that would overwrite a key after a run was interrupted, while a rotation is under way; `None` if none is.
pub(crate) fn explained(cluster: &str, catalogs: &BTreeMap<String, Catalog>) -> Option<Error> {
    let is_under_way =
        |subject: &RotatedKey| rotation(catalogs, *subject).is_ok_and(|found| found.stage != Stage::Rest);
    let subject = RotatedKey::ALL.into_iter().find(is_under_way)?;
    Some(interrupted(cluster, subject))
}

fn interrupted(cluster: &str, subject: RotatedKey) -> Error {
    Error::RotationInterrupted { cluster: cluster.to_owned(), subject: subject.name() }
}

/// The rotation that a key of the state belongs to; `None` for a key that no rotation has made.
fn subject_of(address: &Address) -> Option<RotatedKey> {
    let is_later = |subject: &RotatedKey| {
        address.name().strip_prefix(subject.key_name()).is_some_and(|rest| rest.starts_with('-'))
    };
    match address.kind() {
        ENCRYPTION_CONFIGURATION => Some(RotatedKey::EncryptionKey),
        CROSS_CERTIFICATE => Some(RotatedKey::KubernetesCa),
        ENCRYPTION_KEY => Some(RotatedKey::EncryptionKey).filter(is_later),
        KEYPAIR => {
            RotatedKey::ALL.into_iter().filter(|subject| *subject != RotatedKey::EncryptionKey).find(is_later)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_bootstrap::from_cluster::expand;
    use slipway_cluster_input::ClusterInput;
    use slipway_spec::load_files;
    use slipway_spec::source::SourceFile;

    use super::*;
    use crate::version_change::brings;

    fn change(to: Rotation) -> RotationChange {
        RotationChange {
            subject: RotatedKey::EncryptionKey,
            pinned: Rotation::default(),
            from: Rotation::default(),
            to,
            overwrites: BTreeSet::new(),
        }
    }

    fn catalogs() -> BTreeMap<String, Catalog> {
        let placement = serde_json::json!({ "placement": { "machines": [], "elected": "a" }, "hosts": [] });
        BTreeMap::from([("hosts".to_owned(), Catalog::new(&placement).unwrap())])
    }

    #[test]
    fn a_stage_is_pinned_beside_the_other_choices() {
        let added = Rotation::default().next();
        let pinned = change(added).pin(catalogs(), added).unwrap();
        assert_eq!(rotation(&pinned, RotatedKey::EncryptionKey).unwrap(), added);
        assert_eq!(pinned["hosts"].data["placement"]["elected"], "a");
        assert!(change(added).check("a", &catalogs()).is_ok());
        assert_eq!(change(added).check("a", &pinned).unwrap_err().code(), Some("ROTATE0004"));
        let back = change(Rotation::default()).pin(pinned, Rotation::default()).unwrap();
        assert_eq!(back["hosts"].data, catalogs()["hosts"].data);
    }

    /// A cluster whose authority was never rotated has no trace of a rotation. All later stages have one: the first stage brings it.
    #[test]
    fn the_first_stage_changes_what_all_stages_have() {
        let text = "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nspec:\n  \
                    provider: {name: hosts}\n  kubernetesVersion: 1.34.4\n  controlPlane:\n    endpoint: { elected: {} }\n---\n\
                    apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {name: control-plane}\nspec:\n  \
                    role: controlPlane\n  size: { fixed: 1 }\n  hosts: { inventory: rack }\n";
        let loaded = load_files(vec![SourceFile::new("cluster.yaml", text)], &[]);
        let cluster: ClusterInput = (&loaded.clusters[0]).into();
        let machine = json!({
            "name": "cp-0", "pool": "control-plane", "address": "192.0.2.10", "founding": true,
        });
        let data = json!({ "placement": { "machines": [machine], "elected": "cp-0" }, "hosts": [] });
        let pinned = BTreeMap::from([("hosts".to_owned(), Catalog::new(&data).unwrap())]);
        let expanded = |catalogs: &BTreeMap<String, Catalog>| {
            let placement = composition::placement(&catalogs["hosts"]).unwrap().unwrap();
            expand(&cluster, &placement, &[]).unwrap().resources
        };
        let first =
            RotationChange { subject: RotatedKey::KubernetesCa, ..change(Rotation::default().next()) };
        let added = first.pin(pinned.clone(), first.to).unwrap();
        let to = expanded(&added);
        let starts = first.starts(&pinned).unwrap();
        let brought = starts.iter().flat_map(|start| brings(&expanded(start), &to));
        let brought: BTreeSet<String> = brought.map(|address| address.to_string()).collect();
        for address in ["kubernetes_object.ConfigMap/kube-system/kubeadm-config", "kubernetes_node.cp-0"] {
            assert!(brought.contains(address), "{brought:?}");
        }
        // The next stage starts where the first one has ended.
        let next = RotationChange { pinned: first.to, from: first.to, to: first.to.next(), ..first };
        assert_eq!(next.starts(&added).unwrap(), [added]);
    }

    #[test]
    fn the_last_stage_says_that_there_is_no_way_back() {
        let used = Rotation::default().next().next();
        let note = |to: Rotation| change(to).note().message;
        assert!(note(used).contains("--back"));
        let added = RotationChange { subject: RotatedKey::EtcdCa, ..change(Rotation::default().next()) };
        assert!(added.note().message.contains("--back` goes back. Before stage 2, give both authorities"));
        assert!(note(used.next()).contains("There is no way back"));
        for subject in RotatedKey::ALL {
            let note = RotationChange { subject, ..change(used.next()) }.note();
            assert!(note.message.starts_with("last stage: ") && note.field.ends_with(subject.name()));
        }
    }

    #[test]
    fn only_keys_of_rotations_belong_to_one() {
        let of = |address: &str| subject_of(&address.parse().unwrap());
        assert_eq!(of("encryption_key.at-rest"), None);
        assert_eq!(of("encryption_key.at-rest-2"), Some(RotatedKey::EncryptionKey));
        assert_eq!(of("encryption_configuration.at-rest-2-used"), Some(RotatedKey::EncryptionKey));
        assert_eq!(of("keypair.service-accounts"), None);
        assert_eq!(of("keypair.service-accounts-3"), Some(RotatedKey::SaKey));
        assert_eq!(of("keypair.kubernetes-ca"), None);
        assert_eq!(of("keypair.kubernetes-ca-2"), Some(RotatedKey::KubernetesCa));
        assert_eq!(of("cross_certificate.kubernetes-ca-2"), Some(RotatedKey::KubernetesCa));
        assert_eq!(of("keypair.etcd-ca"), None);
        assert_eq!(of("keypair.etcd-ca-2"), Some(RotatedKey::EtcdCa));
        assert_eq!(of("keypair.front-proxy-ca-2"), Some(RotatedKey::FrontProxyCa));
    }
}
