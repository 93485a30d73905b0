//! The calls that no run of the laboratory makes: each in each way. Every one of them ends within bounds, with an error that
//! names the provider.

use anyhow::{Context as _, Result, ensure};
use futures_util::{StreamExt, stream};
use slipway_resource::provider::{
    LocateItem, LocateRequest, PlanItem, SessionRequest, UnwrapKeyRequest, WrapKeyRequest,
};
use slipway_resource::{Address, Identity, Provider, ProviderError, Session, Value};
use tempfile::TempDir;

use super::proxy::{Call, Lie, Misdeed};
use super::{BOUND, Case, EVERYWHERE, Hostile};

const CALLS: [Call; 10] = [
    Call::ValidateConfig,
    Call::Locate,
    Call::Nodes,
    Call::Rehearse,
    Call::Price,
    Call::UpgradeState,
    Call::Import,
    Call::WrapKey,
    Call::UnwrapKey,
    Call::CloseSession,
];

async fn ask(
    provider: &dyn Provider,
    session: &dyn Session,
    call: Call,
    address: &Address,
) -> Result<(), ProviderError> {
    let item = PlanItem { address: address.clone(), desired: None, observed: None, last_applied: None };
    let (key, scope) = ("key/state".to_owned(), "line".to_owned());
    match call {
        Call::ValidateConfig => provider.validate_config(&Value::default()).await.map(drop),
        Call::Locate => {
            let desired = Value::map([("name", "main")]);
            let items = vec![LocateItem { address: address.clone(), desired, existing: None }];
            session.locate(LocateRequest { cluster: scope, items }).await.map(drop)
        }
        Call::Nodes => session.nodes().await.map(drop),
        Call::Rehearse => session.dry_run(vec![item]).await.map(drop),
        Call::Price => session.price(vec![item]).await.map(drop),
        Call::UpgradeState => session.upgrade_state("sim_network", 1, Value::default()).await.map(drop),
        Call::Import => session.import(address, &Identity::new("net-1")).await.map(drop),
        Call::WrapKey => {
            let plain = vec![7_u8; 32].into();
            session.wrap_key(WrapKeyRequest { key, plain, scope }).await.map(drop)
        }
        Call::UnwrapKey => {
            let wrapped = vec![7_u8; 60];
            session.unwrap_key(UnwrapKeyRequest { key, wrapped, scope }).await.map(drop)
        }
        Call::CloseSession => session.close().await,
        _ => Ok(()),
    }
}

/// The error of a call of a provider that misbehaves in it; `None` when it counts as answered.
async fn attempt(call: Call, misdeed: Misdeed) -> Result<Option<String>> {
    let directory = TempDir::new()?;
    let hostile =
        Hostile::start(Case { call, misdeed, after_loss: false, exists: false, changes: false }).await?;
    let place = directory.path().to_str().context("a path")?;
    let config = Value::map([("directory", place)]);
    let request = SessionRequest { config, region: Some("sim-1".to_owned()), offline: false };
    let session = hostile.client.open_session(request).await?;
    let address: Address = "sim_network.main".parse()?;
    let asked = tokio::time::timeout(BOUND, ask(&hostile.client, &*session, call, &address)).await;
    Ok(asked.context("it was waited for without end")?.err().map(|error| error.message))
}

async fn try_one(call: Call, misdeed: Misdeed) -> Result<()> {
    // Nothing may be all there is to say.
    let harmless = matches!(
        (call, misdeed),
        (Call::ValidateConfig | Call::Nodes | Call::Price | Call::CloseSession, Misdeed::Empty)
            | (Call::Nodes, Misdeed::End)
    );
    match attempt(call, misdeed).await? {
        None => ensure!(harmless, "it was taken for an answer"),
        Some(text) => {
            let honest = matches!(misdeed, Misdeed::Fail(_));
            ensure!(!harmless, "it is refused: {text}");
            ensure!(honest || text.contains("provider sim"), "the provider is not named: {text}");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_outside_a_run_is_never_answered_by_nothing() -> Result<()> {
    let cases = CALLS.into_iter().flat_map(|call| EVERYWHERE.map(|misdeed| (call, misdeed)));
    let failed: Vec<String> = stream::iter(cases)
        .map(|(call, misdeed)| async move {
            try_one(call, misdeed).await.err().map(|error| format!("{call:?} {misdeed:?}: {error:#}"))
        })
        .buffer_unordered(12)
        .filter_map(|failed| async { failed })
        .collect()
        .await;
    ensure!(failed.is_empty(), "{} of them:\n{}", failed.len(), failed.join("\n"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_answer_about_another_object_is_refused() -> Result<()> {
    for (call, name) in [(Call::Locate, "Locate"), (Call::Import, "Import")] {
        let said = attempt(call, Misdeed::Lie(Lie::OtherAddress)).await?.context("it was believed")?;
        let wanted = format!(
            "provider sim broke the contract: {name} answered sim_network.other where sim_network.main was asked"
        );
        ensure!(said == wanted, "{said}");
    }
    Ok(())
}
