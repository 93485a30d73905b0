//! The addresses of stores.

use std::net::IpAddr;

use crate::backend::settings::Settings;
use crate::backend::{Error, Result};

/// The address of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    /// The whole address, without a `/` at its end.
    pub url: String,
    /// The host and port.
    pub authority: String,
    /// Whether it is without TLS.
    pub is_http: bool,
}

/// Checks an address. Without TLS it may only be on this very host, unless the user allows more.
pub(super) fn check(setting: &str, url: &str, settings: &Settings) -> Result<Endpoint> {
    let invalid =
        |reason: &str| Error::InvalidSetting { setting: setting.into(), reason: format!("{url}: {reason}") };
    let (is_http, rest) = match url.split_once("://") {
        Some(("https", rest)) => (false, rest),
        Some(("http", rest)) => (true, rest),
        _ => return Err(invalid("an address begins with https:// or http://")),
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.is_empty() || authority.contains('@') {
        return Err(invalid("a host is needed, without a user"));
    }
    if is_http && !is_loopback(authority) && !settings.allow_http {
        return Err(invalid("http:// is allowed to this host only, unless `allow-http` is set"));
    }
    let url = url.trim_end_matches('/').to_owned();
    Ok(Endpoint { url, authority: authority.to_owned(), is_http })
}

fn is_loopback(authority: &str) -> bool {
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_tls_only_on_this_host() {
        let settings = Settings::new([]);
        let mut allow = settings.clone();
        allow.allow_http = true;
        for good in
            ["https://s3.example.com", "http://127.0.0.1:9000/", "http://[::1]:9000", "http://localhost"]
        {
            assert!(check("endpoint", good, &settings).is_ok(), "{good}");
        }
        for bad in ["http://10.0.0.1:9000", "http://localhost.example.com", "http://127.0.0.1@example.com"] {
            assert_eq!(check("endpoint", bad, &settings).unwrap_err().code(), "STATE0025", "{bad}");
        }
        assert!(check("endpoint", "http://10.0.0.1:9000", &allow).is_ok());
        for bad in ["s3.example.com", "ftp://x", "https://", "https://user@host"] {
            assert!(check("endpoint", bad, &allow).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_authority_is_what_requests_show() {
        let endpoint = check("endpoint", "http://127.0.0.1:9000/", &Settings::new([])).unwrap();
        assert_eq!(
            (endpoint.url.as_str(), endpoint.authority.as_str()),
            ("http://127.0.0.1:9000", "127.0.0.1:9000")
        );
    }
}
