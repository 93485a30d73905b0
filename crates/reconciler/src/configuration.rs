//! The configuration of a controller: sources, and a policy for each of their clusters (TOML).
//!
//! It belongs to the operator of the controller. Nothing in a source changes it.

mod bucket;
mod check;
mod flux;
mod kubernetes;
mod notification;
mod object;
mod oci;
mod order;
mod pull_requests;
mod schedule;
mod source;
mod webhook;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Deserializer, de};
use slipway_limits::{file, size};
use slipway_trust::path_in;

pub use bucket::BucketSettings;
pub(crate) use check::is_plain;
pub use flux::{FluxKind, FluxSettings};
pub use kubernetes::{KubernetesSettings, PlanSettings};
pub use notification::{Notification, NotificationKind};
pub(crate) use object::Location;
pub use object::ObjectSettings;
pub use oci::OciSettings;
pub use order::Waves;
pub use pull_requests::{ForgeKind, PullRequests};
pub use schedule::{Freeze, Opening, Schedule, Window};
pub use source::{Apply, ClusterPolicy, Drift, Git, Reference, Signatures, Signed, Source};
pub use webhook::{Webhook, WebhookKind, Webhooks};

use crate::error::Error;

/// The shortest time after which a silent replica is replaced, however short the polls are.
const SHORTEST_TERM: Duration = Duration::from_secs(5);

/// The settings of a controller.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Configuration {
    /// The name of the controller. Processes with one name and one state store share their clusters.
    #[serde(default = "usual_name")]
    pub name: String,
    /// The address of `/healthz`, `/readyz` and `/metrics`.
    #[serde(default = "usual_address")]
    pub listen: SocketAddr,
    /// Where webhooks are received; without it nowhere.
    pub webhooks: Option<Webhooks>,
    /// Where the controller has objects in a Kubernetes cluster; without it nowhere.
    pub kubernetes: Option<KubernetesSettings>,
    /// The folder for repositories and checkouts. It can be deleted while no controller runs.
    pub data: PathBuf,
    /// How many clusters are planned or applied at once.
    #[serde(default = "usual_workers")]
    pub workers: u16,
    /// How often requests, pauses and approvals are looked at, and replicas show that they live.
    #[serde(default = "usual_poll", deserialize_with = "duration")]
    pub poll: Duration,
    /// The waits after failures.
    #[serde(default)]
    pub retry: Retry,
    /// The name of the controller in heads, histories and approvals.
    #[serde(default = "usual_actor")]
    pub actor: String,
    /// The receivers of notifications.
    #[serde(default, rename = "notification")]
    pub notifications: Vec<Notification>,
    /// The places with specs.
    #[serde(rename = "source")]
    pub sources: Vec<Source>,
}

/// The waits after failures: each is twice the one before, and varies by a fifth.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Retry {
    /// The wait after the first failure.
    #[serde(deserialize_with = "duration")]
    pub first: Duration,
    /// The longest wait.
    #[serde(deserialize_with = "duration")]
    pub longest: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { first: Duration::from_secs(10), longest: Duration::from_secs(600) }
    }
}

impl Retry {
    /// The wait after a number of failures in a row. The same salt and number give the same wait.
    #[must_use]
    pub fn wait(&self, failures: u32, salt: &str) -> Duration {
        let doubled = self.first.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(self.longest);
        let digest = slipway_state_store::Digest::of(format!("{salt} {failures}").as_bytes()).to_hex();
        let chance = u8::from_str_radix(digest.get(..2).unwrap_or("80"), 16).unwrap_or(128);
        doubled.mul_f32(0.8 + f32::from(chance) / 255.0 * 0.4)
    }
}

fn usual_name() -> String {
    "default".to_owned()
}

fn usual_actor() -> String {
    "slipway-controller".to_owned()
}

fn usual_address() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 9464))
}

fn usual_workers() -> u16 {
    4
}

fn usual_poll() -> Duration {
    Duration::from_secs(3)
}

/// A span such as `10m` or `1h30m`, in the form that specs have.
pub(crate) fn duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let text = String::deserialize(deserializer)?;
    let span: slipway_spec::value::Duration =
        text.parse().map_err(|error: slipway_spec::value::Malformed| {
            <D::Error as de::Error>::custom(format!("{error}; {}", error.hint))
        })?;
    Ok(span.get())
}

/// The same for a setting that may be absent.
pub(crate) fn optional_duration<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Duration>, D::Error> {
    duration(deserializer).map(Some)
}

impl Configuration {
    /// Reads a configuration file. Relative paths start at its folder.
    ///
    /// # Errors
    /// When it cannot be read or understood, or when settings contradict each other.
    #[allow(clippy::disallowed_methods, reason = "the operator names the file")]
    pub fn read(path: &Path) -> Result<Self, Error> {
        let unreadable = |source| Error::File { what: "the configuration", path: path.to_owned(), source };
        let text = file::read_given_text(path, size::CONFIGURATION).map_err(unreadable)?;
        let folder = std::path::absolute(path).map_err(unreadable)?;
        let folder = folder.parent().unwrap_or(Path::new("/"));
        Self::parse(&text, path, folder)
    }

    /// Reads the text of a configuration file, whose relative paths start at a folder.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn parse(text: &str, path: &Path, folder: &Path) -> Result<Self, Error> {
        let mut read: Self =
            toml::from_str(text).map_err(|source| Error::Syntax { path: path.to_owned(), source })?;
        read.place_paths(folder, std::env::home_dir().as_deref());
        read.check()?;
        Ok(read)
    }

    fn place_paths(&mut self, folder: &Path, home: Option<&Path>) {
        self.data = path_in(&self.data, folder, home);
        let kubernetes = self.kubernetes.as_mut().and_then(|kubernetes| kubernetes.kubeconfig.as_mut());
        kubernetes.into_iter().for_each(|path| *path = path_in(path, folder, home));
        for receiver in &mut self.notifications {
            let files = [&mut receiver.url_file, &mut receiver.token_file];
            files.into_iter().flatten().for_each(|path| *path = path_in(path, folder, home));
        }
        let kubeconfig = self.kubernetes.as_ref().and_then(|kubernetes| kubernetes.kubeconfig.clone());
        for source in &mut self.sources {
            source.place_paths(folder, home);
            if let Some(object) = &mut source.object {
                object.kubeconfig.clone_from(&kubeconfig);
            }
        }
    }

    /// How long a replica may be silent before the others take its clusters over. It is never short: a replica whose sign of life
    /// takes longer, since the state store is slow, begins nothing.
    #[must_use]
    pub fn term(&self) -> Duration {
        self.poll.saturating_mul(4).max(SHORTEST_TERM)
    }
}

#[cfg(test)]
mod tests;
