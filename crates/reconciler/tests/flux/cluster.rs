//! A real API server with the kinds of Flux. The test is source-controller: it writes the statuses.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use slipway_testkit::ControlPlane;
use slipway_testkit::control_plane::Options;
use slipway_testkit::wait::until;

use crate::artifacts::Described;

/// The kinds, with their names in paths.
const KINDS: [(&str, &str); 3] = [
    ("GitRepository", "gitrepositories"),
    ("OCIRepository", "ocirepositories"),
    ("ExternalArtifact", "externalartifacts"),
];

/// The service account of the controller in the example of a role.
const ACCOUNT: &str = "system:serviceaccount:slipway:slipway-controller";

pub struct Cluster(ControlPlane);

impl Cluster {
    pub fn start() -> Result<Self> {
        let cluster = Self(ControlPlane::start(&Options::default())?);
        cluster.kubectl(&["create", "namespace", "flux-system"])?;
        Ok(cluster)
    }

    /// Writes `admin.conf`, and `pod.conf` for a client with the rights of the controller's service account only.
    pub fn write_kubeconfigs(&self, folder: &Path) -> Result<()> {
        let admin = std::fs::read_to_string(self.0.kubeconfig())?;
        std::fs::write(folder.join("admin.conf"), &admin)?;
        let user = "\n  user:\n";
        ensure!(admin.matches(user).count() == 1, "the kubeconfig has another form");
        std::fs::write(folder.join("pod.conf"), admin.replace(user, &format!("{user}    as: {ACCOUNT}\n")))?;
        Ok(())
    }

    /// Installs the definitions of the kinds, with the fields that matter here.
    pub fn install_kinds(&self) -> Result<()> {
        for (kind, plural) in KINDS {
            self.apply(&definition(kind, plural).to_string())?;
            let name = format!("customresourcedefinitions/{plural}.source.toolkit.fluxcd.io");
            self.kubectl(&["wait", "--for=condition=Established", "--timeout=60s", &name])?;
        }
        Ok(())
    }

    /// Creates the object `fleet` of a kind.
    pub fn create(&self, kind: &str, spec: &Value) -> Result<()> {
        let object = json!({
            "apiVersion": "source.toolkit.fluxcd.io/v1",
            "kind": kind,
            "metadata": { "name": "fleet", "namespace": "flux-system" },
            "spec": spec,
        });
        self.apply(&object.to_string())
    }

    /// Changes fields of the spec.
    pub fn set_spec(&self, kind: &str, fields: &Value) -> Result<()> {
        self.patch(kind, &[], &json!({ "spec": fields }))
    }

    /// Reports an artifact of the present spec, as Flux does when it has stored one.
    pub fn set_artifact(&self, kind: &str, revision: &str, described: &Described) -> Result<()> {
        let generation = self.generation(kind)?;
        let mut status = json!({
            "conditions": [condition("True", "Succeeded", "stored artifact", generation)],
            "artifact": {
                "url": described.url,
                "digest": described.digest,
                "size": described.size,
                "revision": revision,
                "path": "gitrepository/flux-system/fleet/artifact.tar.gz",
                "lastUpdateTime": "2026-01-02T03:04:05Z",
            },
        });
        if kind != "ExternalArtifact" {
            status["observedGeneration"] = generation.into();
        }
        self.patch(kind, &["--subresource=status"], &json!({ "status": status }))
    }

    /// Reports the condition `Ready`.
    pub fn set_ready(&self, kind: &str, ready: &str, reason: &str, message: &str) -> Result<()> {
        let conditions = [condition(ready, reason, message, self.generation(kind)?)];
        self.patch(kind, &["--subresource=status"], &json!({ "status": { "conditions": conditions } }))
    }

    pub fn delete(&self, kind: &str) -> Result<()> {
        self.kubectl(&["-n", "flux-system", "delete", &of_flux(kind), "fleet"]).map(drop)
    }

    /// Applies manifests.
    pub fn apply(&self, manifests: &str) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("manifests.yaml");
        std::fs::write(&file, manifests)?;
        let file = file.to_str().context("the path is not UTF-8")?;
        self.kubectl(&["apply", "-f", file]).map(drop)
    }

    /// Applies manifests that let the controller read the object `fleet`, and waits until they have an effect.
    pub fn grant(&self, manifests: &str) -> Result<()> {
        self.apply(manifests)?;
        let object = format!("{}/fleet", of_flux("GitRepository"));
        until("the controller has its rights", || {
            let answer =
                self.0.kubectl(&["-n", "flux-system", "auth", "can-i", "watch", &object, "--as", ACCOUNT])?;
            Ok(answer.status.success().then_some(()))
        })
    }

    fn generation(&self, kind: &str) -> Result<i64> {
        let field = "jsonpath={.metadata.generation}";
        let text = self.kubectl(&["-n", "flux-system", "get", &of_flux(kind), "fleet", "-o", field])?;
        Ok(text.trim().parse()?)
    }

    fn patch(&self, kind: &str, more: &[&str], patch: &Value) -> Result<()> {
        let (kind, patch) = (of_flux(kind), patch.to_string());
        let arguments = ["-n", "flux-system", "patch", &kind, "fleet", "--type=merge", "-p", &patch];
        self.kubectl(&[&arguments[..], more].concat()).map(drop)
    }

    fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let output = self.0.kubectl(arguments)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "kubectl {arguments:?}: {errors}");
        Ok(String::from_utf8(output.stdout)?)
    }
}

/// The kind with its group, as kubectl takes it.
fn of_flux(kind: &str) -> String {
    let found = KINDS.iter().find(|(name, _)| *name == kind);
    format!("{}.source.toolkit.fluxcd.io", found.map_or(kind, |(_, plural)| *plural))
}

fn condition(status: &str, reason: &str, message: &str, generation: i64) -> Value {
    json!({
        "type": "Ready",
        "status": status,
        "reason": reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": "2026-01-02T03:04:05Z",
    })
}

fn definition(kind: &str, plural: &str) -> Value {
    let text = || json!({ "type": "string" });
    let number = || json!({ "type": "integer", "format": "int64" });
    let artifact = json!({
        "type": "object",
        "required": ["lastUpdateTime", "path", "revision", "url"],
        "properties": {
            "digest": { "type": "string", "pattern": "^[a-z0-9]+(?:[.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$" },
            "lastUpdateTime": { "type": "string", "format": "date-time" },
            "path": text(),
            "revision": text(),
            "size": number(),
            "url": text(),
        },
    });
    let condition = json!({
        "type": "object",
        "required": ["lastTransitionTime", "message", "reason", "status", "type"],
        "properties": {
            "lastTransitionTime": { "type": "string", "format": "date-time" },
            "message": text(),
            "observedGeneration": number(),
            "reason": text(),
            "status": { "type": "string", "enum": ["True", "False", "Unknown"] },
            "type": text(),
        },
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "interval": text(),
                    "url": text(),
                    "suspend": { "type": "boolean" },
                    "sourceRef": {
                        "type": "object",
                        "required": ["kind", "name"],
                        "properties": { "apiVersion": text(), "kind": text(), "namespace": text(), "name": text() },
                    },
                },
            },
            "status": {
                "type": "object",
                "properties": {
                    "observedGeneration": number(),
                    "artifact": artifact,
                    "conditions": { "type": "array", "items": condition },
                },
            },
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.source.toolkit.fluxcd.io") },
        "spec": {
            "group": "source.toolkit.fluxcd.io",
            "scope": "Namespaced",
            "names": {
                "kind": kind,
                "listKind": format!("{kind}List"),
                "plural": plural,
                "singular": kind.to_lowercase(),
            },
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}
