//! Environment variables: those that a spec may read, and those that a provider's process gets.

use std::ffi::OsString;

/// A variable that the policy has granted. Only [`crate::Policy`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedVariable {
    name: String,
}

impl TrustedVariable {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned() }
    }

    /// Its text; none when it is not set, or no UTF-8.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        std::env::var(&self.name).ok()
    }
}

/// The prefixes of variables with credentials or settings of the user who runs Slipway.
const CREDENTIALS: [&str; 18] = [
    "ACTIONS_",
    "ANSIBLE_",
    "ARM_",
    "AWS_",
    "AZURE_",
    "BUILDKITE_AGENT_",
    "CI_JOB_",
    "CLOUDSDK_",
    "DIGITALOCEAN_",
    "DOCKER_",
    "GH_",
    "GITHUB_",
    "GITLAB_",
    "GOOGLE_",
    "SLIPWAY_",
    "SOPS_",
    "SSH_",
    "VAULT_",
];

/// Whether a variable, by its name, holds credentials of the caller.
pub(crate) fn is_credential(name: &str) -> bool {
    name == "KUBECONFIG" || CREDENTIALS.iter().any(|prefix| name.starts_with(prefix))
}

/// Whether a name matches one of the patterns, in which a `*` at the end matches any text.
pub(crate) fn fits<'a>(name: &str, patterns: impl IntoIterator<Item = &'a str>) -> bool {
    patterns.into_iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    })
}

/// The variables that every process needs to find its files and to use its network.
const USUAL: [&str; 26] = [
    "ALL_PROXY",
    "HOME",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LC_*",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "NO_PROXY",
    "PATH",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "SHELL",
    "SLIPWAY_LOG",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TEMP",
    "TERM",
    "TMP",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_*",
    "all_proxy",
    "https_proxy",
    "http_proxy",
];

/// The variables that open the state and its secrets. No provider needs them.
const NEVER: [&str; 8] = [
    "SLIPWAY_AGE_IDENTITY_FILE",
    "SLIPWAY_FALLBACK_PASSPHRASE",
    "SLIPWAY_FALLBACK_PASSPHRASE_FILE",
    "SLIPWAY_PASSPHRASE",
    "SLIPWAY_PASSPHRASE_FILE",
    "SOPS_AGE_KEY",
    "SOPS_AGE_KEY_CMD",
    "SOPS_AGE_KEY_FILE",
];

/// The environment of a provider's process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessEnvironment {
    /// The names and patterns that the provider declares; none for one that declares nothing.
    declared: Option<Vec<String>>,
}

impl ProcessEnvironment {
    /// The environment of a provider that declares these names: they and the usual variables. A provider
    /// without a declaration gets all variables except those that open the state.
    #[must_use]
    pub fn declared(names: Option<Vec<String>>) -> Self {
        Self { declared: names }
    }

    /// Whether the process gets a variable.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        if NEVER.contains(&name) {
            return false;
        }
        match &self.declared {
            Some(names) => {
                fits(name, USUAL) || name == "no_proxy" || fits(name, names.iter().map(String::as_str))
            }
            None => true,
        }
    }

    /// The variables of this process that the other one gets.
    #[must_use]
    pub fn of_this_process(&self) -> Vec<(OsString, OsString)> {
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|name| self.has(name))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_gets_what_it_declares() {
        let all = ProcessEnvironment::default();
        assert!(all.has("ANYTHING") && !all.has("SLIPWAY_PASSPHRASE") && !all.has("SOPS_AGE_KEY"));
        let some = ProcessEnvironment::declared(Some(vec!["AWS_*".to_owned()]));
        assert!(some.has("AWS_PROFILE") && some.has("PATH") && some.has("LC_ALL"));
        assert!(!some.has("GITHUB_TOKEN") && !some.has("SLIPWAY_PASSPHRASE"));
        let greedy = ProcessEnvironment::declared(Some(vec!["*".to_owned()]));
        assert!(greedy.has("GITHUB_TOKEN") && !greedy.has("SLIPWAY_PASSPHRASE"));
    }
}
