//! The data that a joining machine reads from its cluster before the plan.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value as Json, json};
use slipway_bootstrap::certificate_upload::{self, CertificateKey};
use slipway_bootstrap::configuration::{Configuration, Discovery};
use slipway_bootstrap::expand::{self, ExpandError, Facts, Inputs, Phased};
use slipway_bootstrap::kubeadm;
use slipway_bootstrap::pki::inventory;
use slipway_bootstrap::token::node_of_groups;
use slipway_resource::{Secret, SecretText, Value};
use tokio::time::Instant;

use super::api::{Api, ApiError, Credentials, Trust};
use super::authority::Authority;
use super::discovery::{self, Found, patiently, texts};
use super::facts::below;
use super::machine::Machine;
use super::secrets::NodeSecrets;
use super::spec::{Joined, NodeSpec};
use crate::code;
use crate::error::Error;

const SYSTEM: &str = "/api/v1/namespaces/kube-system";

/// A cluster that a machine joins.
pub struct Cluster {
    inputs: Inputs,
    /// How far this clock is before the cluster's.
    pub clock_ahead_seconds: Option<i64>,
}

impl Cluster {
    /// The resources of the machine as a node of the cluster.
    pub fn expand(&self, spec: &NodeSpec, facts: &Facts) -> Result<Vec<Phased>, ExpandError> {
        let facts = &with_shared_keys(facts, &spec.shared_files);
        if spec.configuration.is_control_plane() {
            expand::join_control_plane(&spec.configuration, facts, &self.inputs)
        } else {
            expand::join_worker(&spec.configuration, facts, &self.inputs)
        }
    }
}

/// The facts of a host that gets keys by an upload. A run that was interrupted between the certificate and
/// the key of a CA does not make this CA an external one.
fn with_shared_keys(facts: &Facts, shared_files: &[String]) -> Facts {
    let mut facts = facts.clone();
    facts.external_authorities.retain(|name| !shared_files.contains(&format!("{name}.key")));
    facts
}

/// Finds the cluster, comes to trust it, and learns its settings.
pub async fn find(
    spec: &mut NodeSpec,
    secrets: &mut NodeSecrets,
    machine: &Machine,
    before: Option<&NodeSpec>,
) -> Result<Cluster, Error> {
    if let Some(before) = before.filter(|before| has_credentials(before, machine)) {
        // The token may be used up or expired by now: the data of an earlier run is enough.
        let mut known = spec.clone();
        known.joined.clone_from(&before.joined);
        known.shared_files.clone_from(&before.shared_files);
        match again(&mut known, machine).await {
            Ok(cluster) => {
                *spec = known;
                return Ok(cluster);
            }
            Err(error) => tracing::debug!(?error, "the cluster is looked for again"),
        }
    }
    let Some(join) = spec.configuration.join.clone() else {
        return Err(Error::missing("nothing says which cluster to join"));
    };
    let timeouts = spec.configuration.node.timeouts;
    let text = match &join.discovery {
        Discovery::Token(how) => secrets.text_of(&how.token),
        Discovery::File(_) => None,
    };
    let found = discovery::find(&join.discovery, text.as_ref(), timeouts.discovery.get()).await?;
    let api =
        as_newcomer(&found, join.tls_bootstrap_token.as_ref().and_then(|token| secrets.text_of(token)))?;
    let until = Instant::now() + timeouts.kubernetes_api_call.get();
    settings(&mut spec.configuration, &api, until).await?;
    refuse_other_name(&spec.configuration.node.name, &api, until).await?;
    if before.is_none() {
        refuse_ready_node(&spec.configuration.node.name, &api, until).await?;
    }
    let mut shared = BTreeMap::new();
    let mut endpoints = Vec::new();
    if spec.configuration.is_control_plane() {
        if spec.configuration.cluster.control_plane_endpoint.is_none() {
            return Err(Error::new(
                code::NO_ENDPOINT,
                "the cluster has no stable endpoint, so it can have one control plane only",
            )
            .hint("it is given when the cluster begins, as with --control-plane-endpoint"));
        }
        shared = shared_files(spec, secrets, machine, &api, until).await?;
        endpoints = etcd_endpoints(&spec.configuration, &shared, machine, &found, until).await?;
    }
    spec.joined = Some(Joined {
        server: found.server,
        authority: found.authority,
        etcd_endpoints: endpoints,
        ..Joined::default()
    });
    let inputs = inputs(spec, shared.into_iter().map(|(name, secret)| (name, Value::from(secret))).collect());
    Ok(Cluster { inputs, clock_ahead_seconds: found.clock_ahead_seconds })
}

/// Whether an earlier run has come so far that the cluster knows this machine, and everything is here that was given only
/// to a newcomer.
fn has_credentials(before: &NodeSpec, machine: &Machine) -> bool {
    let is_there = |path: &str| below(&machine.root, path).exists();
    let folder = &before.configuration.cluster.certificates_dir;
    before.joined.is_some()
        && is_there("/etc/kubernetes/kubelet.conf")
        && is_there(credentials_of(before))
        && before.shared_files.iter().all(|name| is_there(&format!("{folder}/{name}")))
}

/// The kubeconfig by which a machine that has joined reaches the API.
fn credentials_of(spec: &NodeSpec) -> &'static str {
    if spec.configuration.is_control_plane() {
        "/etc/kubernetes/admin.conf"
    } else {
        "/etc/kubernetes/kubelet.conf"
    }
}

/// The cluster of a machine that has joined, with its settings as they are now.
pub async fn again(spec: &mut NodeSpec, machine: &Machine) -> Result<Cluster, Error> {
    let path = below(&machine.root, credentials_of(spec));
    if path.exists() {
        let api = Api::of_file(&machine.root, &path)?;
        settings(&mut spec.configuration, &api, Instant::now() + Duration::from_secs(5)).await?;
    }
    let shared = spec.shared_files.iter().map(|name| (name.clone(), Value::from(uploaded(name)))).collect();
    Ok(Cluster { inputs: inputs(spec, shared), clock_ahead_seconds: None })
}

fn inputs(spec: &NodeSpec, shared_files: BTreeMap<String, Value>) -> Inputs {
    let joined = spec.joined.clone().unwrap_or_default();
    Inputs {
        discovered: Some(joined.discovered()),
        etcd_endpoints: joined.etcd_endpoints,
        shared_files,
        ..Inputs::default()
    }
}

/// A connection with the credentials of a joining machine: a token, or those of its discovery file.
fn as_newcomer(found: &Found, token: Option<SecretText>) -> Result<Api, Error> {
    if let (None, Some(kubeconfig)) = (&token, &found.kubeconfig) {
        return Ok(Api::of_text("/".as_ref(), kubeconfig.expose())?);
    }
    let credentials = token.map_or(Credentials::Anonymous, Credentials::Token);
    Ok(Api::new(&found.server, &Trust::Authorities(found.authority.clone()), &credentials)?)
}

/// Takes the settings that the whole cluster shares.
async fn settings(configuration: &mut Configuration, api: &Api, until: Instant) -> Result<(), Error> {
    let unusable = |what: &str, error: &dyn std::fmt::Display| {
        Error::new(code::CLUSTER_CONFIGURATION, format!("the cluster's {what} cannot be used"))
            .cause(error.to_string())
    };
    let map = |name: &str| format!("{SYSTEM}/configmaps/{name}");
    let path = map("kubeadm-config");
    let cluster = patiently(until, || api.get(&path)).await?.body;
    let text = texts(&cluster).remove("ClusterConfiguration").unwrap_or_default();
    let port = configuration.node.bind_port;
    configuration.cluster = kubeadm::read_cluster("kubeadm-config", &text, port)
        .map_err(|found| unusable("kubeadm-config", &slipway_spec::diagnostic::render_all(&found)))?;
    let path = map("kubelet-config");
    let kubelet = patiently(until, || api.get(&path)).await?.body;
    let text = texts(&kubelet).remove("kubelet").unwrap_or_default();
    let document: Json = serde_yaml::from_str(&text).map_err(|error| unusable("kubelet-config", &error))?;
    configuration.kubelet = document.as_object().cloned();
    let proxy = map("kube-proxy");
    configuration.kube_proxy = match api.find(&proxy).await {
        Ok(Some(object)) => {
            let text = texts(&object).remove("config.conf").unwrap_or_default();
            serde_yaml::from_str::<Json>(&text).ok().and_then(|document| document.as_object().cloned())
        }
        // The cluster has no kube-proxy, or these credentials may not read its configuration.
        Ok(None) => None,
        Err(error) if matches!(error.status(), Some(401 | 403)) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(())
}

/// Refuses a token that is bound to another node's name: the machine would wait for its certificate in vain.
async fn refuse_other_name(name: &str, api: &Api, until: Instant) -> Result<(), Error> {
    let question = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let answer = match patiently(until, || api.post(path, &question)).await {
        Ok(answer) => answer,
        // If the review is not permitted, the answer to the certificate request tells whether the token is
        // valid.
        Err(error) if matches!(error.status(), Some(401 | 403 | 404)) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let groups = answer.pointer("/status/userInfo/groups").and_then(Json::as_array).into_iter().flatten();
    match node_of_groups(groups.filter_map(Json::as_str)) {
        Some(bound) if bound != name => {
            let text =
                format!("the token is for the node {bound}, and this one would be {name}; nothing was done");
            Err(Error::new(code::BOUND_TOKEN, text).hint(format!(
                "`slipway node token create --node {name}` makes a token for this one; --node-name gives it another name"
            )))
        }
        _ => Ok(()),
    }
}

/// Refuses the name of a ready node: two machines with one name would take each other's pods away.
async fn refuse_ready_node(name: &str, api: &Api, until: Instant) -> Result<(), Error> {
    if patiently(until, || is_ready(name, api)).await? { Err(name_is_taken(name)) } else { Ok(()) }
}

/// Whether the cluster has a ready node of a name.
pub async fn is_ready(name: &str, api: &Api) -> Result<bool, ApiError> {
    let Some(node) = api.find(&format!("/api/v1/nodes/{name}")).await? else { return Ok(false) };
    let conditions = node.pointer("/status/conditions").and_then(Json::as_array).into_iter().flatten();
    let is = |condition: &Json, field: &str, value: &str| {
        condition.get(field).and_then(Json::as_str) == Some(value)
    };
    let mut ready = conditions.filter(|condition| is(condition, "type", "Ready"));
    Ok(ready.any(|condition| is(condition, "status", "True")))
}

/// The error for a machine with the name of another node.
pub fn name_is_taken(name: &str) -> Error {
    Error::new(code::SAME_NAME, format!("the cluster has a node {name} already, and it is ready; nothing was done"))
        .hint("give this one another name with --node-name, or remove the other: `slipway node reset` there, or `kubectl delete node`")
}

/// Where the text of a shared certificate came from.
fn uploaded(name: &str) -> Secret {
    Secret::new(format!("uploaded:{name}"))
}

/// The certificates and keys that control planes share: as they were uploaded, by their path below the folder of
/// certificates. Without a key for them they have to be on the disk already.
async fn shared_files(
    spec: &mut NodeSpec,
    secrets: &mut NodeSecrets,
    machine: &Machine,
    api: &Api,
    until: Instant,
) -> Result<BTreeMap<String, Secret>, Error> {
    let configuration = &spec.configuration;
    let folder = &configuration.cluster.certificates_dir;
    let Some(key) = configuration.node.certificate_key.as_ref().and_then(|key| secrets.text_of(key)) else {
        let missing: Vec<String> = inventory::shared_files(configuration)
            .into_iter()
            .map(|name| format!("{folder}/{name}"))
            .filter(|path| !below(&machine.root, path).exists())
            .collect();
        if missing.is_empty() {
            return Ok(BTreeMap::new());
        }
        return Err(Error::new(code::SHARED_CERTIFICATES, format!("a control plane needs {}", missing.join(", "))).hint(
            "give the key of uploaded certificates with --certificate-key (`slipway node phase init upload-certs` uploads them again), or copy the files here",
        ));
    };
    let refused = |error: certificate_upload::Error| {
        Error::new(error.code(), error.to_string()).hint(
            "`slipway node phase init upload-certs` on a control plane uploads them again and prints the key",
        )
    };
    let key: CertificateKey = key.expose().parse().map_err(refused)?;
    let path = format!("{SYSTEM}/secrets/{}", certificate_upload::SECRET);
    let Some(secret) = patiently(until, || api.find(&path)).await? else {
        return Err(Error::new(
            code::SHARED_CERTIFICATES,
            "the cluster has no uploaded certificates: they end after two hours",
        )
        .hint(
            "`slipway node phase init upload-certs` on a control plane uploads them again and prints the key",
        ));
    };
    let entries = texts(&secret)
        .into_iter()
        .filter_map(|(name, text)| Some((name, BASE64_STANDARD.decode(text).ok()?)));
    let opened = certificate_upload::open(configuration, &key, &entries.collect()).map_err(refused)?;
    let prefix = format!("{folder}/");
    let mut files = BTreeMap::new();
    for file in opened {
        let name = file.path.strip_prefix(&prefix).unwrap_or(&file.path).to_owned();
        let secret = Secret { text: Some(file.content), ..uploaded(&name) };
        secrets.learn(&secret);
        files.insert(name, secret);
    }
    spec.shared_files = files.keys().cloned().collect();
    Ok(files)
}

/// The URLs of the etcd members, from their pods. Read with a short-lived certificate that is issued for it.
async fn etcd_endpoints(
    configuration: &Configuration,
    shared: &BTreeMap<String, Secret>,
    machine: &Machine,
    found: &Found,
    until: Instant,
) -> Result<Vec<String>, Error> {
    if configuration.cluster.etcd.local().is_none() {
        return Ok(Vec::new());
    }
    let read = |name: &str| -> Result<SecretText, Error> {
        if let Some(text) = shared.get(name).and_then(|secret| secret.text.clone()) {
            return Ok(text);
        }
        let path = below(&machine.root, &format!("{}/{name}", configuration.cluster.certificates_dir));
        let text = slipway_limits::file::read_text(&path, slipway_limits::size::KUBECONFIG)
            .map_err(|error| Error::file("the cluster's CA", &path, &error))?;
        Ok(SecretText::new(text))
    };
    let authority = Authority::from_pem(read("ca.crt")?.expose(), &read("ca.key")?)?;
    let administrator = authority.administrator(configuration.cluster.key_algorithm())?;
    let trust = Trust::Authorities(found.authority.clone());
    let api = Api::new(&found.server, &trust, &administrator)?;
    patiently(until, || etcd_members(&api)).await?.ok_or_else(|| {
        Error::new(code::CLUSTER_CONFIGURATION, "no pod of the cluster says where a member of etcd is")
            .hint("the pods of etcd carry the annotation kubeadm.kubernetes.io/etcd.advertise-client-urls; look with `kubectl -n kube-system get pods -l component=etcd`")
    })
}

/// The URLs of the members of etcd that pods of the cluster name; none when no pod does.
pub async fn etcd_members(api: &Api) -> Result<Option<Vec<String>>, ApiError> {
    let path = format!("{SYSTEM}/pods?labelSelector=component%3Detcd,tier%3Dcontrol-plane");
    let pods = api.get(&path).await?.body;
    let pods = pods.get("items").and_then(Json::as_array).into_iter().flatten();
    let urls: Vec<String> = pods
        .filter_map(|pod| {
            let annotations = pod.pointer("/metadata/annotations")?;
            Some(annotations.get("kubeadm.kubernetes.io/etcd.advertise-client-urls")?.as_str()?.to_owned())
        })
        .collect();
    Ok((!urls.is_empty()).then_some(urls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ca_whose_key_is_among_the_uploaded_is_not_elsewhere() {
        let external = ["ca", "front-proxy-ca"].map(str::to_owned);
        let facts = Facts { external_authorities: external.into_iter().collect(), ..Facts::default() };
        let shared = ["front-proxy-ca.crt", "front-proxy-ca.key", "etcd/ca.key"].map(str::to_owned);
        let seen = with_shared_keys(&facts, &shared).external_authorities;
        assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["ca"]);
    }
}
