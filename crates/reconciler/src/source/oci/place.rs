//! The address of an artifact.

use std::net::IpAddr;

use reqwest::Url;

/// A repository of a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The address of the registry.
    pub registry: Url,
    /// The name of the repository.
    pub name: String,
    /// Whether plain HTTP is allowed to every host.
    pub insecure_http: bool,
}

impl Place {
    /// Parses `oci://registry.example.com/name`.
    ///
    /// # Errors
    /// Why it cannot be used, as the end of a sentence.
    pub fn parse(text: &str, insecure_http: bool) -> Result<Self, String> {
        let rest = text.strip_prefix("oci://").ok_or("begins with oci://")?;
        let (host, name) = rest.split_once('/').ok_or("names a registry and a repository")?;
        if host.is_empty() || host.contains(['@', '?', '#']) {
            return Err("names no registry; credentials are in `username` and `token-file`".to_owned());
        }
        let is_part = |part: &str| {
            let allowed = |byte: u8| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'.' | b'_' | b'-')
            };
            !part.is_empty() && !part.starts_with(['.', '-', '_']) && part.bytes().all(allowed)
        };
        if name.len() > 255 || !name.split('/').all(is_part) {
            return Err("names no repository; the tag is in `tag`".to_owned());
        }
        let parsed = |scheme: &str| {
            Url::parse(&format!("{scheme}://{host}/")).map_err(|error| format!("cannot be used: {error}"))
        };
        let https = parsed("https")?;
        // A registry on this machine has no certificate.
        let registry = if insecure_http || is_here(&https) { parsed("http")? } else { https };
        Ok(Self { registry, name: name.to_owned(), insecure_http })
    }

    /// Whether a URL that the registry names may be called.
    pub fn allows(&self, url: &Url) -> bool {
        url.scheme() == "https" || (url.scheme() == "http" && (self.insecure_http || is_here(url)))
    }

    /// Whether a server of tokens gets the user and the password: it is on the host of the registry, or on one of some others.
    pub fn trusts(&self, server: &Url, others: &[String]) -> bool {
        let Some(host) = server.host_str() else { return false };
        Some(host) == self.registry.host_str() || others.iter().any(|other| other.eq_ignore_ascii_case(host))
    }
}

/// Whether a text is a host without scheme, port and path.
pub(crate) fn is_host(text: &str) -> bool {
    let is_same = |url: Url| url.host_str().is_some_and(|host| host.eq_ignore_ascii_case(text));
    !text.contains('*') && Url::parse(&format!("https://{text}/")).is_ok_and(is_same)
}

/// Whether a URL names this machine.
fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repositories_are_named() {
        let place = Place::parse("oci://ghcr.io/platform/fleet", false).unwrap();
        assert_eq!((place.registry.as_str(), place.name.as_str()), ("https://ghcr.io/", "platform/fleet"));
        let here = Place::parse("oci://127.0.0.1:5000/fleet", false).unwrap();
        assert_eq!(here.registry.as_str(), "http://127.0.0.1:5000/");
        for bad in [
            "https://ghcr.io/fleet",
            "oci://ghcr.io",
            "oci://ada:x@ghcr.io/fleet",
            "oci://ghcr.io/fleet:v1",
            "oci://ghcr.io/a/../b",
            "oci://ghcr.io/a?b",
            "oci:///a",
        ] {
            assert!(Place::parse(bad, false).is_err(), "{bad}");
        }
    }

    #[test]
    fn passwords_reach_the_host_of_the_registry_and_listed_hosts_only() {
        let place = Place::parse("oci://registry.example.com/fleet", false).unwrap();
        let trusts = |url: &str| place.trusts(&url.parse().unwrap(), &["Auth.example.com".to_owned()]);
        for good in ["https://registry.example.com/token", "https://auth.example.com/token?x=y"] {
            assert!(trusts(good), "{good}");
        }
        for bad in [
            "https://example.com/token",
            "https://registry.example.com.example.org/token",
            "https://registry.example.com@example.org/token",
            "https://an.auth.example.com/token",
        ] {
            assert!(!trusts(bad), "{bad}");
        }
        for host in ["auth.example.com", "Auth.example.com", "10.0.0.1", "[::1]"] {
            assert!(is_host(host), "{host}");
        }
        for other in
            ["", "https://auth.example.com", "auth.example.com/token", "auth.example.com:5001", "a@b", "*.b"]
        {
            assert!(!is_host(other), "{other}");
        }
    }
}
