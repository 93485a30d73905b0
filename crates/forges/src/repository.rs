//! The name of a repository on a forge.

use std::fmt;

use crate::error::Error;

/// The longest name: GitLab allows paths of 255 characters.
const LONGEST: usize = 255;

/// The name of a repository, as `owner/name`; on GitLab with all groups, as `group/subgroup/name`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repository(String);

impl Repository {
    /// Parses a name. Its parts have letters, digits, `.`, `-` and `_`, so that it is safe in a path of the API.
    ///
    /// # Errors
    /// [`Error::Repository`] for any other text.
    pub fn parse(name: &str) -> Result<Self, Error> {
        let is_part = |part: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            !part.is_empty() && part != "." && part != ".." && part.bytes().all(fits)
        };
        let parts: Vec<&str> = name.split('/').collect();
        if name.len() > LONGEST || parts.len() < 2 || !parts.iter().all(|part| is_part(part)) {
            return Err(Error::Repository { name: name.chars().take(LONGEST).collect() });
        }
        Ok(Self(name.to_owned()))
    }

    /// The whole name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as one segment of a path, as GitLab takes it.
    pub(crate) fn as_segment(&self) -> String {
        self.0.replace('/', "%2F")
    }

    /// Whether another text names this repository. Forges do not tell capital letters apart.
    #[must_use]
    pub fn is_named(&self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leads_out_of_its_path() {
        assert_eq!(Repository::parse("group/sub/infra").unwrap().as_segment(), "group%2Fsub%2Finfra");
        assert!(Repository::parse("Ada/Infra").unwrap().is_named("ada/infra"));
        for name in
            ["", "infra", "a//b", "/a/b", "a/b/", "a/..", "../a/b", "a/b?c", "a/b#c", "a/%2e%2e", "a b/c"]
        {
            assert_eq!(Repository::parse(name).unwrap_err().code(), "FORGE0002", "{name}");
        }
    }
}
