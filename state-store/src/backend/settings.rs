//! Settings of a backend beside its address: the environment, and the options of the configuration file.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// How long a request may take, beside the transfer of what is in it.
const TIMEOUT: Duration = Duration::from_secs(15);

/// The environment of the process, and what the user set.
///
/// Explicit settings of the user take precedence over the environment, and the environment over shared files.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    environment: BTreeMap<String, String>,
    /// Options of S3.
    pub s3: S3,
    /// Options of Google Cloud Storage.
    pub google: Google,
    /// Options of Azure Blob Storage.
    pub azure: Azure,
    /// Whether connections without TLS are allowed to more than this very host.
    pub allow_http: bool,
    /// How long a request may take, beside the transfer of what is in it.
    pub timeout: Option<Duration>,
}

/// Options of S3 and of what speaks its language.
#[derive(Clone, Debug, Default)]
pub struct S3 {
    /// The region of the bucket.
    pub region: Option<String>,
    /// The address of a store that is not AWS.
    pub endpoint: Option<String>,
    /// A profile of the shared files of AWS.
    pub profile: Option<String>,
    /// Whether the bucket is part of the host's name; it is part of the path otherwise.
    pub virtual_hosted_style: bool,
    /// The key of the key service with which the bucket encrypts (SSE-KMS).
    pub kms_key: Option<String>,
}

/// Options of Google Cloud Storage.
#[derive(Clone, Debug, Default)]
pub struct Google {
    /// The address of a store that is not Google's.
    pub endpoint: Option<String>,
    /// A file with a credential.
    pub credentials_file: Option<PathBuf>,
}

/// Options of Azure Blob Storage.
#[derive(Clone, Debug, Default)]
pub struct Azure {
    /// The storage account.
    pub account: Option<String>,
    /// The address of a store that is not Azure's public one, with the account where it is part of the path.
    pub endpoint: Option<String>,
}

impl Settings {
    /// The environment of this process, and no options.
    pub fn from_process() -> Self {
        // The known variables are text, so others are skipped.
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self::new(std::env::vars_os().filter_map(text))
    }

    /// An environment of its own, and no options.
    pub fn new(environment: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { environment: environment.into_iter().collect(), ..Self::default() }
    }

    /// The same, with the region of a bucket where neither an option nor a variable names one. It becomes a part of the name of the
    /// server, so anything but a name of letters, digits and hyphens is left out: it may come from a spec.
    #[must_use]
    pub fn in_region(mut self, region: &str) -> Self {
        let is_named = ["AWS_REGION", "AWS_DEFAULT_REGION"].iter().any(|name| self.variable(name).is_some());
        let is_name = region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if self.s3.region.is_none() && !is_named && is_name && !region.is_empty() {
            self.s3.region = Some(region.to_owned());
        }
        self
    }

    /// A variable that is set to something.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        self.environment.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// The variables whose names begin with `start`.
    pub(crate) fn variables<'a>(&'a self, start: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
        let all =
            self.environment.iter().filter(move |(name, value)| name.starts_with(start) && !value.is_empty());
        all.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The home directory of the user.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.variable("HOME").map(PathBuf::from)
    }

    pub(crate) fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(TIMEOUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_region_of_a_cluster_is_the_last_choice() {
        let region = |variables: &[(&str, &str)]| {
            let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Settings::new(variables).in_region("eu-west-1").s3.region
        };
        assert_eq!(region(&[]).as_deref(), Some("eu-west-1"));
        assert_eq!(region(&[("AWS_REGION", "")]).as_deref(), Some("eu-west-1"));
        assert_eq!(region(&[("AWS_REGION", "us-east-1")]), None, "the variable is read later");
        assert_eq!(region(&[("AWS_DEFAULT_REGION", "us-east-1")]), None);
        for other in ["", "example.com/#", "a.b", "a b", "a@b"] {
            assert_eq!(Settings::default().in_region(other).s3.region, None, "{other}");
        }
        let mut settings = Settings::default();
        settings.s3.region = Some("us-east-1".to_owned());
        assert_eq!(settings.in_region("eu-west-1").s3.region.as_deref(), Some("us-east-1"));
    }
}
