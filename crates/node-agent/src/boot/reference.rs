//! Gets the bootstrap document of a machine whose user data has a reference to it: a control plane gives it together with the
//! credential of the node. It is kept on the disk, so that the machine asks once.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use slipway_bootstrap::boot::{DocumentReference, NodeBootstrap, ProgramName};
use slipway_limits::replace::{self, Readers};
use slipway_resource::provider::executable_name;

use super::mirrors::Mirrors;
use super::{Stop, attempt, identity, programs};
use crate::code;
use crate::error::Error;
use crate::facts::below;
use crate::identity::Identifier;
use crate::machine::Machine;
use crate::spec::Boot;

/// The document that a control plane gave.
const DOCUMENT: &str = "/var/lib/slipway/boot/document.json";
/// The port of the API servers of clusters whose workers have references.
const API_PORT: u16 = 443;

/// The document of a machine. Asks a control plane for it, unless the machine has it already.
pub(super) async fn document(
    reference: &DocumentReference,
    boot: &Boot,
    machine: &Machine,
    mirrors: &Mirrors,
) -> Result<NodeBootstrap, Stop> {
    let root = &machine.root;
    if let Some(document) = kept(reference, root)? {
        return Ok(document);
    }
    attempt::has_address(machine)?;
    let endpoint = attempt::endpoint(boot, API_PORT)?;
    let authority = boot.authority.as_deref().ok_or_else(|| {
        let text = "the user data has a reference to the bootstrap document, and no authority of the cluster";
        Stop::Refused(Error::new(code::DOCUMENT, text).hint("name the authority with --authority"))
    })?;
    let authority = authorities(authority)?;
    programs::install_one(reference, ProgramName::Provider, root, mirrors).await?;
    let provider = reference.provider();
    if Identifier::find(provider).is_none() {
        let name = executable_name(provider);
        return Err(Stop::Waits(format!("waits for the program {name}: it is not on the path")));
    }
    let digest = Some(reference.digest());
    let cloud = (provider, reference.region());
    let cluster = identity::Cluster { cloud, host: endpoint.host, authority, document: digest };
    let answer = identity::ask(cluster, &machine.detected.hostname, root).await?;
    let text = answer.document.ok_or_else(|| {
        Error::new(code::IDENTITY, "the control plane gave a credential, and no bootstrap document")
            .hint("control planes and workers need the same version of slipway: let `slipway apply` replace the control planes")
    })?;
    let document = reference.document(&text).map_err(|error| unusable(&error))?;
    let path = below(root, DOCUMENT);
    replace::write(&path, text.as_bytes(), Readers::Owner)
        .map_err(|error| Error::file("the bootstrap document", &path, &error))?;
    Ok(document)
}

/// The document that the machine got before; `None` if it has none, or that of another reference.
pub(super) fn kept(reference: &DocumentReference, root: &Path) -> Result<Option<NodeBootstrap>, Error> {
    let path = below(root, DOCUMENT);
    match slipway_limits::file::read_text(&path, slipway_limits::size::SPEC) {
        Ok(text) => Ok(reference.document(&text).ok()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::file("the bootstrap document", &path, &error)),
    }
}

/// Whether a control plane gave this machine its document.
pub(super) fn is_given(root: &Path) -> bool {
    below(root, DOCUMENT).exists()
}

/// The authorities of the cluster in PEM, from base64.
pub(super) fn authorities(text: &str) -> Result<String, Stop> {
    let decoded = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.ok_or_else(|| {
        Stop::Refused(Error::new(code::DOCUMENT, "the authority of the cluster is no PEM in base64"))
    })
}

fn unusable(error: &dyn std::fmt::Display) -> Error {
    Error::new(code::DOCUMENT, "the bootstrap document that the control plane gave cannot be used")
        .cause(error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};
    use slipway_bootstrap::boot::Bootstrap;
    use slipway_resource::Digest;

    use super::*;

    fn whole(version: &str) -> String {
        let document = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "NodeBootstrap",
            "cluster": {
                "name": "a.example.com", "provider": "aws", "ipFamily": "ipv4", "domain": "cluster.local",
                "dnsAddress": "10.96.0.10", "serviceCidrs": ["10.96.0.0/12"], "cni": {"name": "flannel"},
            },
            "node": {"pool": "one", "role": "worker", "architecture": "amd64", "kubernetesVersion": version},
        });
        document.to_string()
    }

    fn reference(document: &str) -> DocumentReference {
        let json: Json = json!({
            "apiVersion": "slipway.dev/v1alpha1", "kind": "NodeBootstrapReference",
            "cluster": {"name": "a.example.com", "provider": "aws"},
            "node": {"pool": "one", "role": "worker", "architecture": "amd64", "kubernetesVersion": "1.34.4"},
            "document": {"digest": Digest::of_bytes(document.as_bytes()).to_string()},
        });
        let text = json.to_string();
        match Bootstrap::read(text.as_bytes(), Digest::of_bytes(text.as_bytes()).as_str()).unwrap() {
            Bootstrap::Reference(reference) => *reference,
            Bootstrap::Document(_) => panic!("it is a reference"),
        }
    }

    #[test]
    fn a_document_is_kept_until_another_one_is_referred_to() {
        let root = tempfile::tempdir().unwrap();
        let (first, second) = (whole("1.34.4"), whole("1.34.5"));
        assert_eq!(kept(&reference(&first), root.path()).unwrap(), None);
        assert!(!is_given(root.path()));
        let path = below(root.path(), DOCUMENT);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &first).unwrap();
        assert!(kept(&reference(&first), root.path()).unwrap().is_some() && is_given(root.path()));
        assert_eq!(kept(&reference(&second), root.path()).unwrap(), None);
        std::fs::write(&path, first.get(..20).unwrap()).unwrap();
        assert_eq!(kept(&reference(&first), root.path()).unwrap(), None, "a part of it is no document");
    }
}
