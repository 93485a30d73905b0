//! Kubeconfigs: made, parsed, checked against a CA, merged.
//!
//! Generated kubeconfigs are byte-identical to kubeadm's. Parsed ones keep every unknown field, so that a
//! user's file survives a [`Kubeconfig::merged_over`]. A kubeconfig contains secrets: its `Debug` shows none,
//! and its text is a [`SecretText`].

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};
use slipway_resource::SecretText;

use crate::{
    pki::{Certificate, PrivateKey},
    yaml,
};

mod check;
mod client;
mod error;
pub mod inventory;
mod merge;

pub use check::Problem;
pub use client::{client_certificate, client_template};
pub use error::{Error, Result};
pub use merge::Merged;

/// A kubeconfig of version `v1`.
#[derive(Clone, PartialEq)]
pub struct Kubeconfig {
    root: Map<String, Value>,
}

/// The credentials of a user.
#[derive(Debug, Clone)]
pub enum Credentials {
    /// A client certificate with its key, both embedded.
    Certificate {
        /// The certificate in PEM.
        certificate: String,
        /// The key in PEM.
        key: SecretText,
    },
    /// A key whose certificate does not exist yet.
    Key(SecretText),
    /// A bearer token.
    Token(SecretText),
    /// Files on the node, which another program renews.
    Files {
        /// The path of the certificate.
        certificate: String,
        /// The path of the key.
        key: String,
    },
}

/// The access to a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Its name in the file; may be empty.
    pub name: String,
    /// The URL of its API.
    pub server: String,
    /// The PEM text of its CAs, if it is embedded.
    pub authority: Option<String>,
    /// The path of its CAs' file, if they are in a file.
    pub authority_path: Option<String>,
}

impl Kubeconfig {
    /// A kubeconfig of one cluster and one user, with the context `<user>@<cluster>` as the current one. `authority`
    /// is the PEM text of the cluster's CA; none is written when it is empty.
    #[must_use]
    pub fn new(cluster: &str, server: &str, authority: &str, user: &str, credentials: &Credentials) -> Self {
        let context = format!("{user}@{cluster}");
        let mut access = json!({ "server": server });
        if !authority.is_empty() {
            access["certificate-authority-data"] = encode(authority);
        }
        let proof = match credentials {
            Credentials::Certificate { certificate, key } => json!({
                "client-certificate-data": encode(certificate),
                "client-key-data": encode(key.expose()),
            }),
            Credentials::Key(key) => json!({ "client-key-data": encode(key.expose()) }),
            Credentials::Token(token) => json!({ "token": token.expose() }),
            Credentials::Files { certificate, key } => {
                json!({ "client-certificate": certificate, "client-key": key })
            }
        };
        Self::of(json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": cluster, "cluster": access }],
            "contexts": [{ "name": context, "context": { "cluster": cluster, "user": user } }],
            "current-context": context,
            "users": [{ "name": user, "user": proof }],
        }))
    }

    /// The kubeconfig of `cluster-info`: a cluster without a name, and no user.
    #[must_use]
    pub fn cluster_info(server: &str, authority: &str) -> Self {
        Self::of(json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{
                "name": "",
                "cluster": { "server": server, "certificate-authority-data": encode(authority) },
            }],
            "contexts": null,
            "current-context": "",
            "users": null,
        }))
    }

    fn of(root: Value) -> Self {
        let Value::Object(root) = root else { return Self { root: Map::new() } };
        Self { root }
    }

    /// Parses a kubeconfig in YAML or JSON.
    ///
    /// # Errors
    /// [`Error::Malformed`] when it is not a kubeconfig.
    pub fn parse(text: &str) -> Result<Self> {
        let value: Value = serde_yaml::from_str(text).map_err(|error| {
            // The parser's message may quote the text, which is secret.
            let place =
                error.location().map(|place| format!(" at line {}", place.line())).unwrap_or_default();
            Error::Malformed(format!("it is not valid YAML{place}"))
        })?;
        let Value::Object(root) = value else {
            return Err(Error::Malformed("it is not a mapping".to_owned()));
        };
        if root.get("kind").is_some_and(|kind| kind != "Config") {
            return Err(Error::Malformed("its kind is not `Config`".to_owned()));
        }
        for list in ["clusters", "contexts", "users"] {
            if root.get(list).is_some_and(|list| !list.is_null() && !list.is_array()) {
                return Err(Error::Malformed(format!("`{list}` is not a list")));
            }
        }
        Ok(Self { root })
    }

    /// The text, as kubeadm and kubectl write it.
    #[must_use]
    pub fn to_yaml(&self) -> SecretText {
        SecretText::new(yaml::to_string(&Value::Object(self.root.clone())))
    }

    /// The name of the current context; empty when there is none.
    #[must_use]
    pub fn current_context(&self) -> &str {
        self.root.get("current-context").and_then(Value::as_str).unwrap_or_default()
    }

    /// The cluster to use: the one without a name, if there is one, else that of the current context.
    ///
    /// # Errors
    /// [`Error::NoCurrent`] when there is neither.
    pub fn cluster(&self) -> Result<Cluster> {
        if let Some(cluster) = self.entry("clusters", "") {
            return Ok(to_cluster("", cluster.get("cluster").unwrap_or(&Value::Null)));
        }
        let name = self.current("cluster")?;
        let missing = || Error::NoCurrent(format!("it has no cluster {name:?}"));
        let cluster =
            self.entry("clusters", name).and_then(|entry| entry.get("cluster")).ok_or_else(missing)?;
        Ok(to_cluster(name, cluster))
    }

    /// The name of the current user.
    ///
    /// # Errors
    /// [`Error::NoCurrent`] when there is no current context.
    pub fn user(&self) -> Result<&str> {
        self.current("user")
    }

    /// Whether the current user has credentials of any kind.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        let Some(user) = self.current_user() else { return false };
        let has = |field: &str| match user.get(field) {
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Object(fields)) => !fields.is_empty(),
            _ => false,
        };
        let either = |name: &str| has(name) || has(&format!("{name}-data"));
        has("token")
            || has("tokenFile")
            || (has("username") && has("password"))
            || (either("client-certificate") && either("client-key"))
            || has("exec")
            || has("auth-provider")
    }

    /// The embedded client certificate of the current user.
    ///
    /// # Errors
    /// [`Error::Malformed`] when it is damaged.
    pub fn certificate(&self) -> Result<Option<Certificate>> {
        let Some(text) = self.embedded("client-certificate-data")? else { return Ok(None) };
        let certificate = Certificate::from_pem(text.expose());
        certificate.map(Some).map_err(|error| Error::Malformed(format!("its client certificate: {error}")))
    }

    /// The embedded key of the current user.
    ///
    /// # Errors
    /// [`Error::Malformed`] when it is damaged.
    pub fn key(&self) -> Result<Option<PrivateKey>> {
        let Some(text) = self.embedded("client-key-data")? else { return Ok(None) };
        let key = PrivateKey::from_pem(text.expose());
        key.map(Some).map_err(|error| Error::Malformed(format!("its client key: {error}")))
    }

    /// The bearer token of the current user.
    #[must_use]
    pub fn token(&self) -> Option<SecretText> {
        self.current_user()?.get("token")?.as_str().filter(|text| !text.is_empty()).map(SecretText::new)
    }

    /// The files with the client certificate and its key, if the current user has files.
    #[must_use]
    pub fn client_files(&self) -> Option<(String, String)> {
        let user = self.current_user()?;
        let file = |field: &str| user.get(field)?.as_str().filter(|path| !path.is_empty()).map(str::to_owned);
        Some((file("client-certificate")?, file("client-key")?))
    }

    /// The same with another client certificate and key for the current user.
    ///
    /// # Errors
    /// [`Error::NoCurrent`] when there is no current user.
    pub fn with_certificate(mut self, certificate: &str, key: &SecretText) -> Result<Self> {
        let proof = self.current_proof()?;
        proof.retain(|field, _| !matches!(field.as_str(), "client-certificate" | "client-key"));
        proof.insert("client-certificate-data".to_owned(), encode(certificate));
        proof.insert("client-key-data".to_owned(), encode(key.expose()));
        Ok(self)
    }

    /// The same with files in place of an embedded client certificate and key.
    ///
    /// # Errors
    /// [`Error::NoCurrent`] when there is no current user.
    pub fn with_certificate_files(mut self, certificate: &str, key: &str) -> Result<Self> {
        let proof = self.current_proof()?;
        proof.retain(|field, _| !matches!(field.as_str(), "client-certificate-data" | "client-key-data"));
        proof.insert("client-certificate".to_owned(), certificate.into());
        proof.insert("client-key".to_owned(), key.into());
        Ok(self)
    }

    /// The same with another server and CA for the current cluster.
    ///
    /// # Errors
    /// [`Error::NoCurrent`] when there is no current cluster.
    pub fn with_server(mut self, server: &str, authority: Option<&str>) -> Result<Self> {
        let name = self.cluster()?.name;
        let missing = || Error::NoCurrent(format!("it has no cluster {name:?}"));
        let cluster = self.entry_mut("clusters", &name).and_then(|entry| entry.get_mut("cluster"));
        let cluster = cluster.and_then(Value::as_object_mut).ok_or_else(missing)?;
        cluster.insert("server".to_owned(), server.into());
        if let Some(authority) = authority {
            cluster.remove("certificate-authority");
            cluster.insert("certificate-authority-data".to_owned(), encode(authority));
        }
        Ok(self)
    }

    fn current_proof(&mut self) -> Result<&mut Map<String, Value>> {
        let name = self.current("user")?.to_owned();
        let entry = self.entry_mut("users", &name).and_then(|entry| entry.get_mut("user"));
        let missing = || Error::NoCurrent(format!("it has no user {name:?}"));
        entry.and_then(Value::as_object_mut).ok_or_else(missing)
    }

    fn current_user(&self) -> Option<&Value> {
        let name = self.current("user").ok()?;
        self.entry("users", name)?.get("user")
    }

    /// The field of the current context.
    fn current(&self, field: &str) -> Result<&str> {
        let context = self.current_context();
        let entry = self.entry("contexts", context);
        let missing = || Error::NoCurrent(format!("its current context {context:?} does not exist"));
        let context = entry.and_then(|entry| entry.get("context")).ok_or_else(missing)?;
        Ok(context.get(field).and_then(Value::as_str).unwrap_or_default())
    }

    fn embedded(&self, field: &str) -> Result<Option<SecretText>> {
        let Some(text) = self.current_user().and_then(|user| user.get(field)).and_then(Value::as_str) else {
            return Ok(None);
        };
        if text.is_empty() { Ok(None) } else { decode(text, field).map(Some) }
    }

    fn entries(&self, list: &str) -> &[Value] {
        self.root.get(list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn entry(&self, list: &str, name: &str) -> Option<&Value> {
        self.entries(list).iter().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))
    }

    fn entry_mut(&mut self, list: &str, name: &str) -> Option<&mut Value> {
        let entries = self.root.get_mut(list)?.as_array_mut()?;
        entries.iter_mut().find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))
    }
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Kubeconfig({:?})", self.current_context())
    }
}

fn to_cluster(name: &str, cluster: &Value) -> Cluster {
    let text = |field: &str| {
        cluster.get(field).and_then(Value::as_str).filter(|text| !text.is_empty()).map(ToOwned::to_owned)
    };
    let authority = text("certificate-authority-data");
    Cluster {
        name: name.to_owned(),
        server: text("server").unwrap_or_default(),
        authority: authority
            .and_then(|text| decode(&text, "certificate-authority-data").ok())
            .map(|text| text.expose().to_owned()),
        authority_path: text("certificate-authority"),
    }
}

fn encode(text: &str) -> Value {
    STANDARD.encode(text).into()
}

fn decode(text: &str, field: &str) -> Result<SecretText> {
    let compact: String = text.split_ascii_whitespace().collect();
    let bytes = STANDARD.decode(compact).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    bytes.map(SecretText::new).ok_or_else(|| Error::Malformed(format!("`{field}` is not base64 of a text")))
}

#[cfg(test)]
mod tests;
