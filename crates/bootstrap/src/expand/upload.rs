use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use slipway_resource::{SecretText, Value};

use super::phased::{Phased, Resources};
use crate::objects::{self, TokenObject};

const PHASE: &str = "upload-certs";

/// A shared file, encrypted by the certificate key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UploadedFile {
    /// Its path below the folder of certificates, as `etcd/ca.crt`.
    pub name: String,
    /// Nonce, ciphertext and tag; empty for a file that is not there.
    pub encrypted: Vec<u8>,
}

/// The shared certificates in the cluster, for control planes that join; they end with a token of their own. The files
/// are encrypted by the caller: every encryption of the same file is another one.
#[must_use]
pub fn upload_certificates(
    files: &[UploadedFile],
    token_id: &str,
    token_secret: &SecretText,
    expiration: jiff::Timestamp,
) -> Vec<Phased> {
    let mut resources = Resources::default();
    let secret = slipway_resource::Secret {
        text: Some(token_secret.clone()),
        ..slipway_resource::Secret::new(format!("token:{token_id}"))
    };
    let owner = objects::bootstrap_token(&TokenObject {
        id: token_id,
        secret: secret.into(),
        description: objects::OWNER_DESCRIPTION,
        expiration: Some(expiration),
        usages: &[],
        groups: &[],
    });
    let owner = resources.manifest(PHASE, owner, Vec::new(), &[]);
    let data: Vec<(String, String)> =
        files.iter().map(|file| (file.name.clone(), BASE64_STANDARD.encode(&file.encrypted))).collect();
    let mut secret = Value::from_json(&objects::shared_certificates(&data, token_id, ""));
    let uid = "metadata.ownerReferences[0].uid".parse().unwrap_or_default();
    secret.set(&uid, Value::reference(owner.clone(), "uid"));
    resources.manifest(PHASE, secret, Vec::new(), &[&owner]);
    for object in objects::certificates_roles() {
        resources.object(PHASE, &object, &[]);
    }
    resources.done()
}
