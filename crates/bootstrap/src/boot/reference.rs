//! The user data of a machine that reads its bootstrap document from the cluster, after it has proved its identity: what it needs to
//! find the cluster, and the digest of the document.

use serde::Deserialize;
use serde_json::Value as Json;
use slipway_spec::model::{Architecture, Role};
use slipway_spec::value::KubernetesVersion;

use super::document::{self, DocumentError};
use super::{NodeBootstrap, Programs};

/// The kind of the file that the user data writes in place of the document.
pub const REFERENCE_KIND: &str = "NodeBootstrapReference";
/// The key of the ConfigMap with the bootstrap document of a pool.
pub const DOCUMENT: &str = "document";

/// The name of the ConfigMap in `kube-system` with the bootstrap document of a pool.
#[must_use]
pub fn document_name(pool: &str) -> String {
    format!("slipway-document-{pool}")
}

/// The text of a document in its ConfigMap: each field is on a line of its own, so that a plan shows the lines that change.
#[must_use]
pub fn document_text(document: &Json) -> String {
    format!("{document:#}\n")
}

/// The file that the user data of a machine writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Bootstrap {
    /// The document itself.
    Document(Box<NodeBootstrap>),
    /// A reference to the document.
    Reference(Box<DocumentReference>),
}

/// How a machine finds its cluster, and the document that it gets there.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DocumentReference {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    cluster: Cluster,
    node: Node,
    document: Document,
    #[serde(default)]
    programs: Programs,
}

/// The cluster.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Cluster {
    name: String,
    provider: String,
    #[serde(default)]
    region: Option<String>,
}

/// The machine.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Node {
    pool: String,
    role: Role,
    architecture: Architecture,
    kubernetes_version: KubernetesVersion,
}

/// The document.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Document {
    digest: String,
}

impl Bootstrap {
    /// Reads a file whose digest is known, as `sha256:` and 64 hexadecimal digits.
    ///
    /// # Errors
    /// When the bytes have another digest, or are neither a document nor a reference that this program reads.
    pub fn read(bytes: &[u8], digest: &str) -> Result<Self, DocumentError> {
        let json = document::json_of(bytes, digest)?;
        if json.get("kind").and_then(Json::as_str) != Some(REFERENCE_KIND) {
            return Ok(Self::Document(Box::new(NodeBootstrap::read(bytes, digest)?)));
        }
        document::has_kind(&json, REFERENCE_KIND)?;
        let reference: DocumentReference =
            serde_json::from_value(json).map_err(|error| DocumentError::Unreadable(error.to_string()))?;
        match reference.node.role {
            Role::Worker => Ok(Self::Reference(Box::new(reference))),
            other => Err(DocumentError::Role(other.as_str().to_owned())),
        }
    }

    /// The name of the cluster.
    #[must_use]
    pub fn cluster_name(&self) -> &str {
        match self {
            Self::Document(document) => document.cluster_name(),
            Self::Reference(reference) => &reference.cluster.name,
        }
    }

    /// The pool of the machine.
    #[must_use]
    pub fn pool(&self) -> &str {
        match self {
            Self::Document(document) => document.pool(),
            Self::Reference(reference) => &reference.node.pool,
        }
    }

    /// The region of the cloud, where it has regions.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        match self {
            Self::Document(document) => document.region(),
            Self::Reference(reference) => reference.region(),
        }
    }

    /// The processor architecture that the machine must have.
    #[must_use]
    pub fn architecture(&self) -> Architecture {
        match self {
            Self::Document(document) => document.architecture(),
            Self::Reference(reference) => reference.node.architecture,
        }
    }
}

impl DocumentReference {
    /// The digest of the document.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.document.digest
    }

    /// The provider of the cloud.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.cluster.provider
    }

    /// The region of the cloud, where it has regions.
    #[must_use]
    pub fn region(&self) -> Option<&str> {
        self.cluster.region.as_deref()
    }

    /// The version of the kubelet of the machine.
    #[must_use]
    pub fn kubelet_version(&self) -> String {
        self.node.kubernetes_version.to_string()
    }

    /// The programs that the machine installs when its image lacks them.
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Reads the document of this machine.
    ///
    /// # Errors
    /// When the text has another digest, is no document that this program reads, or is for another machine.
    pub fn document(&self, text: &str) -> Result<NodeBootstrap, DocumentError> {
        let document = NodeBootstrap::read(text.as_bytes(), self.digest())?;
        let its = (document.cluster_name(), document.pool(), document.is_control_plane());
        if its != (self.cluster.name.as_str(), self.node.pool.as_str(), false) {
            let text = format!("it is for the pool {} of {}", document.pool(), document.cluster_name());
            return Err(DocumentError::Unreadable(text));
        }
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use slipway_resource::Digest;

    use super::*;

    fn whole() -> String {
        let document = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "NodeBootstrap",
            "cluster": {
                "name": "a.example.com", "provider": "aws", "ipFamily": "ipv4", "domain": "cluster.local",
                "dnsAddress": "10.96.0.10", "podCidrs": ["10.244.0.0/16"], "serviceCidrs": ["10.96.0.0/12"],
                "cni": {"name": "flannel"},
            },
            "node": {"pool": "one", "role": "worker", "architecture": "amd64", "kubernetesVersion": "1.34.4"},
        });
        document_text(&document)
    }

    fn reference(role: &str, pool: &str) -> Json {
        json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": REFERENCE_KIND,
            "cluster": {"name": "a.example.com", "provider": "aws", "region": "us-east-1"},
            "node": {"pool": pool, "role": role, "architecture": "amd64", "kubernetesVersion": "1.34.4"},
            "document": {"digest": Digest::of_bytes(whole().as_bytes()).to_string()},
        })
    }

    fn read(json: &Json) -> Result<Bootstrap, DocumentError> {
        let text = json.to_string();
        Bootstrap::read(text.as_bytes(), Digest::of_bytes(text.as_bytes()).as_str())
    }

    #[test]
    fn a_reference_takes_the_document_of_its_digest_and_pool() {
        let found = read(&reference("worker", "one")).unwrap();
        assert_eq!((found.cluster_name(), found.pool()), ("a.example.com", "one"));
        let Bootstrap::Reference(found) = found else { panic!("it is a reference") };
        assert_eq!(found.document(&whole()).unwrap().pool(), "one");
        let other = whole().replace("1.34.4", "1.34.5");
        assert!(matches!(found.document(&other), Err(DocumentError::OtherDigest { .. })));
        let Bootstrap::Reference(stranger) = read(&reference("worker", "two")).unwrap() else {
            panic!("it is a reference")
        };
        let error = stranger.document(&whole()).unwrap_err().to_string();
        assert!(error.contains("for the pool one of a.example.com"), "{error}");
    }

    #[test]
    fn documents_are_read_as_before_and_only_workers_have_references() {
        let digest = Digest::of_bytes(whole().as_bytes()).to_string();
        let document = Bootstrap::read(whole().as_bytes(), &digest).unwrap();
        assert!(matches!(document, Bootstrap::Document(_)));
        assert!(matches!(read(&reference("controlPlane", "one")), Err(DocumentError::Role(_))));
        let mut newer = reference("worker", "one");
        newer["apiVersion"] = "slipway.dev/v2".into();
        assert!(matches!(read(&newer), Err(DocumentError::OtherKind { .. })));
        let mut unknown = reference("worker", "one");
        unknown["node"]["labels"] = json!({"a": "b"});
        assert!(matches!(read(&unknown), Err(DocumentError::Unreadable(_))));
    }
}
