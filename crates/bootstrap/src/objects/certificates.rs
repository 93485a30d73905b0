use serde_json::{Value, json};

use super::rbac::{BOOTSTRAPPERS, group, role_and_binding};
use super::{SYSTEM, metadata};

/// kubeadm's description of the token whose end is the end of the uploaded certificates.
pub const OWNER_DESCRIPTION: &str = "Proxy for managing TTL for the kubeadm-certs secret";

/// The Secret with the shared certificates, encrypted with the certificate key and then encoded: `data` is
/// base64. It is deleted with the token that owns it.
#[must_use]
pub fn shared_certificates(data: &[(String, String)], token_id: &str, token_uid: &str) -> Value {
    let data: serde_json::Map<String, Value> =
        data.iter().map(|(file, text)| (file.replace('/', "-"), text.clone().into())).collect();
    let mut metadata = metadata(Some(SYSTEM), "kubeadm-certs");
    metadata["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "Secret", "name": certificates_owner(token_id), "uid": token_uid,
        "controller": true, "blockOwnerDeletion": true,
    }]);
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data})
}

/// The name of the token's Secret that owns the uploaded certificates.
#[must_use]
pub fn certificates_owner(token_id: &str) -> String {
    format!("bootstrap-token-{token_id}")
}

/// The permission to read the uploaded certificates: for joining nodes, which need the key to decrypt them.
#[must_use]
pub fn certificates_roles() -> [Value; 2] {
    let subjects = vec![group(BOOTSTRAPPERS)];
    role_and_binding(SYSTEM, "kubeadm:kubeadm-certs", "secrets", "kubeadm-certs", subjects)
}
