//! Where a forge is.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use crate::error::Error;

/// The address of a forge's site: `https`, or `http` on the loopback interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(Url);

impl Address {
    /// Parses an address. With `insecure_http`, plain HTTP is allowed to every host: the token is then sent in clear.
    ///
    /// # Errors
    /// [`Error::Address`] for another scheme, an address with user, password, query or fragment, or plain HTTP that is not
    /// allowed.
    pub fn parse(text: &str, insecure_http: bool) -> Result<Self, Error> {
        let mut url = Url::parse(text.trim()).map_err(|error| Error::Address {
            // A text that is no URL may be a token that was passed by mistake.
            address: "of the forge".to_owned(),
            reason: error.to_string(),
        })?;
        let is_bare = url.username().is_empty() && url.password().is_none();
        // An address in a message never contains a password.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        let unusable = |reason: &str| Error::Address { address: url.to_string(), reason: reason.to_owned() };
        if !is_bare {
            return Err(unusable("it has a user or a password"));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(unusable("it has a query or a fragment"));
        }
        match url.scheme() {
            "https" => {}
            "http" if insecure_http || is_loopback(&url) => {}
            "http" => return Err(unusable("it is not encrypted")),
            scheme => return Err(unusable(&format!("the scheme {scheme} is not https"))),
        }
        Ok(Self(url))
    }

    /// The host, for names of people.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The address with a path of the API behind it, without a slash at the end.
    pub(crate) fn api(&self, path: &str) -> String {
        format!("{}{path}", self.0.as_str().trim_end_matches('/'))
    }
}

/// Prints without a slash at the end, so that one site has one text.
impl fmt::Display for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.api(""))
    }
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_encrypted_or_local_addresses_are_used() {
        for (text, insecure) in [
            ("https://git.example.com", false),
            ("https://example.com/git/", false),
            ("http://127.0.0.1:3000", false),
            ("http://[::1]:3000", false),
            ("http://localhost:3000", false),
            ("http://git.example.com", true),
        ] {
            let address = Address::parse(text, insecure).unwrap();
            assert_eq!(address.api("/x"), format!("{}/x", text.trim_end_matches('/')));
        }
        for (text, why) in [
            ("http://git.example.com", "not encrypted"),
            ("http://127.0.0.1.example.com", "not encrypted"),
            ("ftp://git.example.com", "scheme ftp"),
            ("https://ada:hunter2@git.example.com", "user or a password"),
            ("https://git.example.com/?token=hunter2", "query"),
            ("git.example.com", "relative URL"),
        ] {
            let error = Address::parse(text, false).unwrap_err();
            assert!(error.to_string().contains(why), "{text}: {error}");
            assert_eq!(error.code(), "FORGE0001");
        }
        let error = Address::parse("https://ada:hunter2@git.example.com", false).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
