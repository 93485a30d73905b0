//! An API whose machines boot while a run waits for it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use anyhow::{Context as _, Result, ensure};
use slipway_provider_kubernetes::{Access, ApiEndpoint, Kubernetes, SecretKubeconfig};
use slipway_resource::provider::{Action, ApplyEvent, ApplyRequest, EventSink, ReadRequest, SessionRequest};
use slipway_resource::{
    Address, ClusterUid, ErrorClass, Identity, Observation, Ownership, Provider as _, ProviderError, Session,
    Token, Value,
};

use crate::lab::Api;

/// Access to a cluster whose API has no known address. The first attempts lead to a port without a listener.
struct Booting {
    kubeconfig: PathBuf,
    refused: usize,
    asked: AtomicUsize,
}

#[async_trait::async_trait]
impl Access for Booting {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        Ok(None)
    }

    async fn kubeconfig_at(&self, endpoint: &ApiEndpoint) -> Result<Option<SecretKubeconfig>, ProviderError> {
        let text = std::fs::read_to_string(&self.kubeconfig)
            .map_err(|error| ProviderError::new(ErrorClass::Invalid, error.to_string()))?;
        let is_booting = self.asked.fetch_add(1, Ordering::SeqCst) < self.refused;
        let server = if is_booting { "https://127.0.0.1:1".to_owned() } else { endpoint.to_string() };
        let lines = text.lines().map(|line| match line.split_once("server: ") {
            Some((before, _)) => format!("{before}server: {server}\n"),
            None => format!("{line}\n"),
        });
        Ok(Some(SecretKubeconfig::new(lines.collect::<String>())))
    }
}

async fn session(api: &Api, refused: usize) -> Result<Arc<dyn Session>> {
    let access = Booting { kubeconfig: api.kubeconfig(), refused, asked: AtomicUsize::new(0) };
    let request = SessionRequest { config: Value::Null, region: None, offline: false };
    Ok(Kubernetes::new(Arc::new(access)).open_session(request).await?)
}

fn create(host: &str, port: i64, timeout_ms: u64) -> ApplyRequest {
    ApplyRequest {
        token: Token::new("t"),
        ownership: Ownership {
            uid: ClusterUid::new("7f2c7b1e-3f0a-4b6f-9a53-6a1d7e6c0001"),
            cluster: "demo".to_owned(),
            address: address(),
        },
        action: Action::Create { desired: Value::map([("host", Value::from(host)), ("port", port.into())]) },
        timeout_ms,
    }
}

fn address() -> Address {
    Address::new("kubernetes_api", "api.demo")
}

/// The host and the port of the API server.
fn place(api: &Api) -> Result<(String, i64)> {
    let text = std::fs::read_to_string(api.kubeconfig())?;
    let server = text.lines().find_map(|line| line.split_once("server: https://")).context("no server")?.1;
    let (host, port) = server.trim().trim_matches(['"', '\'']).rsplit_once(':').context("no port")?;
    Ok((host.to_owned(), port.parse()?))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_waits_for_the_api_and_the_session_goes_on_there() -> Result<()> {
    let api = Api::start(false)?;
    let (host, port) = place(&api)?;
    let session = session(&api, 3).await?;
    let namespace = Address::new("kubernetes_object", "Namespace//default");
    let default = Identity::new("Namespace//default");
    let found = || session.import(&namespace, &default);
    assert!(found().await.is_err(), "nobody knows where the API is");
    let said: Arc<Mutex<Vec<String>>> = Arc::default();
    let heard = said.clone();
    let events = EventSink::new(move |event| {
        if let ApplyEvent::Progress(text) = event {
            heard.lock().unwrap().push(text);
        }
    });
    let applied = session.apply(create(&host, port, 60_000), events).await?;
    let identity = Identity::new(format!("https://{host}:{port}"));
    assert_eq!(applied.identity.as_ref(), Some(&identity));
    let said = said.lock().unwrap().clone();
    assert_eq!(said.len(), 1, "the same reason is shown once: {said:?}");
    let begins = format!("waiting until https://{host}:{port} answers: ");
    ensure!(said[0].starts_with(&begins), "{said:?}");
    found().await?;
    let read = session.read(vec![ReadRequest { address: address(), identity }]).await?;
    ensure!(matches!(read[0].observation, Observation::Present(_)), "{read:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_that_never_answers_ends_the_step_with_the_last_reason() -> Result<()> {
    let api = Api::start(false)?;
    let (host, port) = place(&api)?;
    let session = session(&api, usize::MAX).await?;
    let failed = session.apply(create(&host, port, 1_500), EventSink::discard()).await;
    let error = failed.err().context("it is done")?;
    assert_eq!(error.class, ErrorClass::Permanent);
    assert!(error.message.contains("does not answer") && error.identity.is_none(), "{error:?}");
    assert!(error.hint.unwrap_or_default().contains("slipway validate"));
    Ok(())
}
