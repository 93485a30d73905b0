//! The calls for a running cluster: keys, the identity of machines, instances behind nodes.

use slipway_protocol::generated as proto;
use slipway_resource::provider::{
    CREDENTIAL_BYTES, InstancesRequest, NodeChallenge, UnwrapKeyRequest, VerifyNodeRequest, WrapKeyRequest,
};
use slipway_resource::{Digest, ErrorClass, ProviderError};
use zeroize::Zeroizing;

use super::{Service, invalid};

/// Keys of key services, and the identity of machines.
impl Service {
    pub(super) async fn wrapping(
        &self,
        request: proto::WrapKeyRequest,
    ) -> Result<proto::WrapKeyResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let proto::WrapKeyRequest { session: _, key, plain, scope } = request;
        let request = WrapKeyRequest { key, plain: Zeroizing::new(plain), scope };
        Ok(proto::WrapKeyResponse { wrapped: open.session.wrap_key(request).await?, error: None })
    }

    pub(super) async fn unwrapping(
        &self,
        request: proto::UnwrapKeyRequest,
    ) -> Result<proto::UnwrapKeyResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let proto::UnwrapKeyRequest { session: _, key, wrapped, scope } = request;
        let plain = open.session.unwrap_key(UnwrapKeyRequest { key, wrapped, scope }).await?;
        Ok(proto::UnwrapKeyResponse { plain: plain.to_vec(), error: None })
    }

    pub(super) async fn proving(
        &self,
        request: proto::BootstrapCredentialRequest,
    ) -> Result<proto::BootstrapCredentialResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let credential = open.session.bootstrap_credential(challenge(request.challenge)?).await?;
        Ok(proto::BootstrapCredentialResponse { credential, error: None })
    }

    pub(super) async fn verifying(
        &self,
        request: proto::VerifyNodeRequest,
    ) -> Result<proto::VerifyNodeResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let proto::VerifyNodeRequest { session: _, challenge: for_what, credential, cluster } = request;
        if credential.len() > CREDENTIAL_BYTES {
            let text = format!("a credential has at most {CREDENTIAL_BYTES} bytes");
            return Err(ProviderError::new(ErrorClass::Invalid, text));
        }
        let request = VerifyNodeRequest { challenge: challenge(for_what)?, credential, cluster };
        let verified = open.session.verify_node(request).await?;
        Ok(proto::VerifyNodeResponse {
            machine: verified.machine,
            nodes: verified.nodes,
            pool: verified.pool.unwrap_or_default(),
            started: verified.started,
            role: verified.role.unwrap_or_default(),
            template: verified.template.unwrap_or_default(),
            error: None,
        })
    }
}

/// Instances behind nodes.
impl Service {
    pub(super) async fn finding_instances(
        &self,
        request: proto::InstancesRequest,
    ) -> Result<proto::InstancesResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let request = InstancesRequest::try_from(request).map_err(invalid)?;
        let answers = open.session.instances(request).await?;
        Ok(proto::InstancesResponse { answers: answers.into_iter().map(Into::into).collect(), error: None })
    }
}

/// The challenge of a request.
fn challenge(message: Option<proto::NodeChallenge>) -> Result<NodeChallenge, ProviderError> {
    let invalid = |text: String| ProviderError::new(ErrorClass::Invalid, text);
    let message = message.ok_or_else(|| invalid("the request has no challenge".to_owned()))?;
    let proto::NodeChallenge { server, nonce, request } = message;
    let request = Digest::parse(&request)
        .ok_or_else(|| invalid("challenge.request is no digest: sha256: and 64 digits".to_owned()))?;
    if server.contains('\n') || nonce.contains('\n') {
        return Err(invalid("a challenge has no line ends".to_owned()));
    }
    Ok(NodeChallenge { server, nonce, request })
}
