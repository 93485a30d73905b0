//! The HTTP client of a forge: bounded, patient with rate limits, and silent about its token.

mod pause;

use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue, LINK};
use http::{HeaderMap, Method, StatusCode};
use reqwest::redirect::Policy;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use slipway_limits::text::{shorten, visible};
use slipway_limits::{Size, count, size};
use slipway_resource::with_causes;
use tokio::time::sleep;

use crate::address::Address;
use crate::error::Error;
use crate::token::Token;

/// How long one request may take.
const REQUEST: Duration = Duration::from_secs(30);
/// How often a request that changes nothing is sent.
const ATTEMPTS: u32 = 4;
/// The pause before the second attempt; it doubles with every further one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The part of a forge's message that is shown.
const MESSAGE: Size = Size { what: "a message of a forge", bytes: 300 };

/// An answer with a status that says success.
struct Answer {
    headers: HeaderMap,
    body: Vec<u8>,
}

/// The HTTP client of one forge.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    headers: HeaderMap,
    token: Option<Token>,
    patience: Duration,
}

impl Client {
    /// Of GitHub: its API has a host of its own at github.com, and a path on every other site.
    pub(crate) fn github(address: &Address, token: Option<Token>, patience: Duration) -> Result<Self, Error> {
        let base = match address.host() {
            "github.com" | "www.github.com" | "api.github.com" => "https://api.github.com".to_owned(),
            _ => address.api("/api/v3"),
        };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/vnd.github+json"));
        headers.insert("x-github-api-version", HeaderValue::from_static("2022-11-28"));
        Self::new(base, headers, (AUTHORIZATION, "Bearer "), token, patience)
    }

    /// Of GitLab.
    pub(crate) fn gitlab(address: &Address, token: Option<Token>, patience: Duration) -> Result<Self, Error> {
        let header = HeaderName::from_static("private-token");
        Self::new(address.api("/api/v4"), HeaderMap::new(), (header, ""), token, patience)
    }

    /// Of Gitea and Forgejo.
    pub(crate) fn gitea(address: &Address, token: Option<Token>, patience: Duration) -> Result<Self, Error> {
        Self::new(address.api("/api/v1"), HeaderMap::new(), (AUTHORIZATION, "token "), token, patience)
    }

    fn new(
        base: String,
        mut headers: HeaderMap,
        (header, prefix): (HeaderName, &str),
        token: Option<Token>,
        patience: Duration,
    ) -> Result<Self, Error> {
        if let Some(token) = &token {
            let mut value =
                HeaderValue::try_from(format!("{prefix}{}", token.expose())).map_err(|_| Error::Token)?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        #[allow(clippy::disallowed_methods, reason = "the operator names the forge")]
        let http = reqwest::Client::builder()
            // A redirect could lead the token to another host.
            .redirect(Policy::none())
            .timeout(REQUEST)
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Error::Address { address: base.clone(), reason: with_causes(&error) })?;
        Ok(Self { http, base, headers, token, patience })
    }

    /// Reads one thing.
    pub(crate) async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        parse(path, &self.send(&Method::GET, path, None).await?.body)
    }

    /// Reads all pages of a list. The path has a query already.
    pub(crate) async fn list<T: DeserializeOwned>(&self, path: &str) -> Result<Vec<T>, Error> {
        let mut items = Vec::new();
        for page in 1..=count::FORGE_PAGES {
            let answer = self.send(&Method::GET, &format!("{path}&page={page}"), None).await?;
            items.extend(parse::<Vec<T>>(path, &answer.body)?);
            // Only whether there is a next page is taken from the header: its address could be another host.
            if !has_next(&answer.headers) {
                return Ok(items);
            }
        }
        Err(Error::TooManyPages { path: path.to_owned(), pages: count::FORGE_PAGES })
    }

    /// Writes something and reads the answer.
    pub(crate) async fn write<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &Json,
    ) -> Result<T, Error> {
        parse(path, &self.send(&method, path, Some(body)).await?.body)
    }

    async fn send(&self, method: &Method, path: &str, body: Option<&Json>) -> Result<Answer, Error> {
        let mut waited = Duration::ZERO;
        let mut pause = FIRST_PAUSE;
        let mut attempt = 1;
        loop {
            let (error, wait) = match self.once(method, path, body).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Limited(wait)) => (Error::RateLimited { path: path.to_owned(), wait }, wait),
                // What may already have happened is not asked for again.
                Err(Failure::Passing(error)) if attempt < ATTEMPTS && *method != Method::POST => {
                    attempt += 1;
                    pause *= 2;
                    (error, pause / 2)
                }
                Err(Failure::Passing(error) | Failure::Final(error)) => return Err(error),
            };
            if waited + wait > self.patience {
                return Err(error);
            }
            tracing::debug!(%path, wait = wait.as_secs_f64(), "a request to the forge is sent again");
            waited += wait;
            sleep(wait).await;
        }
    }

    async fn once(&self, method: &Method, path: &str, body: Option<&Json>) -> Result<Answer, Failure> {
        let unreachable = |error: reqwest::Error| {
            let text = self.hidden(&with_causes(&error.without_url()));
            Failure::Passing(Error::Unreachable { method: method.to_string(), path: path.to_owned(), text })
        };
        let mut request =
            self.http.request(method.clone(), format!("{}{path}", self.base)).headers(self.headers.clone());
        if let Some(body) = body {
            request = request.header(CONTENT_TYPE, "application/json").body(body.to_string());
        }
        let mut answer = request.send().await.map_err(unreachable)?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await.map_err(unreachable)? {
            if bytes.len() + chunk.len() > size::FORGE_ANSWER.in_memory() {
                let text = format!("it has more than {}", size::FORGE_ANSWER);
                return Err(Failure::Final(Error::Unreadable { path: path.to_owned(), text }));
            }
            bytes.extend_from_slice(&chunk);
        }
        if status.is_success() {
            return Ok(Answer { headers, body: bytes });
        }
        if let Some(wait) = pause::asked_for(status, &headers, jiff::Timestamp::now()) {
            return Err(Failure::Limited(wait));
        }
        let message = self.hidden(&message(&bytes, status));
        let error = Error::Refused {
            method: method.to_string(),
            path: path.to_owned(),
            status: status.as_u16(),
            message,
        };
        Err(match status {
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
                Failure::Passing(error)
            }
            _ => Failure::Final(error),
        })
    }

    fn hidden(&self, text: &str) -> String {
        self.token.as_ref().map_or_else(|| text.to_owned(), |token| token.hidden_in(text))
    }
}

/// Why a request has no answer.
enum Failure {
    /// The forge asks to wait.
    Limited(Duration),
    /// It may pass.
    Passing(Error),
    /// It does not pass.
    Final(Error),
}

fn parse<T: DeserializeOwned>(path: &str, body: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(body)
        .map_err(|error| Error::Unreadable { path: path.to_owned(), text: error.to_string() })
}

/// Whether a `Link` header (RFC 8288) names a next page.
fn has_next(headers: &HeaderMap) -> bool {
    let links = headers.get_all(LINK).iter().filter_map(|value| value.to_str().ok());
    links.flat_map(|links| links.split(',')).any(|link| link.contains("rel=\"next\""))
}

/// What the forge says about a refusal, fit to be shown.
fn message(body: &[u8], status: StatusCode) -> String {
    let json: Json = serde_json::from_slice(body).unwrap_or_default();
    let said = match (&json["message"], &json["error"]) {
        (Json::String(text), _) | (_, Json::String(text)) => text.clone(),
        // GitLab lists the problems of each field.
        (Json::Null, Json::Null) => status.canonical_reason().unwrap_or("without a reason").to_owned(),
        (Json::Null, other) | (other, _) => other.to_string(),
    };
    visible(&shorten(&said, MESSAGE)).replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_those_of_the_forge() {
        let said = |body: &str| message(body.as_bytes(), StatusCode::NOT_FOUND);
        assert_eq!(said(r#"{"message":"no such\nthing\u001b[2J"}"#), "no such thing\\u001b[2J");
        assert_eq!(said(r#"{"error":"insufficient_scope"}"#), "insufficient_scope");
        assert_eq!(said(r#"{"message":{"note":["is too long"]}}"#), r#"{"note":["is too long"]}"#);
        assert_eq!(said("<html>"), "Not Found");
    }

    #[test]
    fn a_next_page_is_found_in_any_link() {
        let mut headers = HeaderMap::new();
        assert!(!has_next(&headers));
        headers.append(LINK, HeaderValue::from_static("<https://a/b?page=1>; rel=\"first\""));
        assert!(!has_next(&headers));
        headers.append(
            LINK,
            HeaderValue::from_static("<https://a/b?page=9>; rel=\"last\",<https://a>; rel=\"next\""),
        );
        assert!(has_next(&headers));
    }
}
