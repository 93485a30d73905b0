//! The status of an object of Flux, and whether its artifact may be used.

use reqwest::Url;
use serde::Deserialize;
use slipway_resource::Digest;

use super::{shown, unavailable};
use crate::configuration::{FluxKind, FluxSettings};
use crate::error::Error;

/// An artifact that may be used.
#[derive(Clone, Debug)]
pub(in crate::source) struct Artifact {
    pub url: Url,
    /// The revision in the origin, as `main@sha1:…`.
    revision: String,
    /// The digest of the archive.
    pub digest: Digest,
    /// The size of the archive in bytes, if the object has it.
    pub size: Option<u64>,
}

impl Artifact {
    /// The revision of the source. One revision of the origin can have several artifacts, such as with other files ignored.
    pub fn id(&self) -> String {
        format!("{} ({})", self.revision, self.digest.as_str())
    }
}

/// The fields of an object that are looked at.
#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    generation: i64,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    suspend: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    observed_generation: Option<i64>,
    #[serde(default)]
    conditions: Vec<Condition>,
    artifact: Option<Described>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    message: String,
    observed_generation: Option<i64>,
}

/// `status.artifact`.
#[derive(Deserialize)]
struct Described {
    url: String,
    revision: String,
    digest: Option<String>,
    size: Option<u64>,
}

/// The artifact of an object, if it is the one of the object's spec and may be used.
pub(super) fn artifact(settings: &FluxSettings, document: &[u8]) -> Result<Artifact, Error> {
    let not_ready = |reason: &str| Error::FluxNotReady { object: settings.title(), reason: shown(reason) };
    let object: Object = serde_json::from_slice(document)
        .map_err(|error| unavailable(settings, &format!("its fields are not those of Flux: {error}")))?;
    if object.spec.suspend {
        return Err(Error::FluxSuspended { object: settings.title() });
    }
    if let Some(reason) = unready(settings.kind, &object) {
        return Err(not_ready(&reason));
    }
    let described = object.status.artifact.ok_or_else(|| not_ready("its status has none yet"))?;
    checked(settings, described)
}

/// Why the artifact is not the one of the spec; `None` if it is.
fn unready(kind: FluxKind, object: &Object) -> Option<String> {
    let ready = object.status.conditions.iter().find(|condition| condition.kind == "Ready");
    match ready {
        Some(ready) if ready.status != "True" => {
            return Some(format!("{}: {}", ready.reason, ready.message));
        }
        // The status of an ExternalArtifact need not have conditions.
        None if kind != FluxKind::ExternalArtifact => {
            return Some("it has no condition Ready yet".to_owned());
        }
        _ => {}
    }
    // The status of an ExternalArtifact has no generation of its own.
    let seen =
        object.status.observed_generation.or_else(|| ready.and_then(|ready| ready.observed_generation));
    let wanted = object.metadata.generation;
    let is_behind = seen.is_some_and(|seen| seen < wanted);
    is_behind.then(|| format!("Flux has not seen generation {wanted} of it yet"))
}

fn checked(settings: &FluxSettings, described: Described) -> Result<Artifact, Error> {
    let failed = |reason: String| unavailable(settings, &reason);
    let written = described.digest.unwrap_or_default();
    let digest = Digest::parse(&written).ok_or_else(|| {
        failed(format!("its artifact has the digest `{written}`, and only sha256 is supported"))
    })?;
    let url =
        Url::parse(&described.url).map_err(|error| failed(format!("the URL of its artifact: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.username().is_empty() || url.password().is_some() {
        return Err(failed(
            "the URL of its artifact is not http:// or https:// without credentials".to_owned(),
        ));
    }
    let host = url.host_str().unwrap_or_default();
    if !settings.allows(host) {
        return Err(failed(format!(
            "its artifact is on another host than that of source-controller: if {host} belongs to Flux, add it to \
             `flux.artifact-hosts`"
        )));
    }
    Ok(Artifact { revision: shown(&described.revision), digest, size: described.size, url })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const URL: &str =
        "http://source-controller.flux-system.svc.cluster.local./gitrepository/apps/fleet/x.tar.gz";

    fn settings(kind: FluxKind) -> FluxSettings {
        let (namespace, name) = ("apps".to_owned(), "fleet".to_owned());
        FluxSettings { kind, namespace, name, kubeconfig: None, artifact_hosts: Vec::new() }
    }

    fn ready() -> Value {
        let digest = Digest::of_bytes(b"x");
        json!({
            "metadata": { "generation": 2 },
            "spec": { "interval": "1m", "url": "https://git.example.com/fleet" },
            "status": {
                "observedGeneration": 2,
                "conditions": [{ "type": "Ready", "status": "True", "reason": "Succeeded", "message": "stored" }],
                "artifact": { "url": URL, "revision": "main@sha1:1234", "digest": digest.as_str(), "size": 1 },
            },
        })
    }

    /// The outcome with a field replaced, by its pointer (RFC 6901).
    fn with(kind: FluxKind, field: &str, value: Value) -> Result<Artifact, Error> {
        let mut object = ready();
        *object.pointer_mut(field).unwrap() = value;
        artifact(&settings(kind), object.to_string().as_bytes())
    }

    #[test]
    fn the_artifact_of_a_ready_object_is_used() {
        for kind in [FluxKind::GitRepository, FluxKind::OciRepository, FluxKind::ExternalArtifact] {
            let found = artifact(&settings(kind), ready().to_string().as_bytes()).unwrap();
            assert_eq!(found.url.as_str(), URL);
            assert_eq!(found.id(), format!("main@sha1:1234 ({})", Digest::of_bytes(b"x").as_str()));
        }
        let unconditioned = with(FluxKind::ExternalArtifact, "/status/conditions", json!([]));
        assert!(unconditioned.is_ok(), "{unconditioned:?}");
    }

    #[test]
    fn the_artifact_of_another_state_of_the_object_is_not_used() {
        let kind = FluxKind::GitRepository;
        for (field, value, code, part) in [
            ("/spec", json!({ "suspend": true }), "RECON0016", "is suspended"),
            ("/status", json!({}), "RECON0016", "no condition Ready"),
            ("/status/conditions/0/status", json!("False"), "RECON0016", "Succeeded: stored"),
            ("/status/conditions/0/status", json!("Unknown"), "RECON0016", "Succeeded: stored"),
            ("/metadata/generation", json!(3), "RECON0016", "has not seen generation 3"),
            ("/status/artifact", Value::Null, "RECON0016", "has none yet"),
            ("/status/artifact/digest", json!("sha512:12"), "RECON0015", "only sha256"),
            ("/status/artifact/digest", Value::Null, "RECON0015", "only sha256"),
            ("/status/artifact/url", json!("http://169.254.169.254/x"), "RECON0015", "artifact-hosts"),
            ("/status/artifact/url", json!("file:///etc/passwd"), "RECON0015", "http://"),
            ("/status/artifact/url", json!(URL.replace("//", "//a:b@")), "RECON0015", "without credentials"),
            ("/status/artifact", json!({ "url": URL }), "RECON0015", "revision"),
        ] {
            let error = with(kind, field, value).expect_err(part);
            assert_eq!(error.code(), code, "{error}");
            assert!(error.to_string().contains(part), "no `{part}` in `{error}`");
            assert_eq!(error.may_pass(), part != "is suspended", "{error}");
        }
        let stale = json!([{ "type": "Ready", "status": "True", "observedGeneration": 1 }]);
        let mut object = ready();
        object["status"]["conditions"] = stale;
        object["status"]["observedGeneration"] = Value::Null;
        let stale = artifact(&settings(FluxKind::ExternalArtifact), object.to_string().as_bytes());
        assert_eq!(stale.unwrap_err().code(), "RECON0016");
    }
}
