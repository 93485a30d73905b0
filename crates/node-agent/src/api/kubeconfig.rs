//! A connection by a kubeconfig.

use std::path::Path;

use serde_json::Value as Json;
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_resource::SecretText;

use super::{Api, ApiError, Credentials, Trust};
use crate::facts::below;

impl Api {
    /// A connection by a kubeconfig in a file; files that it names are below the same root.
    pub fn of_file(root: &Path, path: &Path) -> Result<Self, ApiError> {
        Self::of_text(root, &text_of(path)?).map_err(|error| match error {
            ApiError::Unusable(text) => ApiError::Unusable(format!("{}: {text}", path.display())),
            error => error,
        })
    }

    /// A connection as the administrator of a control plane. Where its cluster began there is one that no role binding has
    /// to come before.
    pub fn of_administrator(root: &Path) -> Result<Self, ApiError> {
        let first = below(root, "/etc/kubernetes/super-admin.conf");
        let path = if first.exists() { first } else { below(root, "/etc/kubernetes/admin.conf") };
        Self::of_file(root, &path)
    }

    /// The same at another URL of the API.
    pub fn of_administrator_at(root: &Path, server: &str) -> Result<Self, ApiError> {
        let path = below(root, "/etc/kubernetes/admin.conf");
        let kubeconfig =
            Kubeconfig::parse(&text_of(&path)?).and_then(|found| found.with_server(server, None));
        let kubeconfig =
            kubeconfig.map_err(|error| ApiError::Unusable(format!("{}: {error}", path.display())))?;
        Self::of_text(root, kubeconfig.to_yaml().expose())
    }

    /// A connection by the text of a kubeconfig.
    pub fn of_text(root: &Path, text: &str) -> Result<Self, ApiError> {
        let unusable = |error: &dyn std::fmt::Display| ApiError::Unusable(error.to_string());
        let kubeconfig = Kubeconfig::parse(text).map_err(|error| unusable(&error))?;
        let cluster = kubeconfig.cluster().map_err(|error| unusable(&error))?;
        let trust = match (cluster.authority, cluster.authority_path) {
            (Some(pem), _) => Trust::Authorities(pem),
            (None, Some(path)) => Trust::Authorities(read(root, &path)?),
            (None, None) => Trust::System,
        };
        let credentials = credentials(root, &kubeconfig, text)?;
        Self::new(&cluster.server, &trust, &credentials)
    }
}

fn text_of(path: &Path) -> Result<String, ApiError> {
    slipway_limits::file::read_given_text(path, slipway_limits::size::KUBECONFIG)
        .map_err(|error| ApiError::Unusable(format!("{} cannot be read: {error}", path.display())))
}

fn credentials(root: &Path, kubeconfig: &Kubeconfig, text: &str) -> Result<Credentials, ApiError> {
    let unusable = |error: &dyn std::fmt::Display| ApiError::Unusable(error.to_string());
    if let Some(token) = kubeconfig.token() {
        return Ok(Credentials::Token(token));
    }
    let certificate = kubeconfig.certificate().map_err(|error| unusable(&error))?;
    let key = kubeconfig.key().map_err(|error| unusable(&error))?;
    if let (Some(certificate), Some(key)) = (certificate, key) {
        let key = key.to_pem().map_err(|error| unusable(&error))?;
        return Ok(Credentials::Certificate { certificate: certificate.to_pem(), key });
    }
    let Some((certificate, key)) = files(kubeconfig, text) else { return Ok(Credentials::Anonymous) };
    let key = SecretText::new(read(root, &key)?);
    Ok(Credentials::Certificate { certificate: read(root, &certificate)?, key })
}

/// The files that the current user's certificate and key are in, as in what a kubelet writes for itself.
fn files(kubeconfig: &Kubeconfig, text: &str) -> Option<(String, String)> {
    let name = kubeconfig.user().ok()?;
    let document: Json = serde_yaml::from_str(text).ok()?;
    let users = document.get("users")?.as_array()?;
    let user =
        users.iter().find(|user| user.get("name").and_then(Json::as_str) == Some(name))?.get("user")?;
    let path = |field: &str| user.get(field)?.as_str().map(str::to_owned);
    Some((path("client-certificate")?, path("client-key")?))
}

fn read(root: &Path, path: &str) -> Result<String, ApiError> {
    let path = below(root, path);
    std::fs::read_to_string(&path)
        .map_err(|error| ApiError::Unusable(format!("{} cannot be read: {error}", path.display())))
}
