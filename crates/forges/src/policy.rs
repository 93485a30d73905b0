//! What the operator decides about pull requests.

use serde::Deserialize;

use crate::error::Error;
use crate::model::PullRequest;

/// The largest number of people, and of approvals.
const PEOPLE: usize = 1_000;

/// The operator's decisions about the pull requests of a repository.
///
/// It comes from the operator or from the base branch, never from the head of the pull request that it is about. Without
/// one, pull requests from forks are not planned, and no approval is needed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Pull requests from forks.
    #[serde(default)]
    pub forks: ForkPolicy,
    /// Approvals.
    #[serde(default)]
    pub approvals: ApprovalPolicy,
}

/// Which pull requests from forks are planned.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForkPolicy {
    /// When.
    #[serde(default)]
    pub plan: Forks,
    /// The label of [`Forks::Label`].
    #[serde(default = "label")]
    pub label: String,
}

impl Default for ForkPolicy {
    fn default() -> Self {
        Self { plan: Forks::default(), label: label() }
    }
}

fn label() -> String {
    "slipway-plan".to_owned()
}

/// When a pull request from a fork is planned. Its plan is always made as of untrusted specs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Forks {
    /// Never.
    #[default]
    Never,
    /// While it has a label, which only people with rights in the repository can give it.
    Label,
    /// Always.
    Always,
}

/// Whose approvals a plan needs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalPolicy {
    /// How many people must approve a plan that changes something.
    #[serde(default)]
    pub needed: u16,
    /// The logins of those who may approve.
    #[serde(default)]
    pub people: Vec<String>,
    /// Whether the author of the pull request may approve it too.
    #[serde(default)]
    pub author: bool,
}

impl ApprovalPolicy {
    /// Whether a login may approve. Logins are not case-sensitive.
    #[must_use]
    pub fn names(&self, login: &str) -> bool {
        !login.is_empty() && self.people.iter().any(|person| person.to_lowercase() == login.to_lowercase())
    }
}

/// How a pull request is treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Its author may push to the repository.
    Trusted,
    /// It is planned as of untrusted specs.
    Untrusted,
    /// It is not planned, for this reason.
    Refused(String),
}

impl Policy {
    /// Reads a policy.
    ///
    /// # Errors
    /// [`Error::Policy`] when it is no TOML, has unknown fields, or needs more approvals than there are people to give
    /// them.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let unusable = |reason: String| Error::Policy { reason };
        let policy: Self = toml::from_str(text).map_err(|error| unusable(error.to_string()))?;
        let approvals = &policy.approvals;
        let mut people: Vec<String> = approvals.people.iter().map(|person| person.to_lowercase()).collect();
        people.sort();
        people.dedup();
        if people.iter().any(|person| person.trim().is_empty()) || people.len() > PEOPLE {
            return Err(unusable(format!("`approvals.people` has an empty login, or more than {PEOPLE}")));
        }
        if usize::from(approvals.needed) > people.len() {
            return Err(unusable(format!(
                "`approvals.needed` is {}, and `approvals.people` names {}",
                approvals.needed,
                people.len()
            )));
        }
        if policy.forks.label.trim().is_empty() {
            return Err(unusable("`forks.label` is empty".to_owned()));
        }
        Ok(policy)
    }

    /// How a pull request is treated.
    #[must_use]
    pub fn treatment(&self, pull_request: &PullRequest) -> Treatment {
        if !pull_request.from_fork {
            return Treatment::Trusted;
        }
        let label = &self.forks.label;
        match self.forks.plan {
            Forks::Always => Treatment::Untrusted,
            Forks::Label if pull_request.labels.contains(label) => Treatment::Untrusted,
            Forks::Label => Treatment::Refused(format!("from a fork, without the label {label}")),
            Forks::Never => Treatment::Refused("from a fork: the policy plans none".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Revision;

    fn pull_request(from_fork: bool, labels: &[&str]) -> PullRequest {
        let revision = Revision::parse(&"a".repeat(40)).unwrap();
        PullRequest {
            number: 1,
            open: true,
            merged: false,
            author: "eve".to_owned(),
            head: revision.clone(),
            base: revision,
            base_branch: "main".to_owned(),
            from_fork,
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        }
    }

    #[test]
    fn forks_are_planned_as_the_policy_says() {
        let policy = |text: &str| Policy::from_toml(text).unwrap();
        let (fork, labelled) = (pull_request(true, &[]), pull_request(true, &["slipway-plan"]));
        let never = policy("");
        assert_eq!(never, Policy::default());
        assert!(matches!(never.treatment(&labelled), Treatment::Refused(_)));
        assert_eq!(never.treatment(&pull_request(false, &[])), Treatment::Trusted);
        let on_label = policy("[forks]\nplan = \"label\"");
        assert!(matches!(on_label.treatment(&fork), Treatment::Refused(_)));
        assert_eq!(on_label.treatment(&labelled), Treatment::Untrusted);
        let other = policy("[forks]\nplan = \"label\"\nlabel = \"ok\"");
        assert!(matches!(other.treatment(&labelled), Treatment::Refused(_)));
        assert_eq!(policy("[forks]\nplan = \"always\"").treatment(&fork), Treatment::Untrusted);
    }

    #[test]
    fn a_policy_that_cannot_work_is_refused() {
        for (text, why) in [
            ("[forks]\nplan = \"sometimes\"", "sometimes"),
            ("[forks]\nlabels = \"x\"", "unknown field"),
            ("[approvals]\nneeded = 1", "names 0"),
            ("[approvals]\nneeded = 2\npeople = [\"ada\", \"Ada\"]", "names 1"),
            ("[approvals]\npeople = [\"\"]", "empty login"),
            ("approvals = ", "line 1"),
        ] {
            let error = Policy::from_toml(text).unwrap_err();
            assert!(error.to_string().contains(why), "{text}: {error}");
            assert_eq!(error.code(), "FORGE0009");
        }
        let policy = Policy::from_toml("[approvals]\nneeded = 1\npeople = [\"Ada\"]").unwrap();
        assert!(
            policy.approvals.names("aDA") && !policy.approvals.names("eve") && !policy.approvals.names("")
        );
    }
}
