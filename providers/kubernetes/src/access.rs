//! How a session comes to a cluster's API.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::json;
use slipway_cluster_api::{Credentials, Trust, configuration};
use slipway_limits::size;
use slipway_resource::{ErrorClass, ProviderError, SecretText};

use crate::endpoint::ApiEndpoint;

/// A kubeconfig: the server of an API and the credentials for it. It is never shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretKubeconfig {
    /// The document, YAML or JSON, with all keys and certificates in it or in files that it names.
    pub text: SecretText,
    /// The context to use; without one, the current context.
    pub context: Option<String>,
    /// Whether the caller named the kubeconfig: then commands and files that it names are used. A kubeconfig
    /// that a spec names must contain all data itself.
    pub is_callers: bool,
    /// For a server that a spec names: networks and names for which the caller allows reserved addresses.
    /// `None` for a server of the caller, which may have any address.
    pub networks: Option<Vec<String>>,
}

impl SecretKubeconfig {
    /// A kubeconfig of the caller's own, of which the current context counts.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: SecretText::new(text), context: None, is_callers: true, networks: None }
    }
}

/// Gives a session a kubeconfig for the API. The session calls it until there is one, and again after the API
/// could not be reached, since an endpoint may move and credentials expire. An implementation may create
/// credentials when it is called.
#[async_trait]
pub trait Access: Send + Sync {
    /// The kubeconfig; `None` when the API does not exist yet: then no object does.
    ///
    /// # Errors
    /// When it cannot be told. The objects are unreadable then, and not absent.
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError>;

    /// The kubeconfig for an API at an address that a step of the session has or waits for. An existing
    /// kubeconfig names its own server, and is used unchanged.
    ///
    /// # Errors
    /// As [`Access::kubeconfig`].
    async fn kubeconfig_at(
        &self,
        _endpoint: &ApiEndpoint,
    ) -> Result<Option<SecretKubeconfig>, ProviderError> {
        self.kubeconfig().await
    }

    /// Whether it is called before every step, since its credentials are renewed in their files.
    fn is_read_anew(&self) -> bool {
        false
    }

    /// A hint for the case that the API does not accept the credentials.
    fn advice(&self) -> Option<String> {
        None
    }
}

/// An API that does not exist yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct NotYet;

#[async_trait]
impl Access for NotYet {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        Ok(None)
    }
}

/// A kubeconfig in a file, read again each time.
#[derive(Clone, Debug)]
pub struct FileAccess {
    /// The file.
    pub path: PathBuf,
    /// Which of its contexts; the current one without.
    pub context: Option<String>,
    /// Whether a missing file means that there is no API yet; otherwise it is an error.
    pub may_be_missing: bool,
    /// Whether the caller named the file; otherwise a spec did.
    pub is_callers: bool,
    /// Networks in which the caller allows servers with reserved addresses.
    pub networks: Vec<String>,
}

impl FileAccess {
    /// A kubeconfig that the caller has named.
    #[must_use]
    pub fn of_caller(path: PathBuf) -> Self {
        Self { path, context: None, may_be_missing: false, is_callers: true, networks: Vec::new() }
    }
}

#[async_trait]
impl Access for FileAccess {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        let path = self.path.clone();
        let read = move || slipway_limits::file::read_given_text(&path, size::KUBECONFIG);
        match tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.into())) {
            Ok(text) => {
                let text = SecretText::new(text);
                let context = self.context.clone();
                let networks = (!self.is_callers).then(|| self.networks.clone());
                Ok(Some(SecretKubeconfig { text, context, is_callers: self.is_callers, networks }))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && self.may_be_missing => Ok(None),
            Err(error) => {
                let text = format!("the kubeconfig {} cannot be read: {error}", self.path.display());
                Err(ProviderError::new(ErrorClass::Invalid, text)
                    .with_hint("name another file in the provider's configuration, or by KUBECONFIG"))
            }
        }
    }
}

/// A server that a setting names, with files for its certificates and its token. The files are read again
/// each time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenAccess {
    /// The name of the setting, for people.
    pub setting: String,
    /// The URL of the server.
    pub endpoint: String,
    /// The file with the CA certificates for the server, in PEM; without it, those of the system.
    pub ca_file: Option<PathBuf>,
    /// The file with the bearer token.
    pub token_file: Option<PathBuf>,
    /// Of a server that a spec names: the networks and names in which the caller allows reserved addresses. None for a server
    /// of the caller's own, which may be anywhere.
    pub networks: Option<Vec<String>>,
}

impl TokenAccess {
    /// Checks the setting itself. The error is the name of the field, and a sentence.
    ///
    /// # Errors
    /// When the endpoint is not the URL of a server, or a token would be sent unencrypted.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let endpoint = &self.endpoint;
        let url = endpoint.trim_end_matches('/').parse::<http::Uri>().ok();
        let parts = url.as_ref().and_then(|url| Some((url.scheme_str()?, url.host()?)));
        let Some((scheme, host)) = parts.filter(|(scheme, _)| matches!(*scheme, "http" | "https")) else {
            return Err(("endpoint", format!("{endpoint} is not an http or https URL")));
        };
        let is_here = matches!(host, "127.0.0.1" | "localhost" | "[::1]");
        if scheme == "http" && self.token_file.is_some() && !is_here {
            return Err(("tokenFile", format!("a token is sent over https only, and {endpoint} is http")));
        }
        Ok(())
    }

    async fn read(&self, field: &str, path: &Path) -> Result<String, ProviderError> {
        let given = path.to_owned();
        let read = move || slipway_limits::file::read_given_text(&given, size::KEY_FILE);
        let text = tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.into()));
        text.map_err(|error| self.unusable(field, format!("{} cannot be read: {error}", path.display())))
    }

    fn unusable(&self, field: &str, text: String) -> ProviderError {
        ProviderError::new(ErrorClass::Invalid, text).with_hint(format!("correct {}.{field}", self.setting))
    }
}

#[async_trait]
impl Access for TokenAccess {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        let mut cluster = json!({ "server": self.endpoint });
        if let Some(path) = &self.ca_file {
            let pem = self.read("caFile", path).await?;
            configuration(&Trust::Authorities(pem.clone()), &Credentials::Anonymous)
                .map_err(|error| self.unusable("caFile", format!("{}: {error}", path.display())))?;
            cluster["certificate-authority-data"] = BASE64.encode(pem).into();
        }
        let mut user = json!({});
        if let Some(path) = &self.token_file {
            user["token"] = self.read("tokenFile", path).await?.trim().into();
        }
        let document = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "given",
            "contexts": [{ "name": "given", "context": { "cluster": "given", "user": "given" } }],
            "clusters": [{ "name": "given", "cluster": cluster }],
            "users": [{ "name": "given", "user": user }],
        });
        let text = SecretText::new(document.to_string());
        // The kubeconfig contains all data, and its commands are not run.
        Ok(Some(SecretKubeconfig { text, context: None, is_callers: false, networks: self.networks.clone() }))
    }

    fn is_read_anew(&self) -> bool {
        true
    }

    fn advice(&self) -> Option<String> {
        Some(match &self.token_file {
            Some(path) => format!("write a valid token into {}", path.display()),
            None => format!("name a file with a token in {}.tokenFile", self.setting),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(folder: &Path) -> TokenAccess {
        TokenAccess {
            setting: "provider.config.clusterApi".to_owned(),
            endpoint: "https://api.a.example.com".to_owned(),
            ca_file: None,
            token_file: Some(folder.join("token")),
            networks: Some(Vec::new()),
        }
    }

    #[tokio::test]
    async fn a_token_is_read_anew_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let access = access(folder.path());
        let missing = access.kubeconfig().await.unwrap_err();
        assert_eq!(missing.class, ErrorClass::Invalid);
        assert_eq!(missing.hint.as_deref(), Some("correct provider.config.clusterApi.tokenFile"));
        for token in ["first", "second"] {
            std::fs::write(folder.path().join("token"), format!("{token}\n")).unwrap();
            let kubeconfig = access.kubeconfig().await.unwrap().unwrap();
            assert!(kubeconfig.text.expose().contains(&format!("\"token\":\"{token}\"")));
            assert!(!kubeconfig.is_callers && !format!("{kubeconfig:?}").contains(token));
        }
        assert!(access.is_read_anew());
    }

    #[test]
    fn a_token_is_never_sent_unencrypted() {
        let folder = Path::new("/run/a");
        let check = |endpoint: &str, token: bool| {
            let token_file = token.then(|| folder.join("token"));
            TokenAccess { endpoint: endpoint.to_owned(), token_file, ..access(folder) }.check()
        };
        for good in ["http://127.0.0.1:8080", "https://api.a.example.com/", "https://[2001:db8::1]:6443"] {
            assert_eq!(check(good, true), Ok(()), "{good}");
        }
        assert_eq!(check("http://api.a.example.com", false), Ok(()));
        assert_eq!(check("http://api.a.example.com", true).unwrap_err().0, "tokenFile");
        for bad in ["api.a.example.com", "ftp://a", ""] {
            assert_eq!(check(bad, false).unwrap_err().0, "endpoint", "{bad}");
        }
    }

    #[tokio::test]
    async fn a_file_without_certificates_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.crt");
        std::fs::write(&ca_file, "not PEM").unwrap();
        let access = TokenAccess { ca_file: Some(ca_file.clone()), ..access(folder.path()) };
        let error = access.kubeconfig().await.unwrap_err();
        assert!(error.message.contains(&ca_file.display().to_string()), "{error}");
        assert!(error.message.contains("no certificate"), "{error}");
    }
}
