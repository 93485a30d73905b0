//! An etcd that is kept elsewhere: which version each of its members is.

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::future::join_all;
use slipway_bootstrap::configuration::ExternalEtcd;
use slipway_cluster_api::https::{self, Document, Way};
use slipway_resource::SecretText;

use super::below;
use crate::api::{Credentials, Trust};

/// The version that each member says, or why it says none. A member without TLS is not asked.
pub(super) async fn versions(
    root: &Path,
    etcd: Option<&ExternalEtcd>,
) -> BTreeMap<String, Result<String, String>> {
    let Some(etcd) = etcd else { return BTreeMap::new() };
    let secure = etcd.endpoints.iter().filter(|endpoint| endpoint.starts_with("https://"));
    let asked = secure.map(|endpoint| async move { (endpoint.clone(), version(root, etcd, endpoint).await) });
    join_all(asked).await.into_iter().collect()
}

async fn version(root: &Path, etcd: &ExternalEtcd, endpoint: &str) -> Result<String, String> {
    let read = |path: &str| {
        let text = std::fs::read_to_string(below(root, path));
        text.map_err(|error| format!("{path} cannot be read: {error}"))
    };
    let trust =
        if etcd.ca_file.is_empty() { Trust::System } else { Trust::Authorities(read(&etcd.ca_file)?) };
    let credentials = if etcd.cert_file.is_empty() {
        Credentials::Anonymous
    } else {
        let key = SecretText::new(read(&etcd.key_file)?);
        Credentials::Certificate { certificate: read(&etcd.cert_file)?, key }
    };
    let way = Way { trust, credentials, ..Way::of_caller() };
    let url = format!("{}/version", endpoint.trim_end_matches('/'));
    let body = match https::get(&url, way).await.map_err(|error| error.to_string())? {
        Document::Text(text) => text,
        Document::Elsewhere(to) => return Err(format!("it is at {to} now")),
    };
    let body: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
    match body.get("etcdserver").and_then(serde_json::Value::as_str) {
        Some(version) => Ok(version.to_owned()),
        None => Err("it does not say its version".to_owned()),
    }
}
