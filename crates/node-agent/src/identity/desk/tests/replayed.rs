//! A request that was recorded on its way to one control plane is sent again, to it and to another one. Both serve it over TLS,
//! with certificates of one authority and for one name, as behind a load balancer.

use slipway_bootstrap::pki::AlternativeNames;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::*;
use crate::api::{Api, Credentials, Trust};
use crate::identity::server::{self, Keys};
use crate::identity::{CHALLENGE, CREDENTIAL};

/// The name in the certificates of both control planes.
const ADDRESS: &str = "127.0.0.1";

/// The endpoint of a control plane.
struct ControlPlane {
    api: Api,
    task: JoinHandle<()>,
    _keys: TempDir,
}

impl ControlPlane {
    /// Starts an endpoint of the cluster with a certificate of its own. It ends with this value.
    async fn start(authority: &Authority) -> Self {
        let keys = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(keys.path().join(name), text).unwrap();
        let own = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
        let subject = Subject::new("kube-apiserver");
        let template = Template::leaf(subject, Timestamp::now(), Duration::from_secs(3600)).unwrap();
        let template = template.with_usages([Usage::Server]).with_names(AlternativeNames::of([ADDRESS]));
        let certificate =
            template.signed_by(own.public_key(), &authority.certificate, &authority.key).unwrap();
        write("apiserver.crt", &certificate.to_pem());
        write("apiserver.key", own.to_pem().unwrap().expose());
        write("ca.crt", &authority.certificate.to_pem());
        write("ca.key", authority.key.to_pem().unwrap().expose());
        let listener = TcpListener::bind((ADDRESS, 0)).await.unwrap();
        let url = format!("https://{}", listener.local_addr().unwrap());
        let trust = Trust::Authorities(authority.certificate.to_pem());
        let api = Api::new(&url, &trust, &Credentials::Anonymous).unwrap();
        let folder = keys.path().to_owned();
        let task = tokio::spawn(async move {
            server::accept(listener, desk(0, known()), Keys { folder }).await.map(drop).unwrap();
        });
        Self { api, task, _keys: keys }
    }

    async fn nonce(&self) -> String {
        let answer = self.api.post(CHALLENGE, &json!({})).await.unwrap();
        serde_json::from_value::<Challenge>(answer).unwrap().nonce
    }

    /// The status of the answer to a request, and its certificate or its message.
    async fn send(&self, recorded: &Json) -> (u16, String) {
        match self.api.post(CREDENTIAL, recorded).await {
            Ok(answer) => (200, serde_json::from_value::<Grant>(answer).unwrap().certificate),
            Err(ApiError::Refused { status, message, .. }) => (status.as_u16(), message),
            Err(error) => panic!("{error}"),
        }
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn a_recorded_request_is_worth_nothing_at_any_control_plane() {
    let (authority, key) = (authority(), key());
    let (one, other) = (ControlPlane::start(&authority).await, ControlPlane::start(&authority).await);
    let ask = |nonce: &str| serde_json::to_value(ask(HOST, nonce, NODE, &key)).unwrap();
    let used_up = (409, "the nonce is used up or too old".to_owned());

    // It arrives at another control plane first: the load balancer distributes connections, and a thief may be faster.
    let recorded = ask(&one.nonce().await);
    assert_eq!(other.send(&recorded).await, used_up);
    let (status, certificate) = one.send(&recorded).await;
    assert_eq!(status, 200, "{certificate}");
    let certificate = Certificate::from_pem(&certificate).unwrap();
    assert_eq!(certificate.public_key(), &key);

    // Afterwards, it is worth nothing anywhere, also if the thief puts its own nonce or its own key into it.
    for control_plane in [&one, &other] {
        assert_eq!(control_plane.send(&recorded).await, used_up);
        let mut renewed = recorded.clone();
        renewed["nonce"] = control_plane.nonce().await.into();
        let (status, message) = control_plane.send(&renewed).await;
        assert!(status == 403 && message.contains("another challenge"), "{status} {message}");
        let mut altered = ask(&control_plane.nonce().await);
        let thief = self::key();
        altered["request"] = serde_json::to_string(&Wanted {
            node: NODE.to_owned(),
            public_key: thief.to_pem(),
            document: None,
        })
        .unwrap()
        .into();
        let (status, message) = control_plane.send(&altered).await;
        assert!(status == 403 && message.contains("another challenge"), "{status} {message}");
    }
}
