use std::{fmt, ops::Deref, str::FromStr};

use super::{Format, Malformed, format::string_value};

/// A Kubernetes release with all three numbers, as in `1.35.2`; a leading `v` is read and left out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion(semver::Version);

impl KubernetesVersion {
    /// The release with these three numbers.
    #[must_use]
    pub const fn new(major: u64, minor: u64, patch: u64) -> Self {
        Self(semver::Version::new(major, minor, patch))
    }

    /// The version as the `semver` type.
    #[must_use]
    pub const fn get(&self) -> &semver::Version {
        &self.0
    }
}

impl Deref for KubernetesVersion {
    type Target = semver::Version;

    fn deref(&self) -> &semver::Version {
        &self.0
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for KubernetesVersion {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let bare = text.strip_prefix('v').unwrap_or(text);
        semver::Version::parse(bare).map(Self).map_err(|_| {
            let numbers = bare.split('.').map(str::parse::<u32>).collect::<Result<Vec<_>, _>>();
            match numbers.as_deref() {
                Ok([major, minor]) => Malformed::new(
                    "does not name a patch release",
                    format!("write all three numbers, as in \"{major}.{minor}.0\", so that an upgrade is always your decision"),
                ),
                _ => Malformed::new("is not a version", "write the three numbers of a release, as in 1.35.2"),
            }
        })
    }
}

string_value!(
    KubernetesVersion,
    Format::KubernetesVersion,
    "KubernetesVersion",
    "A Kubernetes release with all three numbers."
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_with_and_without_the_letter() {
        assert_eq!("v1.35.2".parse::<KubernetesVersion>().unwrap(), KubernetesVersion::new(1, 35, 2));
    }

    #[test]
    fn asks_for_the_patch() {
        assert!("1.35".parse::<KubernetesVersion>().unwrap_err().hint.contains("\"1.35.0\""));
        assert!("latest".parse::<KubernetesVersion>().is_err());
    }
}
