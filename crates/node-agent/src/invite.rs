//! How further machines join: the command for them, and its arguments.

use std::path::Path;

use slipway_bootstrap::configuration::Configuration;
use slipway_bootstrap::pki::{Certificate, Pin};
use slipway_bootstrap::token::Token;
use slipway_resource::{Secret, SecretText};

use super::api::Api;
use super::cluster_info;
use super::facts::below;
use super::secrets::NodeSecrets;
use super::spec::NodeSpec;
use super::upload;
use crate::code;
use crate::error::Error;

/// The data that a machine needs to join.
pub struct Invitation {
    endpoint: String,
    certificate: String,
    token: Option<SecretText>,
    certificate_key: Option<SecretText>,
}

impl Invitation {
    /// Of a control plane that begins a cluster.
    pub fn of(spec: &NodeSpec, secrets: &NodeSecrets) -> Self {
        let configuration = &spec.configuration;
        let text = |secret: &Secret| secrets.text_of(secret);
        let token = configuration.node.bootstrap_tokens.first().and_then(|token| text(token.token.as_ref()?));
        let key = configuration.node.certificate_key.as_ref().filter(|_| spec.upload_certificates);
        Self {
            endpoint: configuration.server_endpoint().to_string(),
            certificate: format!("{}/ca.crt", configuration.cluster.certificates_dir),
            token,
            certificate_key: key.and_then(text),
        }
    }

    /// Signs cluster-info with the token, so that a machine can join before the controller manager signs it.
    pub async fn sign(&self, root: &Path) -> Result<(), Error> {
        let token: Option<Token> = self.token.as_ref().and_then(|token| token.expose().parse().ok());
        let Some(token) = token else { return Ok(()) };
        let api = Api::of_administrator(root)?;
        cluster_info::sign(&api, &token).await
    }

    /// Uploads the shared certificates under the key that the command for control planes has.
    pub async fn upload(&self, root: &Path, configuration: &Configuration) -> Result<(), Error> {
        match &self.certificate_key {
            Some(key) => upload::certificates(root, configuration, key).await,
            None => Ok(()),
        }
    }

    /// The commands for workers and control planes, as text; `None` when the cluster began without a token. With `true`, the
    /// token or the key of the certificates is left out.
    pub fn commands(
        &self,
        root: &Path,
        (skip_token, skip_key): (bool, bool),
    ) -> Result<Option<String>, Error> {
        let Some(token) = &self.token else { return Ok(None) };
        let path = below(root, &self.certificate);
        let pin = pin_of(&path)?;
        let token = if skip_token { "<token>" } else { token.expose() };
        let worker = join_command(&self.endpoint, token, &pin, None);
        let mut text = format!("\nA worker joins, as root on its machine, with\n\n{worker}\n");
        if let Some(key) = &self.certificate_key {
            let key = if skip_key { "<key>" } else { key.expose() };
            let command = join_command(&self.endpoint, token, &pin, Some(key));
            text.push_str(&format!("\nand a further control plane, within two hours, with\n\n{command}\n"));
        }
        Ok(Some(text))
    }
}

/// The pin of the CA in a file.
pub fn pin_of(path: &Path) -> Result<String, Error> {
    let text = slipway_limits::file::read_text(path, slipway_limits::size::KUBECONFIG)
        .map_err(|error| Error::file("the certificate of the cluster's CA", path, &error))?;
    pin_of_text(&text)
}

/// The pin of the CA in a text.
pub fn pin_of_text(text: &str) -> Result<String, Error> {
    let certificate = Certificate::from_pem(text).map_err(|error| {
        Error::new(code::CERTIFICATE, "the certificate of the cluster's CA cannot be read")
            .cause(error.to_string())
    })?;
    Ok(Pin::of(certificate.public_key()).to_string())
}

/// The command with which a machine joins; with a key as a control plane.
pub fn join_command(endpoint: &str, token: &str, pin: &str, certificate_key: Option<&str>) -> String {
    let mut text =
        format!("slipway node join {endpoint} --token {token} \\\n    --discovery-token-ca-cert-hash {pin}");
    if let Some(key) = certificate_key {
        text.push_str(&format!(" \\\n    --control-plane --certificate-key {key}"));
    }
    text
}
