//! The members of an etcd cluster, by etcd's JSON gateway (`/v3/cluster/member/…`).

pub(crate) mod maintenance;
mod prefix;

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value as Json, json};
use slipway_resource::{ErrorClass, Path, ProviderError, Value};

use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{invalid, not_found, permanent, transient};
use crate::http::{Client, Failure, Trust};

/// How long one answer may take.
const ANSWER: Duration = Duration::from_secs(10);

/// The ports of members that kubeadm has made.
const CLIENT_PORT: u16 = 2379;
const PEER_PORT: u16 = 2380;

/// How to reach an etcd cluster.
pub(crate) struct Etcd {
    client: Client,
    endpoints: Vec<String>,
}

/// One member. In etcd's JSON, numbers of 64 bits are texts, and empty fields are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Member {
    #[serde(rename = "ID")]
    id: String,
    /// Empty until it has started.
    pub(crate) name: String,
    #[serde(rename = "peerURLs")]
    pub(crate) peer_urls: Vec<String>,
    #[serde(rename = "clientURLs")]
    pub(crate) client_urls: Vec<String>,
    pub(crate) is_learner: bool,
}

impl Member {
    /// A voting member from the ledger, by its id in hexadecimal digits.
    pub(crate) fn known(id: &str, name: &str, peer_urls: &[String]) -> Self {
        let id = u64::from_str_radix(id, 16).map_or_else(|_| id.to_owned(), |id| id.to_string());
        Self { id, name: name.to_owned(), peer_urls: peer_urls.to_vec(), ..Self::default() }
    }

    /// Its id as etcd's tools show it.
    pub(crate) fn id(&self) -> String {
        self.id.parse::<u64>().map_or_else(|_| self.id.clone(), |id| format!("{id:x}"))
    }

    /// Whether it has ever started.
    pub(crate) fn has_started(&self) -> bool {
        !self.name.is_empty()
    }

    /// Whether the member has one of these peer URLs.
    pub(crate) fn is_at(&self, peer_urls: &[String]) -> bool {
        self.peer_urls.iter().any(|url| peer_urls.contains(url))
    }
}

/// Why a change of the members was not made.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The request can succeed when other requests are complete, or when the cluster is healthy again: the
    /// reason, as text.
    Later(String),
    /// There is no such member any more.
    Gone,
    /// The request is carried out already.
    Already,
    /// Any other error.
    Failed(ProviderError),
}

impl From<Refusal> for ProviderError {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Later(text) => transient(format!("etcd: {text}")),
            Refusal::Gone => not_found("etcd has no such member"),
            Refusal::Already => permanent("etcd: it is so already"),
            Refusal::Failed(error) => error,
        }
    }
}

impl Etcd {
    /// The cluster behind `endpoints`, with the certificates that the attributes name.
    pub(crate) fn connect(
        disk: &Disk,
        wanted: Attributes<'_>,
        endpoints: Vec<String>,
    ) -> Result<Self, ProviderError> {
        Self::connect_for(disk, wanted, endpoints, ANSWER)
    }

    /// The same, with the time that one answer may take.
    pub(crate) fn connect_for(
        disk: &Disk,
        wanted: Attributes<'_>,
        endpoints: Vec<String>,
        answer: Duration,
    ) -> Result<Self, ProviderError> {
        if endpoints.is_empty() {
            return Err(invalid("endpoints: there is none by which etcd is reached"));
        }
        let file = |name: &str| -> Result<Option<Vec<u8>>, ProviderError> {
            let Some(path) = wanted.optional_text(name)? else { return Ok(None) };
            match disk.read(path)? {
                Some(content) => Ok(Some(content)),
                None => Err(not_found(format!("{path} is not there, with which etcd is asked"))),
            }
        };
        let client = match (file("cert_path")?, file("key_path")?) {
            (Some(certificate), Some(key)) => Some((certificate, key)),
            _ => None,
        };
        let trust = Trust { authorities: file("ca_path")?, client };
        let client = Client::new(&trust, answer).map_err(|error| permanent(format!("etcd: {error}")))?;
        Ok(Self { client, endpoints })
    }

    /// All members, as a majority of them sees it.
    pub(crate) async fn members(&self) -> Result<Vec<Member>, ProviderError> {
        self.cluster().await.map(|(_, members)| members)
    }

    /// The id of the cluster, and all its members, as a majority of them sees it.
    pub(crate) async fn cluster(&self) -> Result<(Option<u64>, Vec<Member>), ProviderError> {
        let answer = self.ask("list", &json!({"linearizable": true})).await?;
        let id = answer.pointer("/header/cluster_id").and_then(Json::as_str).and_then(|id| id.parse().ok());
        Ok((id, members(&answer)?))
    }

    /// Announces a member.
    pub(crate) async fn add(&self, peer_urls: &[String], learner: bool) -> Result<Vec<Member>, Refusal> {
        match self.ask("add", &json!({"peerURLs": peer_urls, "isLearner": learner})).await {
            Ok(answer) => Ok(members(&answer)?),
            // For some time after a member was removed, etcd can answer so to a request that names no member.
            Err(Refusal::Gone) => Err(Refusal::Later("a member was removed just now".to_owned())),
            Err(refusal) => Err(refusal),
        }
    }

    /// Has a learner vote.
    pub(crate) async fn promote(&self, member: &Member) -> Result<(), Refusal> {
        self.ask("promote", &json!({"ID": member.id})).await.map(drop)
    }

    /// Removes a member.
    pub(crate) async fn remove(&self, member: &Member) -> Result<(), Refusal> {
        self.ask("remove", &json!({"ID": member.id})).await.map(drop)
    }

    /// Changes the URLs of a member.
    pub(crate) async fn update(&self, member: &Member, peer_urls: &[String]) -> Result<(), Refusal> {
        self.ask("update", &json!({"ID": member.id, "peerURLs": peer_urls})).await.map(drop)
    }

    /// Whether the member behind the first endpoint serves.
    pub(crate) async fn health(&self) -> Result<(), String> {
        let Some(endpoint) = self.endpoints.first() else { return Err("it has no endpoint".to_owned()) };
        let url = format!("{}/health", endpoint.trim_end_matches('/'));
        match self.client.get(&url).await {
            Ok(answer) if answer.status == 200 => Ok(()),
            Ok(answer) => {
                let text = String::from_utf8_lossy(&answer.body);
                Err(format!("{url} answers {}: {}", answer.status, text.trim()))
            }
            Err(error) => Err(format!("{url}: {error}")),
        }
    }

    /// Sends a request to the first endpoint that answers. A request whose answer was lost may have had its
    /// effect, so callers list the members before they change them.
    async fn ask(&self, verb: &str, document: &Json) -> Result<Json, Refusal> {
        let mut lost: Option<Failure> = None;
        for endpoint in &self.endpoints {
            let url = format!("{}/v3/cluster/member/{verb}", endpoint.trim_end_matches('/'));
            match self.client.post(&url, document).await {
                Ok(answer) => {
                    let body: Json = serde_json::from_slice(&answer.body).unwrap_or_default();
                    if answer.status == 200 {
                        return Ok(body);
                    }
                    let message = body.get("message").or_else(|| body.get("error")).and_then(Json::as_str);
                    let message = message.unwrap_or("it does not say why").to_owned();
                    // A learner answers, and does nothing. Other failures have the same code, so the message decides.
                    if message.contains("not supported for learner") {
                        lost = Some(Failure(format!("{endpoint}: {message}")));
                        continue;
                    }
                    match refusal(answer.status, message) {
                        // Another one may be in touch with the leader.
                        Refusal::Later(text) if verb == "list" => lost = Some(Failure(text)),
                        refusal => return Err(refusal),
                    }
                }
                Err(error) => lost = Some(Failure(format!("{endpoint}: {error}"))),
            }
        }
        let why = lost.map(|failure| failure.to_string()).unwrap_or_default();
        Err(Refusal::Later(format!("no answer: {why}")))
    }
}

/// The attributes for requests to the node's etcd: the desired ones, or, on an adopted node, those of
/// kubeadm's manifest. `None` when neither names endpoints.
pub(crate) fn asked(disk: &Disk, wanted: Attributes<'_>) -> Result<Option<Value>, ProviderError> {
    if !wanted.texts("endpoints").is_empty() || !wanted.texts("client_urls").is_empty() {
        return Ok(Some(wanted.0.clone()));
    }
    let pki = |file: &str| format!("/etc/kubernetes/pki/etcd/{file}");
    let manifest = "/etc/kubernetes/manifests/etcd.yaml";
    for file in [manifest, &pki("healthcheck-client.crt")] {
        if disk.status(file)?.is_none() {
            return Ok(None);
        }
    }
    let mut endpoints = vec![format!("https://127.0.0.1:{CLIENT_PORT}")];
    // A member that has left does not answer, and the others do.
    endpoints.extend(others(&disk.read_text(manifest)?.unwrap_or_default()));
    let mut usual = Value::map([
        ("ca_path", pki("ca.crt")),
        ("cert_path", pki("healthcheck-client.crt")),
        ("key_path", pki("healthcheck-client.key")),
    ]);
    usual.set(&Path::key("endpoints"), Value::list(endpoints));
    Ok(Some(usual))
}

/// The client URLs of the members in a manifest of kubeadm: those that existed when this member joined.
fn others(manifest: &str) -> Vec<String> {
    let Some((_, rest)) = manifest.split_once("--initial-cluster=") else { return Vec::new() };
    let members = rest.split_whitespace().next().unwrap_or_default().trim_matches(['"', '\'']);
    let url = |member: &str| {
        let (_, url) = member.split_once('=')?;
        Some(format!("{}:{CLIENT_PORT}", url.strip_suffix(&format!(":{PEER_PORT}"))?))
    };
    members.split(',').filter_map(url).collect()
}

fn members(answer: &Json) -> Result<Vec<Member>, ProviderError> {
    let members = answer.get("members").cloned().unwrap_or_default();
    serde_json::from_value(members).map_err(|error| permanent(format!("etcd's list of members: {error}")))
}

/// The meaning of etcd's error messages (`api/v3rpc/rpctypes` of its sources).
fn refusal(status: u16, message: String) -> Refusal {
    let says = |text: &str| message.contains(text);
    if says("too many learner members")
        || says("unhealthy cluster")
        || says("not enough started members")
        || says("in sync with leader")
        || says("no leader")
        || says("leader changed")
        || says("request timed out")
        || matches!(status, 408 | 429 | 503 | 504)
    {
        return Refusal::Later(message);
    }
    if says("member not found") {
        return Refusal::Gone;
    }
    if says("can only promote a learner member")
        || says("Peer URLs already exists")
        || says("member ID already exist")
    {
        return Refusal::Already;
    }
    let class = match status {
        401 | 403 => ErrorClass::Unauthenticated,
        _ => ErrorClass::Permanent,
    };
    Refusal::Failed(ProviderError::new(class, format!("etcd: {message}")))
}

impl From<ProviderError> for Refusal {
    fn from(error: ProviderError) -> Self {
        Self::Failed(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_the_members_that_were_there() {
        let line = "    - --initial-cluster=cp-0=https://10.0.0.1:2380,cp-1=https://[fd00::1]:2380\n    - --key-file=/k";
        assert_eq!(others(line), ["https://10.0.0.1:2379", "https://[fd00::1]:2379"]);
        assert_eq!(others("    - --name=cp-0\n"), Vec::<String>::new());
    }

    #[test]
    fn what_etcd_says_is_understood() {
        let later = |text: &str| matches!(refusal(400, text.to_owned()), Refusal::Later(_));
        assert!(later("etcdserver: too many learner members in cluster"));
        assert!(later("etcdserver: can only promote a learner member which is in sync with leader"));
        assert!(later("etcdserver: re-configuration failed due to not enough started members"));
        let already = refusal(400, "etcdserver: can only promote a learner member".to_owned());
        assert!(matches!(already, Refusal::Already));
        assert!(matches!(refusal(404, "etcdserver: member not found".to_owned()), Refusal::Gone));
        let member: Member =
            serde_json::from_value(json!({"ID": "9372538179322589801", "peerURLs": ["https://a:2380"]}))
                .unwrap();
        assert_eq!((member.id().as_str(), member.has_started()), ("8211f1d0f64f3269", false));
    }
}
