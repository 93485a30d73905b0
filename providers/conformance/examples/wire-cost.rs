//! The cost of the wire protocol: the simulated cloud linked in, and the same in a separate process.
//!
//! Both make, find, read and plan the same objects; the ratio of their processor time is printed, both processes
//! counted. `cargo run --release -p slipway-provider-conformance --example wire-cost -- 10000`

#![allow(clippy::unwrap_used, missing_docs, reason = "a benchmark")]

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use slipway_protocol::handshake::NONCE;
use slipway_protocol::{Launch, Running};
use slipway_provider_sdk::{ServeOptions, serve};
use slipway_provider_sim::Sim;
use slipway_resource::provider::{
    Action, ApplyRequest, DiscoverRequest, EventSink, PlanItem, ReadRequest, SessionRequest,
};
use slipway_resource::{Address, ClusterUid, Observation, Ownership, Provider, Token, Value};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    if std::env::var_os(NONCE).is_some() {
        return Ok(serve(Arc::new(Sim), ServeOptions::from_environment()?).await?);
    }
    let count = std::env::args().nth(1).map_or(Ok(10_000), |text| text.parse())?;
    let own = std::process::id();

    let directory = tempfile::tempdir()?;
    let before = processor_ms(own);
    let halfway = create(Arc::new(Sim), directory.path(), count).await;
    let made = processor_ms(own);
    preview(Arc::new(Sim), directory.path(), halfway).await;
    let embedded = (made - before, processor_ms(own) - made);

    let directory = tempfile::tempdir()?;
    let running = Running::launch(&Launch::new("sim", &std::env::current_exe()?)).await?;
    let other = running.process().announcement().pid;
    let both = || processor_ms(own) + processor_ms(other);
    let before = both();
    let halfway = create(running.provider(), directory.path(), count).await;
    let made = both();
    preview(running.provider(), directory.path(), halfway).await;
    let remote = (made - before, both() - made);
    running.end().await;

    let ratio = |remote: f64, embedded: f64| remote / embedded.max(1.0);
    let mut output = std::io::stdout().lock();
    writeln!(output, "{count} objects, processor milliseconds: embedded, remote, ratio")?;
    writeln!(output, "apply    {:8.0} {:8.0} {:6.2}", embedded.0, remote.0, ratio(remote.0, embedded.0))?;
    writeln!(output, "preview  {:8.0} {:8.0} {:6.2}", embedded.1, remote.1, ratio(remote.1, embedded.1))?;
    let sum = |pair: (f64, f64)| pair.0 + pair.1;
    let total = ratio(sum(remote), sum(embedded));
    writeln!(output, "together {:8.0} {:8.0} {total:6.2}", sum(embedded), sum(remote))?;
    Ok(())
}

fn uid() -> ClusterUid {
    ClusterUid::new("uid")
}

fn address(number: usize) -> Address {
    Address::new("sim_object", format!("object-{number:06}"))
}

fn attributes(number: usize) -> Value {
    Value::map([("key", format!("object-{number:06}")), ("text", "x".repeat(200))])
}

async fn session(provider: &Arc<dyn Provider>, directory: &Path) -> Arc<dyn slipway_resource::Session> {
    let config = Value::map([("directory", directory.to_str().unwrap())]);
    let request = SessionRequest { config, region: None, offline: false };
    provider.open_session(request).await.unwrap()
}

/// Makes the objects, a hundred at a time.
async fn create(provider: Arc<dyn Provider>, directory: &Path, count: usize) -> usize {
    let session = session(&provider, directory).await;
    let requests = (0..count).map(|number| ApplyRequest {
        token: Token::new(format!("token-{number}")),
        ownership: Ownership { uid: uid(), cluster: "c".into(), address: address(number) },
        action: Action::Create { desired: attributes(number) },
        timeout_ms: 60_000,
    });
    stream::iter(requests.map(|request| session.apply(request, EventSink::discard())))
        .buffer_unordered(100)
        .for_each(|applied| async {
            applied.unwrap();
        })
        .await;
    session.close().await.unwrap();
    count
}

/// The calls of a plan without changes.
async fn preview(provider: Arc<dyn Provider>, directory: &Path, count: usize) {
    let session = session(&provider, directory).await;
    let request = DiscoverRequest { uid: Some(uid()), cluster: "c".into(), types: Vec::new() };
    let found = session.discover(request).await.unwrap().observed;
    assert_eq!(found.len(), count);
    let reads = found.iter().map(|observed| ReadRequest {
        address: observed.address.clone(),
        identity: observed.identity.clone(),
    });
    assert_eq!(session.read(reads.collect()).await.unwrap().len(), count);
    let items = found.iter().enumerate().map(|(number, observed)| PlanItem {
        address: observed.address.clone(),
        desired: Some(attributes(number)),
        observed: match &observed.observation {
            Observation::Present(value) => Some(value.clone()),
            _ => None,
        },
        last_applied: Some(attributes(number)),
    });
    assert_eq!(session.plan(items.collect()).await.unwrap().len(), count);
    session.close().await.unwrap();
}

/// User and system time of a process; 0 for one that is gone.
fn processor_ms(pid: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // utime and stime are fields 14 and 15; two fields precede the bracket. A tick is 10 ms on Linux.
    let ticks = |position: usize| fields.get(position).and_then(|text| text.parse().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) * 10.0
}
