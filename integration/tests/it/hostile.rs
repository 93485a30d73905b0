//! Providers that misbehave: each call of the contract in each way. Every one of them ends with an error, within bounds;
//! nothing that was not done is recorded as done; and with a good provider the cluster comes to the same end.

mod calls;
mod proxy;
mod words;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use futures_util::{StreamExt, stream};
use serde_json::json;
use slipway_engine::{Backoff, Patience, READ_AGE, Report, WaitHandler, Watch};
use slipway_integration::lab::{Lab, cluster};
use slipway_integration::served::Served;
use slipway_plan::file::Mode;
use slipway_plan::{Options, Plan};
use slipway_protocol::generated::provider_client::ProviderClient;
use slipway_protocol::generated::provider_server::ProviderServer;
use slipway_protocol::{Client, Deadlines, Life};
use slipway_provider_sim::Sim;
use slipway_spec::model::Cluster;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;
use tonic::Code;
use tonic::transport::{Endpoint, Server};

use crate::SMALL;
use proxy::{Call, Lie, Misdeed, Proxy};

/// How long one misbehaving provider may hold up a run: the deadlines of these tests, and the time of
/// repetitions.
const BOUND: Duration = Duration::from_secs(60);

/// The memory limit for all misbehaving providers together, in bytes.
const MEMORY: u64 = 2 << 30;

const CALLS: [Call; 10] = [
    Call::GetInfo,
    Call::GetSchema,
    Call::OpenSession,
    Call::Catalog,
    Call::Expand,
    Call::Discover,
    Call::Plan,
    Call::Preflight,
    Call::Apply,
    Call::None,
];

/// How any call may misbehave.
const EVERYWHERE: [Misdeed; 13] = [
    Misdeed::Status(Code::Internal),
    Misdeed::Status(Code::Unimplemented),
    Misdeed::Status(Code::ResourceExhausted),
    Misdeed::Status(Code::Unavailable),
    Misdeed::Hang,
    Misdeed::Deaf,
    Misdeed::Empty,
    Misdeed::Fail(0),
    Misdeed::Fail(5),
    Misdeed::Fail(9),
    Misdeed::Fail(99),
    Misdeed::End,
    Misdeed::Endless,
];

/// A provider that misbehaves in one way.
#[derive(Clone, Copy, Debug)]
struct Case {
    call: Call,
    misdeed: Misdeed,
    /// `Resume` misbehaves, after an action whose outcome is not known.
    after_loss: bool,
    /// The cluster exists already.
    exists: bool,
    /// The spec changes, so that the network is updated.
    changes: bool,
}

fn cases() -> Vec<Case> {
    let case = |call, misdeed| Case { call, misdeed, after_loss: false, exists: false, changes: false };
    let update = |call, misdeed| Case { exists: true, changes: true, ..case(call, misdeed) };
    let mut cases = Vec::new();
    for call in CALLS.into_iter().filter(|call| *call != Call::None) {
        cases.extend(EVERYWHERE.map(|misdeed| case(call, misdeed)));
    }
    cases.extend(EVERYWHERE.map(|misdeed| update(Call::Read, misdeed)));
    let resume = [
        Misdeed::Status(Code::Internal),
        Misdeed::Deaf,
        Misdeed::Empty,
        Misdeed::Fail(9),
        Misdeed::Fail(99),
        Misdeed::End,
    ];
    cases.extend(resume.map(|misdeed| Case { after_loss: true, ..case(Call::Resume, misdeed) }));
    let lies = [
        Lie::NoIdentity,
        Lie::EmptyIdentity,
        Lie::OtherIdentity,
        Lie::UnknownValue,
        Lie::OtherValue,
        Lie::NoValue,
        Lie::UnknownToken,
        Lie::UnknownEnd,
        Lie::Flood,
    ];
    cases.extend(lies.map(|lie| case(Call::Apply, Misdeed::Lie(lie))));
    // An update has an identity already, so that its report may leave it out.
    let of_updates =
        [Lie::EmptyIdentity, Lie::OtherIdentity, Lie::UnknownValue, Lie::OtherValue, Lie::NoValue];
    cases.extend(of_updates.map(|lie| update(Call::Apply, Misdeed::Lie(lie))));
    let found = [Lie::ForeignType, Lie::EmptyIdentity];
    cases.extend(found.map(|lie| Case { exists: true, ..case(Call::Discover, Misdeed::Lie(lie)) }));
    let plans = [Lie::TooMany, Lie::TooFew, Lie::PlannedOtherValue, Lie::PlannedOtherText];
    cases.extend(plans.map(|lie| case(Call::Plan, Misdeed::Lie(lie))));
    cases
}

/// Serves a provider that misbehaves, before one that does not.
struct Hostile {
    _good: Served,
    _directory: TempDir,
    task: JoinHandle<()>,
    client: Client,
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Hostile {
    async fn start(case: Case) -> Result<Self> {
        let good = Served::start(Arc::new(Sim))?;
        let address = format!("unix://{}", good.socket().display());
        let channel = Endpoint::from_shared(address)?.connect().await?;
        let proxy = Proxy {
            good: ProviderClient::new(channel),
            call: case.call,
            misdeed: case.misdeed,
            deaf: Arc::new(AtomicBool::new(false)),
        };
        let directory = TempDir::new()?;
        let socket = directory.path().join("socket");
        let listener = UnixListener::bind(&socket)?;
        let incoming = stream::unfold(listener, |listener| async move {
            let accepted = listener.accept().await.map(|(stream, _)| stream);
            Some((accepted, listener))
        });
        let task = tokio::spawn(async move {
            let _ = Server::builder().serve_with_incoming(ProviderServer::new(proxy), incoming).await;
        });
        let deadlines = Deadlines {
            pure: Duration::from_secs(3),
            observe: Duration::from_secs(3),
            grace: Duration::from_secs(1),
            silence: Duration::from_secs(3),
        };
        let client = Client::connect(&socket, Life::unattended("sim"), deadlines).await?;
        Ok(Self { _good: good, _directory: directory, task, client })
    }
}

/// The error of a run, as text; `None` when the run completed.
async fn attempt(lab: &Lab, wanted: &Cluster) -> Result<Option<String>> {
    let options = Options { preflight: true, ..Options::default() };
    let ended: Result<(Plan, Report)> = tokio::time::timeout(BOUND, lab.run(wanted, Mode::Apply, options))
        .await
        .context("it was waited for without end")?;
    Ok(match ended {
        Ok((_, report)) if report.is_complete() => None,
        Ok((_, report)) => Some(
            report
                .failures
                .iter()
                .map(|failure| failure.error.message.clone())
                .collect::<Vec<_>>()
                .join("\n"),
        ),
        Err(error) => Some(format!("{error:#}")),
    })
}

async fn try_one(case: Case) -> Result<()> {
    let mut lab = Lab::new()?;
    lab.watch = Watch {
        patience: Patience {
            backoff: Backoff { base: Duration::from_millis(5), ..quick() },
            ..Patience::default()
        },
        waits: WaitHandler::discard(),
    };
    lab.backoff = quick();
    if case.after_loss {
        let rule =
            json!([{ "method": "create", "nth": 1, "kind": "fail-after", "class": "outcome-unknown" }]);
        lab.settings.insert("faults".to_owned(), rule);
    }
    let mut wanted = cluster(SMALL)?;
    if case.exists {
        let made = attempt(&lab, &wanted).await?;
        ensure!(made.is_none(), "it is not made: {made:?}");
    }
    if case.changes {
        let network = "zones: [sim-1a]\n  network: { additionalCidrs: [10.1.0.0/16] }";
        wanted = cluster(&SMALL.replace("zones: [sim-1a]", network))?;
    }
    if case.call == Call::Read {
        // As in a run that takes longer than a read may be old.
        lab.read_age = Duration::ZERO;
    }
    let hostile = Hostile::start(case).await?;
    lab.use_provider(Arc::new(hostile.client.clone()));
    let said = attempt(&lab, &wanted).await?;
    // A pure answer without content, or a cluster without preflight, may be all there is to say.
    let harmless = matches!(
        (case.call, case.misdeed),
        (Call::Preflight | Call::Catalog | Call::Expand, Misdeed::Empty | Misdeed::End)
            | (Call::Discover, Misdeed::Empty | Misdeed::End)
            | (Call::Apply, Misdeed::Lie(Lie::UnknownEnd | Lie::UnknownToken | Lie::Flood))
    );
    match &said {
        None => ensure!(harmless, "everything was taken for done"),
        Some(text) => {
            let honest = matches!(case.misdeed, Misdeed::Fail(_)) || case.after_loss;
            ensure!(honest || text.contains("sim"), "who did it is not said: {text}");
            ensure!(!text.is_empty(), "nothing is said");
            names_the_lie(case, text)?;
        }
    }
    is_sound(&lab, case).await?;
    // The same cluster, with a provider as it should be.
    drop(hostile);
    lab.settings.remove("faults");
    lab.read_age = READ_AGE;
    lab.use_provider(Arc::new(Sim));
    let again = attempt(&lab, &wanted).await?;
    ensure!(again.is_none(), "it does not recover: {again:?}; before: {said:?}");
    ensure!(lab.plan(&wanted).await?.is_empty(), "a plan is left");
    ensure!(lab.inventory()?.doubled().is_empty(), "objects are doubled");
    Ok(())
}

/// Whether the error of a lie about a finished action names the provider, the resource and the attribute.
fn names_the_lie(case: Case, text: &str) -> Result<()> {
    let Case { call: Call::Apply, misdeed: Misdeed::Lie(lie), .. } = case else { return Ok(()) };
    let parts: &[&str] = match lie {
        Lie::NoIdentity | Lie::EmptyIdentity => &["identity"],
        Lie::OtherIdentity => &["net-666"],
        Lie::UnknownValue | Lie::NoValue => &[" cidr "],
        Lie::OtherValue => &[" cidr ", "6.6.6.0/24"],
        _ => return Ok(()),
    };
    let address = "provider sim broke the contract: sim_network.main is reported as done";
    for part in parts.iter().chain([&address]) {
        ensure!(text.contains(part), "the error does not name `{part}`: {text}");
    }
    Ok(())
}

/// Whether all that is recorded as done exists, and no network that was lied about is.
async fn is_sound(lab: &Lab, case: Case) -> Result<()> {
    let Some(state) = lab.state("line").await? else { return Ok(()) };
    let exist: BTreeSet<String> = lab
        .inventory()
        .map(|inventory| inventory.objects.iter().map(|object| object.id.clone()).collect())?;
    for (address, record) in &state.snapshot.resources {
        if record.applied.is_none() {
            continue;
        }
        ensure!(exist.contains(record.identity.as_str()), "{address} is recorded and does not exist");
        let lied = matches!(
            case.misdeed,
            Misdeed::Lie(
                Lie::NoIdentity
                    | Lie::EmptyIdentity
                    | Lie::OtherIdentity
                    | Lie::UnknownValue
                    | Lie::OtherValue
                    | Lie::NoValue
            )
        );
        ensure!(case.exists || !(lied && address.kind() == "sim_network"), "{address} is recorded as done");
    }
    Ok(())
}

fn quick() -> Backoff {
    Backoff { base: Duration::from_millis(5), longest: Duration::from_millis(50), attempts: 4 }
}

fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hostile_provider_is_named_and_nothing_is_taken_for_done() -> Result<()> {
    let cases = cases();
    ensure!(cases.len() >= 130, "{} cases", cases.len());
    let failed: Vec<String> = stream::iter(cases)
        .map(|case| async move { try_one(case).await.err().map(|error| format!("{case:?}: {error:#}")) })
        .buffer_unordered(12)
        .filter_map(|failed| async { failed })
        .collect()
        .await;
    ensure!(failed.is_empty(), "{} of them:\n{}", failed.len(), failed.join("\n"));
    ensure!(memory() < MEMORY, "{} MiB were used", memory() >> 20);
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_is_reported_as_deleted_is_found_again() -> Result<()> {
    let mut lab = Lab::new()?;
    let wanted = cluster(SMALL)?;
    let made = attempt(&lab, &wanted).await?;
    ensure!(made.is_none(), "it is not made: {made:?}");
    let misdeed = Misdeed::Lie(Lie::NotDeleted);
    let case = Case { call: Call::Apply, misdeed, after_loss: false, exists: true, changes: false };
    let hostile = Hostile::start(case).await?;
    lab.use_provider(Arc::new(hostile.client.clone()));
    let (_, report) = lab.delete(&wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    drop(hostile);
    lab.use_provider(Arc::new(Sim));
    ensure!(lab.inventory()?.of_type("sim_network").count() == 1, "the network is left");
    // The object has its ownership still, so it is part of the next plan.
    let (plan, report) = lab.delete(&wanted).await?;
    ensure!(report.is_complete(), "{:?}", report.failures);
    let addresses: Vec<String> = plan.changes.iter().map(|change| change.address.to_string()).collect();
    ensure!(addresses.iter().any(|address| address == "sim_network.main"), "{addresses:?}");
    ensure!(lab.inventory()?.objects.is_empty(), "objects are left");
    Ok(())
}
