//! Settings of a spec that guard data or show changes, and that a later version of the spec turns off.

use std::fmt;

use slipway_plan::{Mode, Plan};
use slipway_resource::provider::ExpandNote;
use slipway_spec::model::{Cluster, EtcdCluster, IgnoredChange};

/// Something that a spec guards or shows, and a later one does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Weakening {
    /// Plans neither show nor correct an attribute any more.
    Ignores(IgnoredChange),
    /// The cluster can be deleted.
    Unprotected,
    /// No backups of this etcd are made any more.
    NoBackups(String),
    /// The backups of this etcd are deleted with the cluster.
    BackupsNotKept(String),
}

/// What a spec gives up that the one before it has. Without one before, only changes that it hides count.
#[must_use]
pub fn weakened(before: Option<&Cluster>, after: &Cluster) -> Vec<Weakening> {
    let is_new =
        |ignored: &&IgnoredChange| before.is_none_or(|before| !before.ignore_changes.contains(ignored));
    let mut found: Vec<Weakening> =
        after.ignore_changes.iter().filter(is_new).cloned().map(Weakening::Ignores).collect();
    let Some(before) = before else { return found };
    if before.deletion_protection && !after.deletion_protection {
        found.push(Weakening::Unprotected);
    }
    found.extend(backups(before, after).map(|(_, weakening)| weakening));
    found
}

/// What a spec gives up of the backups of etcd, by the names of the clusters of etcd.
fn backups<'a>(before: &'a Cluster, after: &'a Cluster) -> impl Iterator<Item = (&'a str, Weakening)> {
    before.etcd.iter().filter(|etcd| etcd.backups.enabled).filter_map(move |old| {
        let new = after.etcd.iter().find(|etcd| etcd.name == old.name);
        Some((old.name.as_str(), of_backups(old, new)?))
    })
}

/// Notes on changes that plans neither show nor correct: all of them, or those of which the spec that was applied last does not say
/// so. Notes on changes that plans show and correct again, and on backups that the spec gives up.
pub(crate) fn notes(last: Option<&Cluster>, next: &Cluster) -> Vec<ExpandNote> {
    let is_new = |ignored: &IgnoredChange| last.is_some_and(|last| !last.ignore_changes.contains(ignored));
    let note = |(index, ignored): (usize, &IgnoredChange)| {
        let IgnoredChange { resource, attribute } = ignored;
        let message = match (resource.as_str(), attribute.as_str()) {
            ("*", "*") => {
                "every change of every resource is ignored: plans change nothing that exists".to_owned()
            }
            _ if is_new(ignored) => format!(
                "plans neither show nor correct {attribute} of {resource}; the spec that was applied last does not say so"
            ),
            _ => return None,
        };
        Some(ExpandNote { field: format!("ignoreChanges[{index}]"), message })
    };
    let is_dropped = |ignored: &&IgnoredChange| !next.ignore_changes.contains(ignored);
    let dropped = last.into_iter().flat_map(|last| &last.ignore_changes).filter(is_dropped);
    let dropped = dropped.map(|IgnoredChange { resource, attribute }| {
        let message = format!("plans show and correct {attribute} of {resource} again");
        ExpandNote { field: "ignoreChanges".to_owned(), message }
    });
    let given_up = last.into_iter().flat_map(|last| backups(last, next)).filter_map(|(etcd, weakening)| {
        let message = match weakening {
            Weakening::NoBackups(_) => format!("no backups of etcd {etcd} are made any more"),
            Weakening::BackupsNotKept(_) => {
                format!("the backups of etcd {etcd} are deleted with the cluster from now on")
            }
            Weakening::Ignores(_) | Weakening::Unprotected => return None,
        };
        Some(ExpandNote { field: format!("etcd[{etcd}].backups"), message })
    });
    next.ignore_changes.iter().enumerate().filter_map(note).chain(dropped).chain(given_up).collect()
}

/// A field by which the spec of a saved plan hides changes or gives up backups, and which no note of the plan names, as a sentence.
pub(crate) fn hidden(plan: &Plan, last: Option<&Cluster>, next: &Cluster) -> Option<String> {
    if plan.mode != Mode::Apply {
        return None;
    }
    let unsaid = notes(last, next).into_iter().find(|note| !plan.notes.contains(note))?;
    Some(format!("its spec has {}, and no note of the plan says so", unsaid.field))
}

fn of_backups(old: &EtcdCluster, new: Option<&EtcdCluster>) -> Option<Weakening> {
    // An etcd that is gone is a change of its own.
    let backups = &new?.backups;
    match (backups.enabled, old.backups.keep_on_delete, backups.keep_on_delete) {
        (false, _, _) => Some(Weakening::NoBackups(old.name.clone())),
        (true, true, false) => Some(Weakening::BackupsNotKept(old.name.clone())),
        (true, _, _) => None,
    }
}

impl fmt::Display for Weakening {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ignores(IgnoredChange { resource, attribute }) => {
                write!(formatter, "hide changes of {attribute} of {resource}")
            }
            Self::Unprotected => formatter.write_str("allow to delete the cluster"),
            Self::NoBackups(etcd) => write!(formatter, "make no backups of etcd {etcd}"),
            Self::BackupsNotKept(etcd) => write!(formatter, "delete backups of etcd {etcd} with the cluster"),
        }
    }
}

#[cfg(test)]
mod tests {
    use slipway_trust::{Policy, Settings};

    use super::*;
    use crate::spec::Specs;

    fn cluster(settings: &str) -> Cluster {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("spec.yaml");
        let text = format!(
            "apiVersion: slipway.dev/v1alpha1
kind: Cluster
metadata: {{name: demo}}
spec:
  provider: {{name: sim}}
  region: sim-1
  kubernetesVersion: 1.35.2
  zones: [sim-1a]
{settings}---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: {{name: control-plane}}
spec: {{role: controlPlane, machineType: sim.medium}}
"
        );
        std::fs::write(&file, text).unwrap();
        let specs =
            Specs::read(&Policy::new(Settings::default(), slipway_trust::Mode::Own), &[file]).unwrap();
        specs.clusters.into_iter().next().unwrap().cluster
    }

    #[test]
    fn what_is_given_up_is_named() {
        let etcd = |backups: &str| {
            format!(
                "  etcd: [{{name: main, members: [{{name: a, pool: control-plane}}], backups: {{{backups}}}}}]\n"
            )
        };
        let before =
            cluster(&format!("  deletionProtection: true\n{}", etcd("enabled: true, keepOnDelete: true")));
        let of = |settings: &str| -> Vec<String> {
            weakened(Some(&before), &cluster(settings)).iter().map(ToString::to_string).collect()
        };
        assert!(weakened(Some(&before), &before).is_empty());
        assert_eq!(
            of(&etcd("enabled: true, keepOnDelete: false")),
            ["allow to delete the cluster", "delete backups of etcd main with the cluster"]
        );
        let hidden = "  deletionProtection: true\n  ignoreChanges: [{resource: \"*\", attribute: tags}]\n";
        assert_eq!(
            of(&format!("{hidden}{}", etcd("enabled: false"))),
            ["hide changes of tags of *", "make no backups of etcd main"]
        );
        assert_eq!(weakened(None, &before), []);
        for (backups, message) in [
            ("enabled: false", "no backups of etcd main are made any more"),
            (
                "enabled: true, keepOnDelete: false",
                "the backups of etcd main are deleted with the cluster from now on",
            ),
        ] {
            let noted = notes(Some(&before), &cluster(&etcd(backups)));
            let [note] = noted.as_slice() else { panic!("{noted:?}") };
            assert_eq!((note.field.as_str(), note.message.as_str()), ("etcd[main].backups", message));
        }
        let noted = notes(Some(&before), &cluster(hidden));
        assert!(matches!(noted.as_slice(), [note] if note.field == "ignoreChanges[0]"), "{noted:?}");
        assert!(notes(Some(&cluster(hidden)), &cluster(hidden)).is_empty());
        assert!(notes(None, &cluster(hidden)).is_empty());
        let noted = notes(Some(&cluster(hidden)), &cluster("  deletionProtection: true\n"));
        let [note] = noted.as_slice() else { panic!("{noted:?}") };
        assert_eq!(
            (note.field.as_str(), note.message.as_str()),
            ("ignoreChanges", "plans show and correct tags of * again")
        );
        let all = cluster("  ignoreChanges: [{resource: \"*\", attribute: \"*\"}]\n");
        for last in [None, Some(&all)] {
            assert!(matches!(notes(last, &all).as_slice(), [note] if note.message.contains("every change")));
        }
    }
}
