//! An OCI artifact with specs.

use std::path::PathBuf;

use serde::Deserialize;
use slipway_resource::Digest;

use crate::source::oci::{Place, is_host};

/// An artifact in an OCI registry: one layer with a `tar.gz` of the files, as `flux push artifact` and `oras push` make it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OciSettings {
    /// `oci://registry.example.com/name`, without tag and credentials.
    pub url: String,
    /// The tag to follow.
    pub tag: Option<String>,
    /// The digest of the manifest to use, as `sha256:…`.
    pub digest: Option<String>,
    /// The name of the user.
    pub username: Option<String>,
    /// The file with the password or token of the user.
    pub token_file: Option<PathBuf>,
    /// Further hosts whose servers of tokens get the user and the password; the host of the registry always may.
    #[serde(default)]
    pub token_hosts: Vec<String>,
    /// Whether plain HTTP is allowed to a registry that is not this machine. The password is then sent in clear.
    #[serde(default)]
    pub insecure_http: bool,
}

impl OciSettings {
    /// The tag or the digest that is followed.
    #[must_use]
    pub fn reference(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or("latest")
    }

    /// Why the table cannot be used; `None` if it can.
    pub(super) fn problem(&self) -> Option<String> {
        if let Err(reason) = Place::parse(&self.url, self.insecure_http) {
            return Some(format!("`oci.url` {reason}"));
        }
        if self.tag.is_some() && self.digest.is_some() {
            return Some("`oci` follows one of `tag` and `digest`".to_owned());
        }
        let is_digest = |text: &String| text.starts_with("sha256:") && Digest::parse(text).is_some();
        if self.digest.as_ref().is_some_and(|digest| !is_digest(digest)) {
            return Some("`oci.digest` is `sha256:` and 64 hexadecimal digits".to_owned());
        }
        // The grammar of the OCI distribution specification.
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        let is_tag = |tag: &String| {
            (1..=128).contains(&tag.len()) && !tag.starts_with(['.', '-']) && tag.bytes().all(allowed)
        };
        if self.tag.as_ref().is_some_and(|tag| !is_tag(tag)) {
            return Some("`oci.tag` is no tag".to_owned());
        }
        if let Some(host) = self.token_hosts.iter().find(|host| !is_host(host)) {
            return Some(format!(
                "`oci.token-hosts` names hosts without scheme, port and path, not `{host}`"
            ));
        }
        let is_whole = self.username.is_some() == self.token_file.is_some();
        (!is_whole).then(|| "`oci.username` and `oci.token-file` need each other".to_owned())
    }
}
