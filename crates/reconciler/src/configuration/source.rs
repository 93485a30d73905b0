//! Sources and the policies of their clusters.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use slipway_resource::pattern::matches;
use slipway_trust::{Settings, path_in};

use super::bucket::BucketSettings;
use super::flux::FluxSettings;
use super::object::ObjectSettings;
use super::oci::OciSettings;
use super::order::Waves;
use super::pull_requests::PullRequests;
use super::schedule::{Freeze, Window};
use super::webhook::Webhook;
use super::{duration, optional_duration};
use crate::facts::Facts;

/// How long planning may take by default.
const PLAN_LIMIT: Duration = Duration::from_secs(600);

/// The same for specs that are not trusted.
const UNTRUSTED_PLAN_LIMIT: Duration = Duration::from_secs(120);

/// A place with specs: a folder, a Git repository, a bucket, an OCI artifact, the artifact of an object of Flux, or the place that
/// a `Source` object in Kubernetes names.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Source {
    /// Its name, unique in the state store.
    pub name: String,
    /// The folder.
    pub folder: Option<PathBuf>,
    /// The repository.
    pub git: Option<Git>,
    /// The bucket.
    pub bucket: Option<BucketSettings>,
    /// The artifact in a registry.
    pub oci: Option<OciSettings>,
    /// The object of Flux.
    pub flux: Option<FluxSettings>,
    /// The `Source` object that names the place.
    pub object: Option<ObjectSettings>,
    /// Folders and files with specs. Each is read by itself, as with `slipway plan -f PATH`. `/*` at the end names all folders
    /// in a folder.
    #[serde(default = "everything")]
    pub paths: Vec<String>,
    /// Folders and files with bases of the environments in `paths`. They are no specs of their own, and a change of them is a
    /// change of each path.
    #[serde(default)]
    pub bases: Vec<String>,
    /// How often it is looked at.
    #[serde(default = "usual_interval", deserialize_with = "duration")]
    pub interval: Duration,
    /// How long planning one of its clusters may take; by default 10 minutes, and 2 minutes without `trust`.
    #[serde(default, deserialize_with = "optional_duration")]
    pub plan_timeout: Option<Duration>,
    /// The sender of webhooks that let it be looked at now.
    pub webhook: Option<Webhook>,
    /// How its pull requests are reviewed; without it they are not.
    pub pull_requests: Option<PullRequests>,
    /// What its specs may name. Without it they are planned as with `slipway plan --untrusted`, and never applied.
    pub trust: Option<Settings>,
    /// How the waves of its clusters are applied.
    #[serde(default)]
    pub waves: Waves,
    /// The policies of its clusters; the first whose name fits counts. A cluster that no name fits is planned and never applied.
    #[serde(default, rename = "cluster")]
    pub clusters: Vec<ClusterPolicy>,
}

/// A Git repository.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Git {
    /// `https://`, `ssh://` or `file://`, without credentials.
    pub url: String,
    /// The branch to follow.
    pub branch: Option<String>,
    /// The tag to follow.
    pub tag: Option<String>,
    /// The commit to use, with all its digits.
    pub commit: Option<String>,
    /// For `https://`: the name of the user of the token.
    pub username: Option<String>,
    /// For `https://`: the file with a token or a password.
    pub token_file: Option<PathBuf>,
    /// For `https://`: the authorities to trust (PEM) instead of those of the system.
    pub ca_file: Option<PathBuf>,
    /// For `ssh://`: the private key.
    pub identity_file: Option<PathBuf>,
    /// For `ssh://`: the keys of the server, as ssh keeps them.
    pub known_hosts: Option<PathBuf>,
    /// The signatures that commits need.
    pub signatures: Option<Signatures>,
    /// How long one call of git may take.
    #[serde(default = "usual_timeout", deserialize_with = "duration")]
    pub timeout: Duration,
}

/// The keys whose signatures a source accepts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Signatures {
    /// For signatures of ssh: the file of accepted keys, in the format of `ssh-keygen(1)`, section ALLOWED SIGNERS.
    pub allowed_signers: Option<PathBuf>,
    /// For signatures of GPG: a home folder of gpg whose keyring has the accepted keys and no others.
    pub gpg_home: Option<PathBuf>,
    /// What has to be signed.
    #[serde(default)]
    pub on: Signed,
}

/// What has to be signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signed {
    /// The commit.
    #[default]
    Commit,
    /// The tag that is followed. It has the name under which it was signed.
    Tag,
}

impl Signatures {
    fn place_paths(&mut self, place: impl Fn(&mut PathBuf)) {
        [&mut self.allowed_signers, &mut self.gpg_home].into_iter().flatten().for_each(place);
    }
}

/// What of a repository is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A branch.
    Branch(String),
    /// A tag.
    Tag(String),
    /// A commit.
    Commit(String),
}

impl std::fmt::Display for Reference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Branch(name) => write!(formatter, "the branch {name}"),
            Self::Tag(name) => write!(formatter, "the tag {name}"),
            Self::Commit(id) => write!(formatter, "the commit {id}"),
        }
    }
}

impl Git {
    /// What is followed; the checks of the configuration make sure that it is one thing.
    #[must_use]
    pub fn reference(&self) -> Reference {
        match (&self.branch, &self.tag, &self.commit) {
            (_, _, Some(commit)) => Reference::Commit(commit.clone()),
            (_, Some(tag), None) => Reference::Tag(tag.clone()),
            (branch, None, None) => Reference::Branch(branch.clone().unwrap_or_else(|| "main".to_owned())),
        }
    }
}

/// How a cluster is treated.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClusterPolicy {
    /// The clusters: a name, in which `*` matches any characters. Empty in [`Self::unnamed`].
    pub name: String,
    /// Which plans are applied.
    pub apply: Apply,
    /// Its wave: a change in the source is applied when the clusters of all lower waves are in line.
    #[serde(default)]
    pub wave: i32,
    /// Further clusters that have to be in line before: names and patterns, also of other sources.
    #[serde(default)]
    pub after: Vec<String>,
    /// How many approvals a plan needs, with `apply = "approved"`.
    #[serde(default = "one")]
    pub approvals: u16,
    /// The persons whose approvals count; without it those of everybody but the controller.
    #[serde(default)]
    pub approvers: Vec<String>,
    /// Whether changes that were made outside Slipway are reverted when the spec has not changed.
    #[serde(default)]
    pub drift: Drift,
    /// How often a cluster is planned again although nothing changed.
    #[serde(default = "usual_drift_interval", deserialize_with = "duration")]
    pub drift_interval: Duration,
    /// The time zone of windows and freezes, as `Europe/Berlin`.
    #[serde(default = "utc")]
    pub time_zone: String,
    /// When a plan may be applied; without one always.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// When no plan is applied.
    #[serde(default)]
    pub freezes: Vec<Freeze>,
}

/// Which plans are applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Apply {
    /// Every plan that loses no data.
    Always,
    /// Plans that delete, replace, roll and interrupt nothing.
    Safe,
    /// Plans with enough approvals.
    Approved,
    /// None: plans are shown only.
    #[default]
    Never,
}

impl Apply {
    /// As the configuration writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Safe => "safe",
            Self::Approved => "approved",
            Self::Never => "never",
        }
    }
}

/// What is done about changes outside Slipway when the spec has not changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drift {
    /// They are reported. A change of the spec reverts them too.
    #[default]
    Report,
    /// They are reverted, as far as `apply` allows it. They wait with a plan that has other changes and waits.
    Revert,
}

impl ClusterPolicy {
    /// The policy of a cluster that no name fits.
    #[must_use]
    pub fn unnamed() -> Self {
        Self {
            name: String::new(),
            apply: Apply::Never,
            wave: 0,
            after: Vec::new(),
            approvals: one(),
            approvers: Vec::new(),
            drift: Drift::Report,
            drift_interval: usual_drift_interval(),
            time_zone: utc(),
            windows: Vec::new(),
            freezes: Vec::new(),
        }
    }

    /// Whether it is the policy of a cluster that no name fits.
    #[must_use]
    pub fn is_unnamed(&self) -> bool {
        self.name.is_empty()
    }

    /// Whether a plan is reported and never applied, whoever approves it: it reverts drift and does nothing else, and drift is
    /// reported only.
    pub(crate) fn reports_only(&self, facts: &Facts) -> bool {
        facts.is_only_drift() && self.drift == Drift::Report
    }

    /// The number of approvals that a plan needs before a controller applies it; 0 where approvals decide nothing.
    pub(crate) fn needed_approvals(&self, facts: &Facts) -> u16 {
        if self.apply == Apply::Approved && !self.reports_only(facts) { self.approvals } else { 0 }
    }
}

impl Source {
    /// The policy of a cluster.
    #[must_use]
    pub fn policy(&self, cluster: &str) -> ClusterPolicy {
        self.rule(cluster).cloned().unwrap_or_else(ClusterPolicy::unnamed)
    }

    /// The first policy whose name fits a cluster.
    #[must_use]
    pub fn rule(&self, cluster: &str) -> Option<&ClusterPolicy> {
        self.clusters.iter().find(|policy| matches(&policy.name, cluster))
    }

    /// How long planning may take, for specs that are trusted or not.
    pub(crate) fn plan_limit(&self, is_trusted: bool) -> Duration {
        self.plan_timeout.unwrap_or(if is_trusted { PLAN_LIMIT } else { UNTRUSTED_PLAN_LIMIT })
    }

    /// Whether a policy names exactly this cluster, and not only by a pattern.
    pub(crate) fn names(&self, cluster: &str) -> bool {
        self.clusters.iter().any(|policy| policy.name == cluster)
    }

    pub(super) fn place_paths(&mut self, folder: &Path, home: Option<&Path>) {
        let place = |path: &mut PathBuf| *path = path_in(path, folder, home);
        self.folder.iter_mut().for_each(place);
        self.webhook.iter_mut().map(|webhook| &mut webhook.secret_file).for_each(place);
        self.pull_requests.iter_mut().map(|reviews| &mut reviews.token_file).for_each(place);
        self.oci.iter_mut().filter_map(|oci| oci.token_file.as_mut()).for_each(place);
        self.flux.iter_mut().filter_map(|flux| flux.kubeconfig.as_mut()).for_each(place);
        if let Some(object) = &mut self.object {
            [&mut object.token_file, &mut object.ca_file].into_iter().flatten().for_each(place);
            object.signatures.iter_mut().for_each(|signatures| signatures.place_paths(place));
        }
        if let Some(git) = &mut self.git {
            let files = [&mut git.token_file, &mut git.ca_file, &mut git.identity_file, &mut git.known_hosts];
            files.into_iter().flatten().for_each(place);
            git.signatures.iter_mut().for_each(|signatures| signatures.place_paths(place));
        }
        self.trust = self.trust.take().map(|trust| trust.relative_to(folder, home));
    }
}

fn everything() -> Vec<String> {
    vec![".".to_owned()]
}

fn usual_interval() -> Duration {
    Duration::from_secs(60)
}

fn usual_drift_interval() -> Duration {
    Duration::from_secs(600)
}

pub(super) fn usual_timeout() -> Duration {
    Duration::from_secs(120)
}

fn one() -> u16 {
    1
}

fn utc() -> String {
    "UTC".to_owned()
}
