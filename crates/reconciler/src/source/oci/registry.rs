//! A client of OCI registries: manifests and blobs of one repository (OCI distribution specification 1.1).

use std::time::Duration;

use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use slipway_limits::text::{shorten, visible};
use slipway_limits::{Size, file, size};
use slipway_resource::{Digest, with_causes};
use zeroize::Zeroizing;

use super::Place;
use crate::configuration::OciSettings;
use crate::error::Error;

/// How long one request may take, its body included.
const REQUEST: Duration = Duration::from_secs(120);
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How often a manifest or a blob may be elsewhere.
const REDIRECTS: u32 = 3;
/// The kinds of manifests of one artifact.
const MANIFESTS: &str =
    "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json";
/// How the types of layers end that are archives.
const ARCHIVES: [&str; 2] = ["tar+gzip", "tar.gzip"];
/// The header in which registries name the digest of a manifest.
const DIGEST: &str = "docker-content-digest";

/// A repository of a registry.
pub(super) struct Registry {
    settings: OciSettings,
    place: Place,
    client: Client,
    /// What the registry wants to see: the header after it asked for it.
    authorization: Option<HeaderValue>,
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Layer>,
}

/// A layer of an artifact.
#[derive(Deserialize)]
pub(super) struct Layer {
    #[serde(rename = "mediaType")]
    media_type: String,
    digest: String,
    size: u64,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Registry {
    pub fn new(settings: &OciSettings) -> Result<Self, Error> {
        let unavailable = |reason: String| Error::Oci { url: settings.url.clone(), reason };
        let place = Place::parse(&settings.url, settings.insecure_http).map_err(unavailable)?;
        #[allow(clippy::disallowed_methods, reason = "the operator names the registry")]
        let client = Client::builder()
            // A redirect could lead the password to another host.
            .redirect(Policy::none())
            .timeout(REQUEST)
            .connect_timeout(CONNECT)
            .user_agent(concat!("slipway/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| unavailable(with_causes(&error)))?;
        Ok(Self { settings: settings.clone(), place, client, authorization: None })
    }

    pub fn unavailable(&self, reason: impl AsRef<str>) -> Error {
        // Texts of a registry may be of any length, and may contain control characters.
        let reason = visible(&shorten(reason.as_ref(), size::MESSAGE)).into_owned();
        Error::Oci { url: self.settings.url.clone(), reason }
    }

    /// The digest of the manifest that a tag names, if the registry tells it without the manifest.
    pub async fn digest(&mut self, reference: &str) -> Result<Option<String>, Error> {
        let answer = self.call(Method::HEAD, &format!("manifests/{reference}")).await?;
        let named = answer.headers().get(DIGEST).and_then(|value| value.to_str().ok());
        Ok(named.filter(|text| Digest::parse(text).is_some()).map(str::to_owned))
    }

    /// The digest of a manifest, and its one layer with an archive.
    pub async fn manifest(&mut self, reference: &str) -> Result<(String, Layer), Error> {
        let answer = self.call(Method::GET, &format!("manifests/{reference}")).await?;
        let answer = self.followed(answer).await?;
        let bytes = self.body(answer, size::CONFIGURATION).await?;
        let digest = Digest::of_bytes(&bytes).as_str().to_owned();
        if reference.starts_with("sha256:") && reference != digest {
            return Err(
                self.unavailable("the registry answers with another manifest than that of the digest")
            );
        }
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|error| self.unavailable(format!("its manifest: {error}")))?;
        let is_archive = |layer: &Layer| ARCHIVES.iter().any(|end| layer.media_type.ends_with(end));
        let mut layers = manifest.layers.into_iter().filter(is_archive);
        match (layers.next(), layers.next()) {
            (Some(layer), None) => Ok((digest, layer)),
            _ => Err(Error::Content {
                path: format!("the artifact {digest}"),
                reason: "does not have exactly one layer with a tar.gz",
            }),
        }
    }

    /// The content of a layer.
    pub async fn blob(&mut self, layer: &Layer, limit: Size) -> Result<Vec<u8>, Error> {
        if layer.size > limit.bytes {
            return Err(Error::TooLarge { limit });
        }
        if !layer.digest.starts_with("sha256:") || Digest::parse(&layer.digest).is_none() {
            return Err(self.unavailable("its layer has no SHA-256"));
        }
        let answer = self.call(Method::GET, &format!("blobs/{}", layer.digest)).await?;
        let answer = self.followed(answer).await?;
        let bytes = self.body(answer, limit).await?;
        if Digest::of_bytes(&bytes).as_str() != layer.digest {
            return Err(self.unavailable("its layer is damaged: the digest is another one"));
        }
        Ok(bytes)
    }

    /// The answer behind the redirects of another one.
    async fn followed(&self, mut answer: Response) -> Result<Response, Error> {
        let mut redirects = 0;
        while answer.status().is_redirection() && redirects < REDIRECTS {
            redirects += 1;
            let to = answer.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let to = to.and_then(|to| answer.url().join(to).ok()).filter(|to| self.place.allows(to));
            let to = to.ok_or_else(|| {
                self.unavailable("the registry redirects to an address that is not encrypted")
            })?;
            // The storage behind a registry gets no credentials: the URL is signed.
            answer = self.send(self.client.get(to).header(ACCEPT, MANIFESTS)).await?;
        }
        self.check(&answer)?;
        Ok(answer)
    }

    /// Calls the registry, and once more with credentials if it asks for them.
    async fn call(&mut self, method: Method, path: &str) -> Result<Response, Error> {
        let url = format!("{}v2/{}/{path}", self.place.registry, self.place.name);
        let request = |authorization: &Option<HeaderValue>| {
            let mut request = self.client.request(method.clone(), &url).header(ACCEPT, MANIFESTS);
            if let Some(value) = authorization {
                request = request.header(AUTHORIZATION, value.clone());
            }
            request
        };
        let mut answer = self.send(request(&self.authorization)).await?;
        if answer.status() == StatusCode::UNAUTHORIZED && self.authorization.is_none() {
            let challenge = answer.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
            let authorization = self.authorize(challenge.unwrap_or_default()).await?;
            answer = self.send(request(&Some(authorization.clone()))).await?;
            self.authorization = Some(authorization);
        }
        if answer.status() == StatusCode::NOT_FOUND {
            let what = format!("the artifact {}", self.settings.reference());
            return Err(Error::NoReference { what, url: self.settings.url.clone() });
        }
        if !answer.status().is_redirection() {
            self.check(&answer)?;
        }
        Ok(answer)
    }

    fn check(&self, answer: &Response) -> Result<(), Error> {
        let status = answer.status();
        if status.is_success() {
            Ok(())
        } else {
            Err(self.unavailable(format!("the registry answers {status}")))
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        // A URL of a storage is signed, which is as good as a password.
        request.send().await.map_err(|error| self.unavailable(with_causes(&error.without_url())))
    }

    /// The body of an answer, of at most `limit` bytes.
    async fn body(&self, mut answer: Response, limit: Size) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        loop {
            let chunk = answer.chunk().await;
            let chunk = chunk.map_err(|error| self.unavailable(with_causes(&error.without_url())))?;
            let Some(chunk) = chunk else { return Ok(bytes) };
            if (bytes.len() + chunk.len()) as u64 > limit.bytes {
                return Err(Error::TooLarge { limit });
            }
            bytes.extend_from_slice(&chunk);
        }
    }

    /// The header for a challenge: a token of the server that it names, or user and password.
    async fn authorize(&self, challenge: &str) -> Result<HeaderValue, Error> {
        let (scheme, parameters) = challenge.split_once(' ').unwrap_or((challenge, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            let Some((user, password)) = self.credentials()? else {
                return Err(self.unavailable("the registry wants a user and a password"));
            };
            let plain = Zeroizing::new(format!("{user}:{}", password.trim()));
            let encoded =
                base64::Engine::encode(&base64::engine::general_purpose::STANDARD, plain.as_bytes());
            return self.header(&format!("Basic {encoded}"));
        }
        let realm = parameter(parameters, "realm").and_then(|realm| Url::parse(realm).ok());
        let Some(mut realm) = realm.filter(|realm| self.place.allows(realm)) else {
            return Err(self.unavailable("the registry names no encrypted server of tokens"));
        };
        let credentials = self.credentials()?;
        if credentials.is_some() && !self.place.trusts(&realm, &self.settings.token_hosts) {
            let host = realm.host_str().unwrap_or_default();
            return Err(self.unavailable(format!(
                "the registry names a server of tokens on another host, which gets no password: if {host} belongs to the registry, \
                 add it to `oci.token-hosts`"
            )));
        }
        realm.query_pairs_mut().append_pair("scope", &format!("repository:{}:pull", self.place.name));
        if let Some(service) = parameter(parameters, "service") {
            realm.query_pairs_mut().append_pair("service", service);
        }
        let mut request = self.client.get(realm);
        if let Some((user, password)) = credentials {
            request = request.basic_auth(user, Some(password.trim()));
        }
        let answer = self.send(request).await?;
        self.check(&answer)?;
        let bytes = Zeroizing::new(self.body(answer, size::CREDENTIALS_ANSWER).await?);
        let token: Token = serde_json::from_slice(&bytes)
            .map_err(|_| self.unavailable("the answer of its server of tokens cannot be read"))?;
        match token.token.or(token.access_token) {
            Some(token) => self.header(&format!("Bearer {token}")),
            None => Err(self.unavailable("its server of tokens gives none")),
        }
    }

    fn header(&self, text: &str) -> Result<HeaderValue, Error> {
        let mut value = HeaderValue::try_from(text)
            .map_err(|_| self.unavailable("its credentials have characters that no header has"))?;
        value.set_sensitive(true);
        Ok(value)
    }

    #[allow(clippy::disallowed_methods, reason = "the operator names the file")]
    fn credentials(&self) -> Result<Option<(&str, Zeroizing<String>)>, Error> {
        let (Some(user), Some(path)) = (&self.settings.username, &self.settings.token_file) else {
            return Ok(None);
        };
        let text = file::read_text(path, size::KEY_FILE).map_err(|source| Error::File {
            what: "the token",
            path: path.clone(),
            source,
        })?;
        Ok(Some((user, Zeroizing::new(text))))
    }
}

/// A parameter of a challenge, as `realm="https://…"` or `error=invalid_token` (RFC 9110, section 11.2).
fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = parameters;
    while let Some((key, after)) = rest.split_once('=') {
        let (value, tail) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => after.split_once(',').unwrap_or((after, "")),
        };
        if key.trim_matches([',', ' ']).eq_ignore_ascii_case(name) {
            return Some(value.trim());
        }
        rest = tail;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_challenges_are_found() {
        let text = r#"realm="https://auth.example.com/token",service="a, b",scope="repository:x:pull""#;
        assert_eq!(parameter(text, "realm"), Some("https://auth.example.com/token"));
        assert_eq!(parameter(text, "service"), Some("a, b"));
        assert_eq!(parameter(text, "error"), None);
        assert_eq!(parameter("realm=\"x", "realm"), None);
        let mixed = r#"error=invalid_token, realm="https://auth.example.com/?a=b" ,service = registry"#;
        assert_eq!(parameter(mixed, "error"), Some("invalid_token"));
        assert_eq!(parameter(mixed, "realm"), Some("https://auth.example.com/?a=b"));
        assert_eq!(parameter(mixed, "service"), Some("registry"));
    }
}
