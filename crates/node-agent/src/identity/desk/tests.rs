//! Decisions of the desk, without and with its endpoint.

mod replayed;

use async_trait::async_trait;
use serde_json::{Value as Json, json};
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::pki::PrivateKey;
use slipway_resource::provider::*;
use slipway_resource::{Observed, Token as StepToken, Value};

use super::*;

const HOST: &str = "api.example.com";
const NODE: &str = "ip-10-0-0-7";

/// A cloud in which a machine proves its identity by the digest of the challenge.
struct Cloud {
    scope: Scope,
    started: i64,
}

#[async_trait]
impl Session for Cloud {
    fn scope(&self) -> &Scope {
        &self.scope
    }

    async fn catalog(&self) -> Result<Catalog, ProviderError> {
        Err(unasked())
    }

    async fn expand(&self, _: ExpandRequest) -> Result<Expansion, ProviderError> {
        Err(unasked())
    }

    async fn discover(&self, _: DiscoverRequest) -> Result<Discovery, ProviderError> {
        Err(unasked())
    }

    async fn read(&self, _: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        Err(unasked())
    }

    async fn plan(&self, _: Vec<PlanItem>) -> Result<Vec<Planned>, ProviderError> {
        Err(unasked())
    }

    async fn preflight(&self, _: Vec<PreflightItem>) -> Result<Vec<PreflightFinding>, ProviderError> {
        Err(unasked())
    }

    async fn apply(&self, _: ApplyRequest, _: EventSink) -> Result<Applied, ProviderError> {
        Err(unasked())
    }

    async fn resume(&self, _: ResumeRequest, _: EventSink) -> Result<Resolution, ProviderError> {
        Err(unasked())
    }

    async fn upgrade_state(&self, _: &str, _: u32, _: Value) -> Result<Value, ProviderError> {
        Err(unasked())
    }

    async fn cancel(&self, _: Option<StepToken>) -> Result<(), ProviderError> {
        Err(unasked())
    }

    async fn verify_node(&self, request: VerifyNodeRequest) -> Result<VerifiedNode, ProviderError> {
        if request.credential != request.challenge.digest().as_str().as_bytes() {
            let class = ErrorClass::Permission { action: "join".into() };
            return Err(ProviderError::new(class, "the machine is refused: another challenge"));
        }
        Ok(VerifiedNode {
            machine: "i-1".to_owned(),
            nodes: vec![format!("{NODE}.internal"), NODE.to_owned()],
            pool: Some("nodes".to_owned()),
            role: Some("nodes.example.com".to_owned()),
            template: Some("lt-1".to_owned()),
            started: self.started,
        })
    }

    async fn close(&self) -> Result<(), ProviderError> {
        Ok(())
    }
}

fn unasked() -> ProviderError {
    ProviderError::new(ErrorClass::Permanent, "the endpoint does not ask this")
}

struct Known {
    live: Vec<String>,
    bound: Mutex<Option<Binding>>,
    pools: Option<Json>,
    document: Option<&'static str>,
}

/// A cluster without nodes, which lists the pool of the machine.
fn known() -> Known {
    Known { live: Vec::new(), bound: Mutex::default(), pools: Some(listed("lt-1")), document: None }
}

/// A list with the pool of the machine, and the template of the pool.
fn listed(template: &str) -> Json {
    json!({"data": {"nodes.template": template, "nodes.role": "nodes.example.com"}})
}

#[async_trait]
impl Registry for Known {
    async fn is_live(&self, node: &str) -> Result<bool, ApiError> {
        Ok(self.live.iter().any(|live| live == node))
    }

    async fn pools(&self) -> Result<Option<Pools>, ApiError> {
        Ok(self.pools.as_ref().map(Pools::of))
    }

    async fn document(&self, pool: &str) -> Result<Option<String>, ApiError> {
        Ok(self.document.filter(|_| pool == "nodes").map(str::to_owned))
    }

    async fn bind(&self, wanted: &Binding, _: Timestamp) -> Result<Binding, ApiError> {
        Ok(self.bound.lock().unwrap().get_or_insert_with(|| wanted.clone()).clone())
    }

    async fn forget(&self, _: Duration, _: Timestamp) -> Result<(), ApiError> {
        Ok(())
    }
}

fn desk(hours: i64, known: Known) -> Desk<Known> {
    let started = Timestamp::now().as_second() - hours * 3600;
    let session = Arc::new(Cloud { scope: Scope::default(), started });
    Desk::new("example.com".to_owned(), vec![HOST.to_owned()], session, known)
}

fn authority() -> Authority {
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap();
    let template = Template::authority("kubernetes", Timestamp::now(), Duration::from_secs(3600)).unwrap();
    Authority { certificate: template.self_signed(&key).unwrap(), key }
}

fn key() -> PublicKey {
    PrivateKey::generate(EncryptionAlgorithm::EcdsaP256).unwrap().public_key().clone()
}

/// The request of a machine that proves its identity for a challenge.
fn ask(server: &str, nonce: &str, node: &str, key: &PublicKey) -> Ask {
    ask_with(server, nonce, Wanted { node: node.to_owned(), public_key: key.to_pem(), document: None })
}

/// The same for any request.
fn ask_with(server: &str, nonce: &str, wanted: Wanted) -> Ask {
    let request = serde_json::to_string(&wanted).unwrap();
    let challenge = NodeChallenge {
        server: server.to_owned(),
        nonce: nonce.to_owned(),
        request: Digest::of_bytes(request.as_bytes()),
    };
    let credential = STANDARD.encode(challenge.digest().as_str());
    Ask { server: server.to_owned(), nonce: nonce.to_owned(), request, credential }
}

fn reason<T>(result: Result<T, Refusal>) -> String {
    match result {
        Err(Refusal::Refused(reason)) => reason,
        Err(other) => format!("{other:?}"),
        Ok(_) => "granted".to_owned(),
    }
}

#[tokio::test]
async fn a_machine_gets_the_certificate_of_its_node_and_the_same_again() {
    let (desk, authority, key) = (desk(0, known()), authority(), key());
    for _ in 0..2 {
        let nonce = desk.challenge().unwrap().nonce;
        let grant = desk.grant(&ask(HOST, &nonce, NODE, &key), &authority).await.unwrap();
        let certificate = Certificate::from_pem(&grant.certificate).unwrap();
        assert_eq!(certificate.subject().common_name, format!("system:node:{NODE}"));
        assert_eq!(certificate.subject().organizations, ["system:nodes"]);
        assert_eq!((certificate.public_key(), certificate.usages()), (&key, vec![Usage::Client]));
        assert!(!certificate.is_ca());
        let life = certificate.not_after().as_second() - Timestamp::now().as_second();
        assert!(life <= 1800, "{life}");
    }
}

#[tokio::test]
async fn a_nonce_counts_once_and_a_strange_one_never() {
    let (desk, authority, key) = (desk(0, known()), authority(), key());
    let nonce = desk.challenge().unwrap().nonce;
    let ask = ask(HOST, &nonce, NODE, &key);
    assert!(desk.grant(&ask, &authority).await.is_ok());
    assert!(matches!(desk.grant(&ask, &authority).await, Err(Refusal::Nonce)));
    let strange = self::ask(HOST, "strange", NODE, &key);
    assert!(matches!(desk.grant(&strange, &authority).await, Err(Refusal::Nonce)));
}

#[tokio::test]
async fn an_ask_is_worth_nothing_at_another_control_plane() {
    let (one, other, authority) = (desk(0, known()), desk(0, known()), authority());
    let ask = ask(HOST, &one.challenge().unwrap().nonce, NODE, &key());
    assert!(matches!(other.grant(&ask, &authority).await, Err(Refusal::Nonce)));
    assert!(one.grant(&ask, &authority).await.is_ok());
}

#[tokio::test]
async fn a_refused_ask_has_used_up_its_nonce() {
    let (desk, authority) = (desk(0, known()), authority());
    let ask = ask(HOST, &desk.challenge().unwrap().nonce, "control-plane-1", &key());
    assert!(matches!(desk.grant(&ask, &authority).await, Err(Refusal::Refused(_))));
    assert!(matches!(desk.grant(&ask, &authority).await, Err(Refusal::Nonce)));
}

#[tokio::test(start_paused = true)]
async fn a_nonce_ends() {
    let (desk, authority) = (desk(0, known()), authority());
    let ask = ask(HOST, &desk.challenge().unwrap().nonce, NODE, &key());
    tokio::time::advance(NONCE + Duration::from_secs(1)).await;
    assert!(matches!(desk.grant(&ask, &authority).await, Err(Refusal::Nonce)));
}

#[tokio::test]
async fn a_proof_is_for_one_body_and_one_server() {
    let (desk, authority, key) = (desk(0, known()), authority(), key());
    let mut altered = ask(HOST, &desk.challenge().unwrap().nonce, NODE, &key);
    let other = self::key();
    altered.request = altered.request.replace(
        &serde_json::to_string(&key.to_pem()).unwrap(),
        &serde_json::to_string(&other.to_pem()).unwrap(),
    );
    let text = reason(desk.grant(&altered, &authority).await);
    assert!(text.contains("another challenge"), "{text}");
    let elsewhere = ask("api.example.org", &desk.challenge().unwrap().nonce, NODE, &key);
    let text = reason(desk.grant(&elsewhere, &authority).await);
    assert!(text.contains("not called api.example.org"), "{text}");
}

#[tokio::test]
async fn a_machine_is_one_node_with_one_key() {
    let (desk, authority, key) = (desk(0, known()), authority(), key());
    let nonce = || desk.challenge().unwrap().nonce;
    let text = reason(desk.grant(&ask(HOST, &nonce(), "control-plane-1", &key), &authority).await);
    assert!(text.contains("is called") && text.contains("not control-plane-1"), "{text}");
    assert!(desk.grant(&ask(HOST, &nonce(), NODE, &key), &authority).await.is_ok());
    let text = reason(desk.grant(&ask(HOST, &nonce(), NODE, &self::key()), &authority).await);
    assert!(text.contains("for another key before"), "{text}");
}

#[tokio::test]
async fn neither_a_live_node_nor_an_old_machine_gets_one() {
    let (authority, key) = (authority(), key());
    let live = desk(0, Known { live: vec![NODE.to_owned()], ..known() });
    let nonce = live.challenge().unwrap().nonce;
    let text = reason(live.grant(&ask(HOST, &nonce, NODE, &key), &authority).await);
    assert!(text.contains("it is ready"), "{text}");
    let old = desk(25, known());
    let nonce = old.challenge().unwrap().nonce;
    let text = reason(old.grant(&ask(HOST, &nonce, NODE, &key), &authority).await);
    assert!(text.contains("25 hours ago"), "{text}");
}

#[tokio::test]
async fn a_machine_of_another_template_gets_none_and_without_a_list_every_machine_waits() {
    let (authority, key) = (authority(), key());
    let foreign = desk(0, Known { pools: Some(listed("lt-2")), ..known() });
    let nonce = foreign.challenge().unwrap().nonce;
    let text = reason(foreign.grant(&ask(HOST, &nonce, NODE, &key), &authority).await);
    assert!(
        text.contains("launched from lt-1, and machines of the pool nodes are launched from lt-2"),
        "{text}"
    );
    assert!(foreign.registry.bound.lock().unwrap().is_none());
    let early = desk(0, Known { pools: None, ..known() });
    let nonce = early.challenge().unwrap().nonce;
    let granted = early.grant(&ask(HOST, &nonce, NODE, &key), &authority).await;
    let Err(Refusal::Unavailable(text)) = granted else { panic!("a machine does not wait") };
    assert!(text.contains("slipway-pools"), "{text}");
}

#[tokio::test]
async fn a_machine_gets_the_document_of_its_pool_and_waits_for_another_one() {
    let (authority, key) = (authority(), key());
    let desk = desk(0, Known { document: Some("the document"), ..known() });
    let wanted = |text: &str| {
        let document = Some(Digest::of_bytes(text.as_bytes()).to_string());
        Wanted { node: NODE.to_owned(), public_key: key.to_pem(), document }
    };
    let nonce = || desk.challenge().unwrap().nonce;
    let early = desk.grant(&ask_with(HOST, &nonce(), wanted("the next document")), &authority).await;
    let Err(Refusal::Unavailable(text)) = early else { panic!("a machine gets another document") };
    assert!(text.contains("bootstrap document sha256:"), "{text}");
    assert!(desk.registry.bound.lock().unwrap().is_none(), "it is bound when it gets its credential");
    let grant = desk.grant(&ask_with(HOST, &nonce(), wanted("the document")), &authority).await.unwrap();
    assert_eq!(grant.document.as_deref(), Some("the document"));
    let grant = desk.grant(&ask(HOST, &nonce(), NODE, &key), &authority).await.unwrap();
    assert_eq!(grant.document, None);
}

#[tokio::test]
async fn nonces_are_bounded() {
    let desk = desk(0, known());
    for _ in 0..NONCES {
        desk.challenge().unwrap();
    }
    assert!(matches!(desk.challenge(), Err(Refusal::Unavailable(_))));
}
