//! The rules of version changes: forward, one minor version at a time, and back to the release that the control plane emulates.

use std::collections::BTreeMap;

use slipway_bootstrap::version::{core_dns_tag, etcd_tag};
use slipway_plan::{ChangeAction, Plan, ResourceChange, Snapshot};
use slipway_resource::Value;
use slipway_spec::model::{Cluster, ProgramName, Programs};
use slipway_spec::releases::newest_patch;
use slipway_spec::value::KubernetesVersion;
use slipway_state_store::Head;

use crate::error::{Error, KubeletProblem, VersionError};
use crate::reversible::{self, Turn};
use crate::spec::ClusterSpec;
use crate::state::spec_of;

/// The version that the state has.
///
/// # Errors
/// When the spec in the state cannot be read.
pub(crate) fn applied_version(prior: Option<&Snapshot>) -> Result<Option<KubernetesVersion>, Error> {
    let applied = prior.map(spec_of).transpose()?.flatten();
    Ok(applied.map(|applied| applied.kubernetes_version))
}

/// Refuses a plan of a part that would change the version: the state has one version for the whole cluster, and workers
/// must not be ahead of their control plane.
pub(crate) fn check_partial(prior: Option<&Snapshot>, cluster: &Cluster) -> Result<(), Error> {
    match (applied_version(prior)?, cluster.kubernetes_version.clone()) {
        (Some(from), to) if from != to => {
            Err(VersionError::Partial { cluster: cluster.name.to_string(), from, to }.into())
        }
        _ => Ok(()),
    }
}

/// Refuses a change of version that Kubernetes does not support in one step: to an older version, also of the same minor version,
/// or past a minor version. A reversible upgrade may go back to the version that the control plane emulates. The head says which
/// version the last complete run has brought.
pub(crate) fn check_version_change(
    prior: Option<&Snapshot>,
    spec: &ClusterSpec,
    head: Option<&Head>,
) -> Result<(), Error> {
    let Some(applied) = prior.map(spec_of).transpose()?.flatten() else { return Ok(()) };
    if reversible::check(&applied, spec)? == Some(Turn::Back) {
        return Ok(());
    }
    let from = applied.kubernetes_version.clone();
    let (name, to) = (spec.cluster.name.to_string(), spec.cluster.kubernetes_version.clone());
    if to < from {
        return Err(match head.and_then(|head| unfinished(head, &applied)) {
            Some(complete) => VersionError::Unfinished {
                cluster: name,
                from: complete,
                to: from,
                requested: to,
                place: spec.place("kubernetesVersion").cloned(),
            }
            .into(),
            None => back(spec, from),
        });
    }
    if to.major != from.major || to.minor > from.minor + 1 {
        return Err(VersionError::Skipped { cluster: name, from, to }.into());
    }
    check_pools(&applied, spec)
}

/// The version of the last complete run, if a later run has begun an upgrade from it that did not complete. `begun` is the spec of the
/// last run that has begun.
pub(crate) fn unfinished(head: &Head, begun: &Cluster) -> Option<KubernetesVersion> {
    let complete = head.last_commit.as_ref()?.about.get("version")?;
    let complete: KubernetesVersion = complete.parse().ok()?;
    (begun.kubernetes_version > complete).then_some(complete)
}

/// A new version of the cluster in the spec of a saved plan that none of its pools gets, as a sentence: no change shows it. Pools of
/// the control plane have the version of the cluster.
pub(crate) fn hidden(applied: Option<&Cluster>, next: &Cluster) -> Option<String> {
    let applied = applied?;
    let (from, to) = (&applied.kubernetes_version, &next.kubernetes_version);
    let follows = next.pools.iter().any(|pool| {
        let before = applied.pools.iter().find(|before| before.name == pool.name);
        before.is_none_or(|before| before.kubernetes_version != pool.kubernetes_version)
    });
    (from != to && !follows).then(|| {
        format!("its spec has kubernetesVersion {to} instead of {from}, and no pool changes its version")
    })
}

/// Refuses an older version of a pool that exists: its nodes would be replaced by older ones.
fn check_pools(applied: &Cluster, spec: &ClusterSpec) -> Result<(), Error> {
    for pool in &spec.cluster.pools {
        let before = applied.pools.iter().find(|before| before.name == pool.name);
        let Some(from) = before.map(|before| &before.kubernetes_version) else { continue };
        if pool.kubernetes_version < *from {
            let place = spec.place(&format!("pools[{}].kubernetesVersion", pool.name));
            return Err(VersionError::Back {
                cluster: Some(format!("pool {}", pool.name)),
                from: from.clone(),
                to: pool.kubernetes_version.clone(),
                place: place.cloned(),
                is_in_base: place.is_some_and(|place| spec.is_in_base(place)),
            }
            .into());
        }
    }
    Ok(())
}

/// Refuses a plan that would downgrade existing objects. The objects decide, whatever the state says about
/// the cluster's version: the state may be rebuilt from an older spec, or be an old copy.
///
/// A change is a downgrade when its value differs from the present one in the version only, as `1.36.1` and
/// `1.35.2` or two tags of one image do, and the new version is that of the cluster. Pools with their own
/// older version may have it.
pub(crate) fn check_existing(plan: &Plan, spec: &ClusterSpec) -> Result<(), Error> {
    let to = &spec.cluster.kubernetes_version;
    let is_done =
        |change: &&ResourceChange| change.action == ChangeAction::Update || change.action.is_replace();
    let changed = plan.changes.iter().filter(is_done).flat_map(|change| &change.changes);
    let newest = changed.filter_map(|change| version_before(&change.before, &change.after, to)).max();
    match newest {
        Some(from) if *to < from => Err(back(spec, from)),
        _ => Ok(()),
    }
}

/// The refusal of a spec whose version is older than the one that the cluster has.
fn back(spec: &ClusterSpec, from: KubernetesVersion) -> Error {
    let place = spec.place("kubernetesVersion");
    VersionError::Back {
        cluster: Some(spec.cluster.name.to_string()),
        from,
        to: spec.cluster.kubernetes_version.clone(),
        place: place.cloned(),
        is_in_base: place.is_some_and(|place| spec.is_in_base(place)),
    }
    .into()
}

/// The version in a value that differs from another one by its version only, and that other has this version.
fn version_before(before: &Value, after: &Value, to: &KubernetesVersion) -> Option<KubernetesVersion> {
    let rest = after.as_str()?.strip_suffix(&to.to_string())?;
    let is_version = rest.is_empty() || rest.ends_with(['v', ':', '-']);
    before.as_str()?.strip_prefix(rest).filter(|_| is_version)?.parse().ok()
}

/// Which patch releases an upgrade takes of the minor versions on its way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choices<'a> {
    /// Patch releases that the caller names.
    pub via: &'a [KubernetesVersion],
    /// The programs of the spec: machines can run a kubelet of these only, if there is one.
    pub programs: &'a Programs,
}

impl Choices<'_> {
    /// The patch release of a minor version: the named one, else the newest whose kubelet the spec lists, else the newest known one.
    pub(crate) fn of(&self, minor: u64) -> KubernetesVersion {
        if let Some(named) = self.via.iter().find(|version| version.major == 1 && version.minor == minor) {
            return named.clone();
        }
        let kubelets = self.programs.files.iter().filter(|file| file.name == ProgramName::Kubelet);
        let listed = kubelets.filter_map(|file| file.version.as_ref());
        let listed = listed.filter(|version| version.major == 1 && version.minor == minor).max();
        listed.cloned().unwrap_or_else(|| newest_patch(minor))
    }
}

/// The versions on the way, the last one `to` itself; empty when nothing is to be done.
///
/// # Errors
/// When there is no way, or when a version that the caller names is not on it. A version that the cluster has passed is no error:
/// the same command continues an upgrade.
pub(crate) fn hops(
    from: &KubernetesVersion,
    to: &KubernetesVersion,
    choices: &Choices<'_>,
) -> Result<Vec<KubernetesVersion>, Error> {
    if to < from {
        return Err(VersionError::Back {
            cluster: None,
            from: from.clone(),
            to: to.clone(),
            place: None,
            is_in_base: false,
        }
        .into());
    }
    if to.major != from.major {
        return Err(VersionError::OtherMajor { from: from.clone(), to: to.clone() }.into());
    }
    let mut hops: Vec<KubernetesVersion> =
        (from.minor + 1..to.minor).map(|minor| choices.of(minor)).collect();
    if to != from {
        hops.push(to.clone());
    }
    match choices.via.iter().find(|version| *version > from && !hops.contains(version)) {
        Some(version) => {
            let is_same = |hop: &&KubernetesVersion| (hop.major, hop.minor) == (version.major, version.minor);
            let named = hops.iter().filter(|hop| choices.via.contains(hop)).find(is_same);
            Err(match named {
                Some(first) => VersionError::TwoOnTheWay { first: first.clone(), second: version.clone() },
                None => {
                    VersionError::NotOnTheWay { version: version.clone(), from: from.clone(), to: to.clone() }
                }
            }
            .into())
        }
        None => Ok(hops),
    }
}

/// How many minor versions a kubelet may be behind its API server.
const KUBELET_BEHIND: u64 = 3;

/// The effects and omissions of a change of version on existing machines, for the plan to report. Kubelets
/// are upgraded where the spec lists those of the new version.
///
/// # Errors
/// When kubelets would be older than Kubernetes supports for their API server, or when their version is not
/// known.
pub(crate) fn on_hosts(
    cluster: &str,
    (from, to): (&KubernetesVersion, &KubernetesVersion),
    kubelets: &Result<BTreeMap<String, String>, String>,
    are_listed: bool,
) -> Result<String, Error> {
    let rest = after_control_planes(cluster, (from, to), kubelets, are_listed)?;
    Ok(format!(
        "the API servers, controller managers and schedulers go from {from} to {to}, one host after the other, and kube-proxy with them; {rest}"
    ))
}

/// What a change of version on existing machines does to etcd, CoreDNS and kubelets, as sentences.
///
/// # Errors
/// As [`on_hosts`].
pub(crate) fn after_control_planes(
    cluster: &str,
    (from, to): (&KubernetesVersion, &KubernetesVersion),
    kubelets: &Result<BTreeMap<String, String>, String>,
    are_listed: bool,
) -> Result<String, Error> {
    let seen = check_kubelets(cluster, (from, to), kubelets)?;
    let (old, new) = (etcd_tag(from), etcd_tag(to));
    let etcd = if old == new {
        format!("etcd stays at {new}")
    } else {
        format!("etcd goes from {old} to {new}; take a snapshot of it before")
    };
    let kubelets = match (are_listed, (from.major, from.minor) == (to.major, to.minor)) {
        (true, true) => format!(
            "Then kubelets ({seen}) go to {to} from `assets.programs`, in place while their pods keep running, one host first"
        ),
        (true, false) => format!(
            "Then kubelets ({seen}) go to {to} from `assets.programs`, one host first; each node is drained before, since a kubelet does not change its minor version under running pods"
        ),
        (false, _) => format!(
            "Kubelets are installed on the hosts and are not upgraded ({seen}): afterwards upgrade their package on one host after the other, control planes first, or list the kubelet of {to} in `assets.programs` before"
        ),
    };
    let (old, new) = (core_dns_tag(from), core_dns_tag(to));
    let dns = if old == new {
        format!("CoreDNS stays at {new}")
    } else {
        format!("CoreDNS goes from {old} to {new}, one pod after the other")
    };
    Ok(format!("{etcd}; {dns}. {kubelets}"))
}

/// Refuses kubelets that would be older than Kubernetes supports for their API server. Returns their versions by node.
///
/// # Errors
/// Also when their versions are not known and the minor version changes.
pub(crate) fn check_kubelets(
    cluster: &str,
    (from, to): (&KubernetesVersion, &KubernetesVersion),
    kubelets: &Result<BTreeMap<String, String>, String>,
) -> Result<String, Error> {
    let refused = |problem: KubeletProblem| {
        let (from, to) = (from.clone(), to.clone());
        Error::from(VersionError::Kubelets { cluster: cluster.to_owned(), from, to, problem })
    };
    match kubelets {
        Ok(kubelets) => {
            let too_old: Vec<String> = kubelets
                .iter()
                .filter(|(_, version)| is_too_old(version, to))
                .map(|(node, version)| {
                    format!(
                        "{node}: kubelet {version} is more than {KUBELET_BEHIND} minor versions behind {to}"
                    )
                })
                .collect();
            if !too_old.is_empty() {
                return Err(refused(KubeletProblem::TooOld(too_old)));
            }
            let all: Vec<String> =
                kubelets.iter().map(|(node, version)| format!("{node} {version}")).collect();
            Ok(all.join(", "))
        }
        Err(reason) if (from.major, from.minor) != (to.major, to.minor) => {
            Err(refused(KubeletProblem::Unknown(reason.clone())))
        }
        Err(reason) => Ok(format!("their versions cannot be read: {reason}")),
    }
}

fn is_too_old(kubelet: &str, to: &KubernetesVersion) -> bool {
    let parsed = kubelet.trim_start_matches('v').parse::<KubernetesVersion>();
    parsed.is_ok_and(|kubelet| kubelet.major < to.major || kubelet.minor + KUBELET_BEHIND < to.minor)
}

#[cfg(test)]
mod tests {
    use slipway_spec::model::{Architecture, ProgramFile};

    use super::*;

    #[test]
    fn on_hosts_it_is_said_what_is_left_and_too_old_kubelets_refuse() {
        let (from, to) = (version("1.33.5"), version("1.34.4"));
        let seen = |kubelet: &str| Ok(BTreeMap::from([("worker-0".to_owned(), kubelet.to_owned())]));
        let said = on_hosts("home", (&from, &to), &seen("v1.31.2"), false).unwrap();
        for part in [
            "from 1.33.5 to 1.34.4",
            "not upgraded (worker-0 v1.31.2)",
            "CoreDNS stays",
            "etcd goes from 3.5",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        let newer = on_hosts("home", (&to, &version("1.35.10")), &seen("v1.33.5"), true).unwrap();
        assert!(newer.contains("CoreDNS goes from v1.12.1 to v1.13.1"), "{newer}");
        let refused = on_hosts("home", (&from, &to), &seen("v1.30.9"), true).unwrap_err();
        assert_eq!(refused.code(), Some("HOST0002"));
        assert!(refused.causes()[0].starts_with("worker-0: kubelet v1.30.9"), "{refused:?}");
        let listed = on_hosts("home", (&from, &to), &seen("v1.33.5"), true).unwrap();
        assert!(listed.contains("kubelets (worker-0 v1.33.5) go to 1.34.4"), "{listed}");
        assert!(listed.contains("each node is drained"), "{listed}");
        // An unknown version is an error, unless it does not matter.
        let dead = || Err("no server answers".to_owned());
        assert!(
            format!("{:?}", on_hosts("home", (&from, &to), &dead(), false).unwrap_err())
                .contains("no server answers")
        );
        let patch = on_hosts("home", (&from, &version("1.33.6")), &dead(), true).unwrap();
        assert!(patch.contains("while their pods keep running"), "{patch}");
        assert!(patch.contains("etcd stays") && patch.contains("no server answers"), "{patch}");
    }

    fn version(text: &str) -> KubernetesVersion {
        text.parse().unwrap()
    }

    #[test]
    fn a_value_that_differs_by_the_version_only_tells_the_version_before() {
        let before = |before: &str, after: &str| {
            let found = version_before(&before.into(), &after.into(), &version("1.35.2"));
            found.map(|version| version.to_string()).unwrap_or_default()
        };
        assert_eq!(before("1.36.1", "1.35.2"), "1.36.1");
        assert_eq!(before("v1.36.1", "v1.35.2"), "1.36.1");
        assert_eq!(before("r.test/kube-apiserver:v1.36.1", "r.test/kube-apiserver:v1.35.2"), "1.36.1");
        // A pool with an older version of its own, another image, and what is no version.
        for (old, new) in
            [("1.35.2", "1.34.1"), ("a.test/x:v1.36.1", "b.test/x:v1.35.2"), ("latest", "1.35.2")]
        {
            assert_eq!(before(old, new), "", "{old} {new}");
        }
    }

    #[test]
    fn minor_versions_are_not_skipped() {
        let programs = Programs::default();
        let choices = Choices { via: &[], programs: &programs };
        let way = |from, to| -> Vec<String> {
            hops(&version(from), &version(to), &choices).unwrap().iter().map(ToString::to_string).collect()
        };
        let known = |minor| newest_patch(minor).to_string();
        assert_eq!(way("1.33.4", "1.36.1"), [known(34), known(35), "1.36.1".to_owned()]);
        assert_eq!(way("1.33.4", "1.33.5"), ["1.33.5"]);
        assert!(way("1.33.4", "1.33.4").is_empty());
        assert!(hops(&version("1.34.0"), &version("1.33.9"), &choices).is_err());
    }

    #[test]
    fn patch_releases_on_the_way_are_named_or_those_of_listed_kubelets() {
        let kubelet = |release: &str| ProgramFile {
            name: ProgramName::Kubelet,
            architecture: Architecture::default(),
            version: Some(version(release)),
            path: release.to_owned(),
            sha256: String::new(),
        };
        let files = vec![kubelet("1.34.2"), kubelet("1.34.5"), kubelet("1.36.1")];
        let programs = Programs { mirrors: Vec::new(), files };
        let way = |via: &[&str]| -> Result<Vec<String>, Error> {
            let via: Vec<KubernetesVersion> = via.iter().map(|release| version(release)).collect();
            let choices = Choices { via: &via, programs: &programs };
            let hops = hops(&version("1.33.4"), &version("1.36.1"), &choices)?;
            Ok(hops.iter().map(ToString::to_string).collect())
        };
        assert_eq!(
            way(&[]).unwrap(),
            ["1.34.5".to_owned(), newest_patch(35).to_string(), "1.36.1".to_owned()]
        );
        assert_eq!(way(&["1.35.2", "1.34.2"]).unwrap(), ["1.34.2", "1.35.2", "1.36.1"]);
        // The version before and the last one may be named, too.
        assert_eq!(way(&["1.33.4", "1.34.2", "1.36.1"]).unwrap()[0], "1.34.2");
        for not_there in [&["1.33.5"][..], &["1.36.0"], &["1.37.0"], &["1.34.2", "1.34.5"], &["2.34.0"]] {
            let refused = way(not_there).unwrap_err();
            assert_eq!(refused.code(), Some("CLI0072"), "{not_there:?}");
            let is_two = refused.to_string().contains("1.34.2 and 1.34.5 are of the same one");
            assert_eq!(is_two, not_there.len() == 2, "{refused}");
        }
    }
}
