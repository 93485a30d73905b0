//! Reads documents over HTTPS, such as manifests and kubeconfigs.
//!
//! This is an ordinary HTTP client, not one for the API of a cluster. It uses no proxy and follows no
//! redirect by itself, so that each address that it connects to was allowed.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use reqwest::{Client, Url};
use slipway_limits::size;
use slipway_resource::with_causes;
use slipway_trust::Reach;

use crate::{Credentials, Trust};

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(15);

/// Why a document was not read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The URL, a certificate or a key cannot be used, or the address of the server is not allowed.
    #[error("{0}")]
    Unusable(String),
    /// The server does not answer, or it is not trusted.
    #[error("{url} does not answer: {text}")]
    Unreachable {
        /// The URL.
        url: String,
        /// The error, with its causes.
        text: String,
    },
    /// The server refuses.
    #[error("{url}: {status}")]
    Refused {
        /// The URL.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// The document is larger than is allowed, or it is not text.
    #[error("the answer to {url} cannot be read: {text}")]
    Unreadable {
        /// The URL.
        url: String,
        /// The problem.
        text: String,
    },
}

/// The result of a request.
#[derive(Debug)]
pub enum Document {
    /// A text.
    Text(String),
    /// Another URL.
    Elsewhere(String),
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub struct Way {
    /// How the server is verified.
    pub trust: Trust,
    /// The credentials for the server.
    pub credentials: Credentials,
    /// The addresses that the client may connect to.
    pub reach: Reach,
}

impl Way {
    /// A server that the caller names, and that the system trusts.
    pub fn of_caller() -> Self {
        Self { trust: Trust::System, credentials: Credentials::Anonymous, reach: Reach::anywhere() }
    }
}

/// Resolves a name to the addresses at which its server may be.
struct Reached(Reach);

impl Resolve for Reached {
    fn resolve(&self, name: Name) -> Resolving {
        let reach = self.0.clone();
        Box::pin(async move {
            let addresses = reach.addresses(name.as_str()).await?;
            let places = addresses.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(Box::new(places) as Addrs)
        })
    }
}

/// Reads the document at a URL once.
///
/// # Errors
/// When the URL is not an `https` one, its server may not be called, does not answer or refuses, or the document is too large.
pub async fn get(url: &str, way: Way) -> Result<Document, Error> {
    let unusable = |text: String| Error::Unusable(format!("{url} is not reached over https: {text}"));
    if !url.starts_with("https://") {
        return Err(Error::Unusable(format!("{url} is not an https URL")));
    }
    // The policy has decided about the text: a URL that the parser takes for another one is refused.
    if is_rewritten(url) {
        return Err(unusable("it has a backslash, a blank, or the path segment `.` or `..`".to_owned()));
    }
    let parsed = Url::parse(url).map_err(|error| unusable(error.to_string()))?;
    let host = parsed.host_str().unwrap_or_default();
    // The client does not resolve a host that is an IP address.
    way.reach.check_literal(host).map_err(|error| Error::Unusable(error.to_string()))?;
    let tls = crate::configuration(&way.trust, &way.credentials)
        .map_err(|error| Error::Unusable(error.to_string()))?;
    #[allow(clippy::disallowed_methods, reason = "its resolver is `slipway_trust::Reach`")]
    let client = Client::builder()
        .tls_backend_preconfigured(tls)
        .dns_resolver(Arc::new(Reached(way.reach)))
        .https_only(true)
        .no_proxy()
        .redirect(Policy::none())
        .timeout(REQUEST)
        .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| unusable(with_causes(&error)))?;
    let unreachable = |error: reqwest::Error| {
        let text = with_causes(&error.without_url());
        Error::Unreachable { url: url.to_owned(), text }
    };
    let mut answer = client.get(parsed.clone()).send().await.map_err(unreachable)?;
    let status = answer.status();
    if status.is_redirection()
        && let Some(to) = answer.headers().get(LOCATION).and_then(|to| to.to_str().ok())
    {
        let to = parsed.join(to).map_err(|error| unusable(error.to_string()))?;
        return Ok(Document::Elsewhere(to.to_string()));
    }
    if !status.is_success() {
        return Err(Error::Refused { url: url.to_owned(), status: status.as_u16() });
    }
    let unreadable = |text: String| Error::Unreadable { url: url.to_owned(), text };
    let mut body = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
        body.extend_from_slice(&chunk);
        if body.len() > size::MANIFEST.in_memory() {
            return Err(unreadable("it is too large".to_owned()));
        }
    }
    String::from_utf8(body).map(Document::Text).map_err(|error| unreadable(error.to_string()))
}

/// Whether the parser of URLs leads to another place than the text: it takes a backslash for `/`, drops blanks, and resolves
/// the path segments `.` and `..`.
fn is_rewritten(url: &str) -> bool {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let path = url.get(..end).unwrap_or_default().to_ascii_lowercase().replace("%2e", ".");
    url.chars().any(|character| character == '\\' || character.is_whitespace() || character.is_control())
        || path.split('/').any(|segment| segment == "." || segment == "..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_https_and_allowed_addresses_are_called() {
        let way = || Way { reach: Reach::servers(&[]), trust: Trust::Anybody, ..Way::of_caller() };
        for (url, why) in [
            ("http://127.0.0.1:1/a", "is not an https URL"),
            ("ftp://a.test/b", "is not an https URL"),
            ("https://169.254.169.254/latest", "169.254.169.254"),
            ("https://0xa9fea9fe/latest", "169.254.169.254"),
            ("https://a.test\\@b.test/c", "backslash"),
            ("https://a.test/b/../c", "path segment"),
            ("https://a.test/b/%2E%2e/c", "path segment"),
        ] {
            let error = get(url, way()).await.unwrap_err();
            assert!(matches!(error, Error::Unusable(_)), "{url}: {error}");
            assert!(error.to_string().contains(why), "{url}: {error}");
        }
        assert!(!is_rewritten("https://a.test/b..c/d.yaml?e=../f"));
    }
}
