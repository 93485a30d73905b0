//! The members that the cluster itself lists: the `EndpointSlice` of the service `kubernetes`, which API servers keep.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use serde_json::Value as Json;

use super::probe::Asking;

/// The object that API servers write themselves into. See
/// <https://kubernetes.io/docs/reference/kubernetes-api/service-resources/endpoint-slice-v1/>.
const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";

/// The largest accepted file of known members, in bytes.
const LARGEST: u64 = 64 << 10;

/// The members that the cluster lists, as a member answers.
///
/// # Errors
/// Why there is no list.
pub(super) async fn listed(asking: &Asking, member: SocketAddr) -> Result<BTreeSet<SocketAddr>, String> {
    let answer = asking.get(member, SLICE).await.ok_or_else(|| format!("{member} does not answer"))??;
    if answer.status != 200 {
        return Err(format!("{member} answers {} for the endpoints of the API", answer.status));
    }
    let slice: Json = serde_json::from_slice(&answer.body).map_err(|error| format!("{member}: {error}"))?;
    let found = addresses(&slice);
    if found.is_empty() {
        return Err(format!("{member} lists no API server"));
    }
    Ok(found)
}

/// The addresses in an `EndpointSlice`, with the port for HTTPS.
fn addresses(slice: &Json) -> BTreeSet<SocketAddr> {
    let items = |name: &str| slice.get(name).and_then(Json::as_array).into_iter().flatten();
    let is_https = |port: &&Json| port["name"].as_str().is_none_or(|name| name == "https");
    let port = items("ports").find(is_https).and_then(|port| u16::try_from(port["port"].as_u64()?).ok());
    let Some(port) = port else { return BTreeSet::new() };
    items("endpoints")
        .filter_map(|endpoint| endpoint["addresses"].as_array())
        .flatten()
        .filter_map(|address| address.as_str()?.parse::<IpAddr>().ok())
        .map(|address| SocketAddr::new(address, port))
        .collect()
}

/// The members that the cluster listed before this process began; none when that is not known.
pub(super) fn remembered(path: &Path) -> BTreeSet<SocketAddr> {
    if fs::metadata(path).map_or(true, |found| found.len() > LARGEST) {
        return BTreeSet::new();
    }
    fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default()
}

/// Keeps the members for the next start.
///
/// # Errors
/// Why they were not written.
pub(super) fn remember(path: &Path, listed: &BTreeSet<SocketAddr>) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", path.display());
    let text = serde_json::to_vec(listed).map_err(|error| error.to_string())?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let draft = path.with_extension("new");
    fs::write(&draft, text).map_err(failed)?;
    fs::rename(&draft, path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn members_are_read_from_a_slice() {
        let slice = json!({
            "addressType": "IPv4",
            "ports": [{ "name": "metrics", "port": 1 }, { "name": "https", "port": 6443, "protocol": "TCP" }],
            "endpoints": [
                { "addresses": ["10.0.0.1"], "conditions": { "ready": true } },
                { "addresses": ["10.0.0.2", "not an address"] },
                { "addresses": null },
            ],
        });
        let found: Vec<String> = addresses(&slice).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["10.0.0.1:6443", "10.0.0.2:6443"]);
        assert!(addresses(&json!({ "endpoints": [{ "addresses": ["10.0.0.1"] }] })).is_empty());
        assert!(addresses(&json!([1, 2])).is_empty());
    }

    #[test]
    fn members_are_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("below/members.json");
        assert!(remembered(&path).is_empty());
        let members = BTreeSet::from(["10.0.0.1:6443".parse().unwrap(), "[fd00::1]:6443".parse().unwrap()]);
        remember(&path, &members).unwrap();
        assert_eq!(remembered(&path), members);
        fs::write(&path, "[\"10.0.0").unwrap();
        assert!(remembered(&path).is_empty());
    }
}
