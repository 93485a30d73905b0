//! A connection to a cluster's API.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Uri};
use serde_json::Value as Json;
use slipway_cluster_api::{self as cluster_api, Credentials, Server, Trust, Unusable};
use slipway_resource::SecretText;
use slipway_trust::Reach;

use crate::Error;

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(30);
/// No answer is larger: 64 MiB, that of a list of some ten thousand pods.
const LARGEST: usize = 64 << 20;
/// How many objects one page of a list has.
const PAGE: usize = 500;

/// How a cluster's API is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Its URL, as `https://api.a.example.com`.
    pub endpoint: String,
    /// The certificates that it is trusted by, in PEM; those of the system without.
    pub ca_file: Option<PathBuf>,
    /// The file with the bearer token; it is read again for each connection, since tokens are renewed in their file.
    pub token_file: Option<PathBuf>,
    /// Of an endpoint that a spec names: the networks and names in which the caller allows reserved addresses. None for an
    /// endpoint of the caller's own, which may be anywhere.
    pub networks: Option<Vec<String>>,
}

/// A connection to a cluster's API.
#[derive(Clone, Debug)]
pub struct Client {
    api: cluster_api::Client,
}

impl Client {
    /// Prepares a connection; nothing is called yet.
    ///
    /// # Errors
    /// When the endpoint is no URL, a token would travel in clear, or a file cannot be read.
    pub fn connect(access: &Access) -> Result<Self, Error> {
        let endpoint = access.endpoint.trim_end_matches('/').to_owned();
        let uri: Option<Uri> = endpoint.parse().ok();
        let (scheme, host) = uri
            .as_ref()
            .and_then(|uri| Some((uri.scheme_str()?, uri.host()?)))
            .filter(|(scheme, _)| matches!(*scheme, "http" | "https"))
            .ok_or_else(|| Error::Endpoint { endpoint: access.endpoint.clone() })?;
        let is_here = matches!(host, "127.0.0.1" | "localhost" | "[::1]");
        if scheme == "http" && access.token_file.is_some() && !is_here {
            return Err(Error::TokenInClear { endpoint });
        }
        let reach =
            access.networks.as_deref().map_or_else(Reach::anywhere, |allowed| Reach::host(host, allowed));
        reach
            .check_literal(host)
            .map_err(|error| Error::Unreachable { endpoint: endpoint.clone(), text: error.to_string() })?;
        let trust = match access.ca_file.as_deref() {
            Some(path) => Trust::Authorities(read(path)?),
            None => Trust::System,
        };
        let credentials = match access.token_file.as_deref() {
            Some(path) => Credentials::Token(SecretText::new(read(path)?.trim())),
            None => Credentials::Anonymous,
        };
        let server = Server { url: endpoint, trust, credentials, reach };
        let api = cluster_api::Client::to(&server).map_err(|error: Unusable| Error::File {
            path: access.ca_file.clone().unwrap_or_default(),
            source: error.into(),
        })?;
        Ok(Self { api })
    }

    /// The gates of an API that a client is at hand for.
    #[must_use]
    pub fn new(api: cluster_api::Client) -> Self {
        Self { api }
    }

    /// Asks for an object.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn get(&self, path: &str) -> Result<Json, Error> {
        self.send(Method::GET, path, None).await
    }

    /// All objects of a list, page by page. The path has a query already.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn list(&self, path: &str) -> Result<Vec<Json>, Error> {
        let mut items = Vec::new();
        let mut next = String::new();
        loop {
            let mut page = self.get(&format!("{path}&limit={PAGE}{next}")).await?;
            if let Some(Json::Array(found)) = page.get_mut("items").map(Json::take) {
                items.extend(found);
            }
            match page.pointer("/metadata/continue").and_then(Json::as_str).filter(|token| !token.is_empty())
            {
                Some(token) => next = format!("&continue={}", escaped(token)),
                None => return Ok(items),
            }
        }
    }

    /// Sends a document.
    ///
    /// # Errors
    /// As the API says.
    pub(crate) async fn send_document(
        &self,
        method: Method,
        path: &str,
        (media_type, document): (&'static str, &Json),
    ) -> Result<Json, Error> {
        self.send(method, path, Some((media_type, document.to_string()))).await
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, String)>,
    ) -> Result<Json, Error> {
        let mut request = Request::builder()
            .method(method.clone())
            .uri(path)
            .header("accept", "application/json")
            .header("user-agent", concat!("slipway/", env!("CARGO_PKG_VERSION")));
        if let Some((media_type, _)) = &body {
            request = request.header("content-type", *media_type);
        }
        let body = Bytes::from(body.map(|(_, text)| text).unwrap_or_default());
        let request = request
            .body(body)
            .map_err(|error| Error::Answer { path: path.to_owned(), text: error.to_string() })?;
        let unreachable =
            |text: String| Error::Unreachable { endpoint: self.api.endpoint().to_string(), text };
        let reply = tokio::time::timeout(REQUEST, self.api.exchange(request, LARGEST))
            .await
            .map_err(|_| unreachable(format!("no answer within {} s", REQUEST.as_secs())))?
            .map_err(|failure| unreachable(failure.to_string()))?;
        let (status, body) = (reply.status, reply.body);
        let document: Result<Json, _> = serde_json::from_slice(&body);
        if !status.is_success() {
            let document = document.unwrap_or_default();
            return Err(Error::Refused {
                method: method.to_string(),
                path: path.to_owned(),
                status: status.as_u16(),
                reason: document.get("reason").and_then(Json::as_str).unwrap_or_default().to_owned(),
                message: told(&document),
            });
        }
        document.map_err(|error| Error::Answer { path: path.to_owned(), text: error.to_string() })
    }
}

/// What a `Status` says: its message, and the details of its causes, which name the budget that holds an eviction up.
fn told(status: &Json) -> String {
    let causes = status.pointer("/details/causes").and_then(Json::as_array).into_iter().flatten();
    let causes: Vec<&str> =
        causes.filter_map(|cause| cause.get("message")?.as_str()).filter(|text| !text.is_empty()).collect();
    if causes.is_empty() {
        status.get("message").and_then(Json::as_str).unwrap_or_default().to_owned()
    } else {
        causes.join("; ")
    }
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path)
        .map_err(|source| Error::File { path: path.to_owned(), source: source.into() })
}

/// A text as a part of a path or of a query: what is not unreserved in RFC 3986 is percent-encoded.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(endpoint: &str) -> Access {
        Access { endpoint: endpoint.to_owned(), ca_file: None, token_file: None, networks: None }
    }

    #[tokio::test]
    async fn endpoints_are_urls() {
        for good in ["http://127.0.0.1:8080", "https://api.a.example.com/", "https://[2001:db8::1]:6443"] {
            assert!(Client::connect(&access(good)).is_ok(), "{good}");
        }
        for bad in ["api.a.example.com", "ftp://a", ""] {
            assert!(matches!(Client::connect(&access(bad)), Err(Error::Endpoint { .. })), "{bad}");
        }
    }

    #[tokio::test]
    async fn an_endpoint_of_a_spec_is_at_no_reserved_address() {
        let at =
            |endpoint: &str, networks| Client::connect(&Access { networks, ..access(endpoint) }).map(drop);
        let metadata = "http://169.254.169.254";
        assert!(matches!(at(metadata, Some(Vec::new())), Err(Error::Unreachable { .. })));
        assert!(at(metadata, Some(vec!["169.254.169.254".to_owned()])).is_ok() && at(metadata, None).is_ok());
    }

    #[tokio::test]
    async fn a_token_never_travels_in_clear() {
        let folder = tempfile::tempdir().unwrap();
        let token = folder.path().join("token");
        std::fs::write(&token, "secret\n").unwrap();
        let with = |endpoint: &str| Access { token_file: Some(token.clone()), ..access(endpoint) };
        let refused = Client::connect(&with("http://api.a.example.com"));
        assert!(matches!(refused, Err(Error::TokenInClear { .. })), "{refused:?}");
        let client = Client::connect(&with("https://api.a.example.com")).unwrap();
        assert!(!format!("{client:?}").contains("secret"));
        let missing = Access { ca_file: Some(folder.path().join("ca")), ..access("https://a") };
        assert!(matches!(Client::connect(&missing), Err(Error::File { .. })));
    }

    #[test]
    fn a_refusal_names_its_cause() {
        let status = serde_json::json!({"message": "Cannot evict pod as it would violate the pod's disruption budget.",
            "details": {"causes": [{"reason": "DisruptionBudget",
                "message": "The disruption budget web needs 2 healthy pods and has 2 currently"}]}});
        assert_eq!(told(&status), "The disruption budget web needs 2 healthy pods and has 2 currently");
        assert_eq!(escaped("a=b/ü"), "a%3Db%2F%C3%BC");
    }
}
