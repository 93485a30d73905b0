//! The name of a tenant.

use std::fmt;
use std::str::FromStr;

/// The longest name: the Service of a tenant is `etcd-<name>`, and names of Services have 63 letters at most.
const LONGEST: usize = 58;

/// The name of a tenant: the name of its `EtcdStorage`, a DNS label (RFC 1123) of at most 58 letters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tenant(String);

/// The text is not the name of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not the name of a tenant: a name has 1 to {LONGEST} lower-case letters, digits and `-`, and begins and \
     ends with a letter or a digit"
)]
pub struct InvalidTenant(String);

impl Tenant {
    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }

    /// The prefix of the tenant's keys in the core, `/<name>/`. `etcd grpc-proxy --namespace=/<name>/` uses
    /// the same keys.
    #[must_use]
    pub fn prefix(&self) -> String {
        format!("/{}/", self.0)
    }

    /// The prefix of the proxy's own keys in the core. No name of a tenant begins with a dot.
    #[must_use]
    pub fn records_prefix(&self) -> String {
        format!("/.slipway/{}/", self.0)
    }
}

impl FromStr for Tenant {
    type Err = InvalidTenant;

    fn from_str(text: &str) -> Result<Self, InvalidTenant> {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let valid = !text.is_empty()
            && text.len() <= LONGEST
            && text.bytes().all(inner)
            && !text.starts_with('-')
            && !text.ends_with('-');
        if valid { Ok(Self(text.to_owned())) } else { Err(InvalidTenant(text.to_owned())) }
    }
}

impl fmt::Display for Tenant {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_dns_labels_that_fit_a_service() {
        for name in ["a", "etcd-name", "1", &"a".repeat(58)] {
            assert_eq!(name.parse::<Tenant>().unwrap().prefix(), format!("/{name}/"));
        }
        for name in ["", "-a", "a-", "a.b", "a/b", ".slipway", "A", &"a".repeat(59)] {
            assert_eq!(name.parse::<Tenant>(), Err(InvalidTenant(name.to_owned())));
        }
    }
}
