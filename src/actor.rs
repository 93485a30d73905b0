//! The actor of a command, as the head, the history and the approvals record it.

use rustix::process::getuid;
use slipway_operations::{Actor, Error};
use slipway_state_store::process;

/// Pipelines: the variable by which each is recognised, and the variable with the name of the user that started it.
const PIPELINES: [(&str, &str); 5] = [
    ("GITHUB_ACTIONS", "GITHUB_ACTOR"),
    ("GITLAB_CI", "GITLAB_USER_LOGIN"),
    ("BUILDKITE", "BUILDKITE_BUILD_CREATOR_EMAIL"),
    ("CIRCLECI", "CIRCLE_USERNAME"),
    ("JENKINS_URL", "BUILD_USER_ID"),
];

/// The actor of this call: from `SLIPWAY_ACTOR`, the configuration, the pipeline's variables, or the user of
/// this host. No file is opened for it, because a plan with `--untrusted` has an actor, too: a user without a name in the
/// environment, as in a container, is `root` or has the number of the user.
///
/// # Errors
/// When the name can be taken for that of another person.
pub(crate) fn current(configured: Option<String>) -> Result<Actor, Error> {
    of(&variable, configured, getuid().as_raw(), &process::host())
}

fn of(
    variable: &dyn Fn(&str) -> Option<String>,
    configured: Option<String>,
    user_id: u32,
    host: &str,
) -> Result<Actor, Error> {
    let pipeline = || {
        let named = PIPELINES.iter().filter(|(mark, _)| variable(mark).is_some());
        named.filter_map(|(_, name)| variable(name)).next()
    };
    let user = || variable("USER").or_else(|| variable("LOGNAME"));
    let person = variable("SLIPWAY_ACTOR").or(configured).or_else(pipeline).or_else(user);
    let numbered = || if user_id == 0 { "root".to_owned() } else { format!("uid{user_id}") };
    Actor::new(person.unwrap_or_else(numbered), host)
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(variables: &[(&str, &str)], configured: Option<&str>) -> String {
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        of(&variable, configured.map(str::to_owned), 1000, "laptop").unwrap().who
    }

    #[test]
    fn the_nearest_word_counts() {
        assert_eq!(who(&[], None), "uid1000@laptop");
        assert_eq!(of(&|_| None, None, 0, "laptop").unwrap().who, "root@laptop");
        assert_eq!(who(&[("USER", "ada")], None), "ada@laptop");
        let pipeline = [("USER", "runner"), ("GITHUB_ACTIONS", "true"), ("GITHUB_ACTOR", "ada")];
        assert_eq!(who(&pipeline, None), "ada@laptop");
        assert_eq!(who(&[("USER", "runner"), ("GITHUB_ACTOR", "ada")], None), "runner@laptop");
        assert_eq!(who(&pipeline, Some("robot")), "robot@laptop");
        let named = [&pipeline[..], &[("SLIPWAY_ACTOR", "ada@example.com")]].concat();
        assert_eq!(who(&named, Some("robot")), "ada@example.com");
    }
}
