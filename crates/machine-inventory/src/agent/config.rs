//! The configuration of the agent, a YAML file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::SignedDuration;
use serde::Deserialize;
use slipway_limits::{file, size};

use crate::api::HostAddress;

/// The configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {path} cannot be read")]
    Unreadable {
        /// Its path.
        path: PathBuf,
        /// Why.
        #[source]
        cause: std::io::Error,
    },
    /// The file has no such document.
    #[error("the configuration {path}: {reason}")]
    Invalid {
        /// Its path.
        path: PathBuf,
        /// Why.
        reason: String,
    },
}

/// The configuration of the agent.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Config {
    /// Access to the registration API, as `spec.config.elemental.registration` of an ElementalRegistration has it.
    pub registration: Access,
    /// Name of the host, which its Node must have. The default is the host name of the system.
    #[serde(default)]
    pub hostname: Option<String>,
    /// Folder with the key of the host and the state of the agent.
    #[serde(default = "work_dir")]
    pub work_dir: PathBuf,
    /// Time between two reports, such as `10s`.
    #[serde(default = "reconciliation")]
    reconciliation: String,
    /// Addresses that the system does not know, such as one behind NAT. They come before those of the interfaces.
    #[serde(default)]
    pub addresses: Vec<HostAddress>,
    /// File that says to which cluster the machine belongs. Nodes of Slipway have the same file.
    #[serde(default = "owner_file")]
    pub owner_file: PathBuf,
    /// File that the bootstrap data writes when it has succeeded.
    #[serde(default = "sentinel")]
    pub sentinel_file: PathBuf,
    /// Commands of the shell that reset the host, in their order.
    #[serde(default = "reset")]
    pub reset: Vec<String>,
}

/// Access to the registration API.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Access {
    /// Address of the registration.
    pub uri: String,
    /// Token of the registration.
    pub token: String,
    /// Certificate of the authority of the API, in PEM. Without it, the authorities of the system are trusted.
    #[serde(default)]
    pub ca_cert: Option<String>,
    /// Allow an address without TLS.
    #[serde(default)]
    pub insecure_allow_http: bool,
}

fn work_dir() -> PathBuf {
    "/var/lib/slipway/machine-inventory".into()
}

fn reconciliation() -> String {
    "10s".to_owned()
}

fn owner_file() -> PathBuf {
    "/var/lib/slipway/owner".into()
}

fn sentinel() -> PathBuf {
    "/run/cluster-api/bootstrap-success.complete".into()
}

fn reset() -> Vec<String> {
    vec!["kubeadm reset --force".to_owned()]
}

impl Config {
    /// Reads the file.
    ///
    /// # Errors
    /// When it cannot be read, or is no configuration.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let text = file::read_given_text(path, size::CONFIGURATION)
            .map_err(|cause| ConfigError::Unreadable { path: path.to_owned(), cause })?;
        Self::parse(&text).map_err(|reason| ConfigError::Invalid { path: path.to_owned(), reason })
    }

    fn parse(text: &str) -> Result<Self, String> {
        let config: Self = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        let uri = &config.registration.uri;
        let is_plain = config.registration.insecure_allow_http && uri.starts_with("http://");
        if !(is_plain || uri.starts_with("https://")) {
            return Err(format!(
                "registration.uri: {uri} is not an https URL (registration.insecureAllowHttp allows http)"
            ));
        }
        let period: Option<SignedDuration> = config.reconciliation.parse().ok();
        if period.is_none_or(|period| period <= SignedDuration::ZERO) {
            return Err(format!("reconciliation: `{}` is not a time such as 10s", config.reconciliation));
        }
        Ok(config)
    }

    /// The time between two reports.
    #[must_use]
    pub fn period(&self) -> Duration {
        let parsed: Option<SignedDuration> = self.reconciliation.parse().ok();
        parsed.and_then(|period| period.try_into().ok()).unwrap_or(Duration::from_secs(10))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_must_be_allowed_and_unknown_fields_are_refused() {
        let parse = |text: &str| Config::parse(text).map(|config| config.period());
        let secs = Duration::from_secs;
        assert_eq!(parse("registration: {uri: 'https://a/x', token: t}"), Ok(secs(10)));
        assert_eq!(parse("{registration: {uri: 'https://a/x', token: t}, reconciliation: 1m}"), Ok(secs(60)));
        assert_eq!(
            parse("registration: {uri: 'http://a/x', token: t, insecureAllowHttp: true}"),
            Ok(secs(10))
        );
        assert!(
            parse("registration: {uri: 'http://a/x', token: t}").unwrap_err().contains("insecureAllowHttp")
        );
        assert!(parse("{registration: {uri: 'https://a/x', token: t}, reconciliation: 0s}").is_err());
        assert!(
            parse("{registration: {uri: 'https://a/x', token: t}, debug: true}")
                .unwrap_err()
                .contains("debug")
        );
    }
}
