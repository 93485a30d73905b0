//! Reviews of the pull requests of a source.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use slipway_forges::{Address, ApprovalPolicy, ForkPolicy, Kind, Repository};

use super::duration;
use super::source::{Apply, ClusterPolicy, Git, Reference};

/// How the pull requests of a source are reviewed.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PullRequests {
    /// The kind of the forge.
    pub forge: ForgeKind,
    /// The repository, as `owner/name`; on GitLab with all groups.
    pub repository: String,
    /// The address of the forge's site; by default that of github.com or gitlab.com.
    pub url: Option<String>,
    /// Whether plain HTTP is allowed to a host that is not this machine. The token is then sent in clear.
    #[serde(default)]
    pub insecure_http: bool,
    /// The file with the access token.
    pub token_file: PathBuf,
    /// The login of the token's user, where the forge does not say.
    pub user: Option<String>,
    /// The page that statuses link to.
    pub page: Option<String>,
    /// How often all open pull requests are looked at.
    #[serde(default = "usual_interval", deserialize_with = "duration")]
    pub interval: Duration,
    /// Which pull requests from forks are planned.
    #[serde(default)]
    pub forks: ForkPolicy,
    /// The logins whose reviews and comments approve plans, as far as the policy of the cluster names them too.
    #[serde(default)]
    pub approvers: Vec<String>,
    /// Whether the author of a pull request may approve it.
    #[serde(default)]
    pub author: bool,
    /// Further paths in which specs name files.
    #[serde(default)]
    pub with: Vec<String>,
}

/// Kinds of forges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    /// GitHub.
    GitHub,
    /// GitLab.
    GitLab,
    /// Gitea and Forgejo.
    Gitea,
}

impl ForgeKind {
    /// As the adapters of forges name it.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Self::GitHub => Kind::GitHub,
            Self::GitLab => Kind::GitLab,
            Self::Gitea => Kind::Gitea,
        }
    }
}

fn usual_interval() -> Duration {
    Duration::from_secs(300)
}

impl PullRequests {
    /// The address of the forge.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn address(&self) -> Result<Address, slipway_forges::Error> {
        let usual = match self.forge {
            ForgeKind::GitHub => "https://github.com",
            ForgeKind::GitLab => "https://gitlab.com",
            ForgeKind::Gitea => "",
        };
        Address::parse(self.url.as_deref().unwrap_or(usual), self.insecure_http)
    }

    /// The name of the repository.
    ///
    /// # Errors
    /// When it is none.
    pub fn repository(&self) -> Result<Repository, slipway_forges::Error> {
        Repository::parse(&self.repository)
    }

    /// Whose approvals on a pull request count for a cluster: those that both this table and the policy of the cluster name.
    #[must_use]
    pub fn approvals(&self, cluster: &ClusterPolicy) -> ApprovalPolicy {
        let is_named = |login: &&String| {
            let same = |name: &String| name.to_lowercase() == login.to_lowercase();
            cluster.approvers.is_empty() || cluster.approvers.iter().any(same)
        };
        ApprovalPolicy {
            needed: if cluster.apply == Apply::Approved { cluster.approvals } else { 0 },
            people: self.approvers.iter().filter(is_named).cloned().collect(),
            author: self.author,
        }
    }

    /// Whether the approvals of a login may count for some cluster.
    #[must_use]
    pub fn names(&self, login: &str) -> bool {
        self.approvers.iter().any(|name| name.to_lowercase() == login.to_lowercase())
    }

    /// Why the table cannot be used with its source; `None` if it can.
    pub(super) fn problem(&self, git: Option<&Git>) -> Option<String> {
        match git.map(Git::reference) {
            None => return Some("`pull-requests` needs `git`".to_owned()),
            Some(Reference::Branch(_)) => {}
            Some(_) => {
                return Some("`pull-requests` needs a `branch`, into which they are merged".to_owned());
            }
        }
        if self.url.is_none() && self.forge == ForgeKind::Gitea {
            return Some("`pull-requests` needs the `url` of Gitea or Forgejo".to_owned());
        }
        let named = self.address().map(drop).and_then(|()| self.repository().map(drop));
        if let Err(error) = named {
            return Some(format!("`pull-requests`: {error}"));
        }
        if self.interval < Duration::from_secs(1) {
            return Some("`pull-requests.interval` is at least 1s".to_owned());
        }
        if self.forks.label.trim().is_empty() || self.approvers.iter().any(|login| login.trim().is_empty()) {
            return Some("`pull-requests` has an empty label or login".to_owned());
        }
        let is_path = |path: &String| path.split('/').all(super::is_plain);
        let path = self.with.iter().find(|path| !is_path(path))?;
        Some(format!("`pull-requests.with` has `{path}`, which is not a path inside of the source"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn approvals_count_that_both_tables_name() {
        let text = "forge = 'gitea'\nrepository = 'ada/infra'\nurl = 'https://git.example.com'\n\
                    token-file = 't'\napprovers = ['Grace', 'eve']\n";
        let read: PullRequests = toml::from_str(text).unwrap();
        let policy = |apply, approvers: &[&str]| ClusterPolicy {
            apply,
            approvals: 2,
            approvers: approvers.iter().map(|name| (*name).to_owned()).collect(),
            ..ClusterPolicy::unnamed()
        };
        let some = read.approvals(&policy(Apply::Approved, &["grace", "ada"]));
        assert_eq!((some.needed, some.names("grace"), some.names("eve")), (2, true, false));
        assert!(!some.names("ada"), "a person at a command line is no login of the forge");
        let all = read.approvals(&policy(Apply::Always, &[]));
        assert_eq!((all.needed, all.names("eve"), all.author), (0, true, false));
    }
}
