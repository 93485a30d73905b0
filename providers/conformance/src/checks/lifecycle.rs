//! Processes, sessions, schema.

use slipway_protocol::{Process, Running};
use slipway_resource::provider::{SessionRequest, operation};
use slipway_resource::schema::Part;
use slipway_resource::{ErrorClass, Provider, ResourceType};

use super::lint;
use crate::bench::{Bench, count};
use crate::scenario::Places;
use crate::stop::{Checked, Stop, ensure, fail, skip};
use crate::suite::Suite;

pub(crate) async fn handshake(suite: &Suite) -> Checked {
    // The form of the line, the nonce and the socket's place are held against the contract by the starter itself.
    match Process::start(&suite.launch()).await {
        Ok(mut process) => {
            let announcement = process.announcement().clone();
            process.kill().await;
            ensure(!announcement.version.is_empty(), || "it has no version".to_owned())
        }
        Err(error) => fail(error.to_string()),
    }
}

pub(crate) async fn ends_with_stdin(suite: &Suite) -> Checked {
    let running = suite.start().await?;
    let ended = running.end().await;
    ensure(ended, || {
        format!("it still ran {} s after its standard input was closed", suite.limits.end.as_secs())
    })
}

/// Asks, and kills the process in any case.
async fn asked<T>(
    running: Running,
    question: impl AsyncFnOnce(&Running) -> Result<T, Stop>,
) -> Result<T, Stop> {
    let answer = question(&running).await;
    running.kill().await;
    answer
}

pub(crate) async fn info(suite: &Suite) -> Checked {
    asked(suite.start().await?, async |running| {
        let announced = running.process().announcement();
        let info = running.client().info().await?;
        ensure(info.name == announced.name && info.version == announced.version, || {
            format!(
                "it announces {} {} and says {} {}",
                announced.name, announced.version, info.name, info.version
            )
        })?;
        ensure(info.batch > 0, || "its batch is 0".to_owned())?;
        for (name, class) in &info.rate_classes {
            let is_open = class.concurrency > 0 && class.per_second.is_none_or(|pace| pace > 0.0);
            ensure(is_open, || format!("rate class {name} lets no call through"))?;
        }
        Ok(())
    })
    .await
}

pub(crate) async fn schema_stable(suite: &Suite) -> Checked {
    let first = asked(suite.start().await?, snapshot).await?;
    let second = asked(suite.start().await?, snapshot).await?;
    ensure(first.0 == second.0, || "two processes announce different digests".to_owned())?;
    ensure(first.1 == second.1, || "two processes have different schemas".to_owned())
}

async fn snapshot(
    running: &Running,
) -> Result<(slipway_resource::Digest, std::sync::Arc<slipway_resource::Schema>), Stop> {
    let digest = running.process().announcement().schema_digest.clone();
    Ok((digest, running.client().schema().await?))
}

pub(crate) async fn schema_lint(suite: &Suite) -> Checked {
    asked(suite.start().await?, async |running| {
        let info = running.client().info().await?;
        let schema = running.client().schema().await?;
        let faults = lint::faults(&schema, &info);
        ensure(faults.is_empty(), || faults.join("\n"))
    })
    .await
}

/// The settings that the engine adds for a provider that works inside existing machines.
const HOST_SETTINGS: [&str; 3] = ["hosts", "state", "leaving"];

pub(crate) async fn capabilities(suite: &Suite) -> Checked {
    let places = nowhere();
    let declared = asked(suite.start().await?, async |running| Ok(running.client().info().await?)).await?;
    asked(suite.start().await?, async |running| {
        let info = running.client().info().await?;
        let capabilities = info.capabilities;
        ensure(capabilities == declared.capabilities, || {
            "two processes declare different capabilities".to_owned()
        })?;
        if capabilities.hosts {
            let schema = running.client().schema().await?;
            for setting in HOST_SETTINGS {
                ensure(schema.config.contains_key(setting), || {
                    format!("it declares `hosts`, and its configuration has no attribute `{setting}`")
                })?;
            }
            for part in [Part::ApiServer, Part::Kubelet] {
                let has = schema.types.values().any(|kind| kind.roles.iter().any(|role| role.part == part));
                ensure(has, || format!("it declares `hosts`, and no type declares the part {part:?}"))?;
            }
        }
        if capabilities.nodes {
            let schema = running.client().schema().await?;
            let is_node = |kind: &&ResourceType| kind.roles.iter().any(|role| role.part == Part::Node);
            let kinds: Vec<&ResourceType> = schema.types.values().filter(is_node).collect();
            let [kind] = kinds.as_slice() else {
                return fail(format!(
                    "it declares `nodes`, and {} types declare the part `node`",
                    kinds.len()
                ));
            };
            for gate in [operation::VERIFY, operation::CORDON, operation::DRAIN] {
                ensure(kind.operations.contains_key(gate), || {
                    format!("it declares `nodes`, and its type of nodes has no operation `{gate}`")
                })?;
            }
        }
        let request = SessionRequest {
            config: places.value(&suite.scenario.config, 0).map_err(Stop::Skip)?,
            region: suite.scenario.region.clone(),
            offline: true,
        };
        if capabilities.price {
            let session = running.client().open_session(request).await?;
            let report = session.price(Vec::new()).await?;
            ensure(!report.list.is_empty(), || "it declares `price`, and Price names no list".to_owned())?;
        }
        Ok(())
    })
    .await
}

/// A place that is only spoken of.
fn nowhere() -> Places {
    Places { scratch: "/nonexistent/scratch".to_owned(), other: "/nonexistent/other".to_owned() }
}

pub(crate) async fn config_validated(suite: &Suite) -> Checked {
    let places = nowhere();
    asked(suite.start().await?, async |running| {
        let good = places.value(&suite.scenario.config, 0).map_err(Stop::Skip)?;
        let problems = running.client().validate_config(&good).await?;
        ensure(problems.is_empty(), || {
            format!("the scenario's configuration is refused: {}", problems.join("; "))
        })?;
        let Some(bad) = &suite.scenario.invalid_config else {
            return skip("the scenario has no invalid_config");
        };
        let bad = places.value(bad, 0).map_err(Stop::Skip)?;
        let problems = running.client().validate_config(&bad).await?;
        ensure(!problems.is_empty(), || "nothing is found in a bad configuration".to_owned())?;
        let request = SessionRequest { config: bad, region: suite.scenario.region.clone(), offline: false };
        match running.client().open_session(request).await {
            Err(error) if error.class == ErrorClass::Invalid => Ok(()),
            Err(error) => fail(format!("a session with a bad configuration is refused as {}", error.class)),
            Ok(_) => fail("a session with a bad configuration opens"),
        }
    })
    .await
}

pub(crate) async fn offline(suite: &Suite) -> Checked {
    let places = nowhere();
    asked(suite.start().await?, async |running| {
        let request = SessionRequest {
            config: places.value(&suite.scenario.config, 0).map_err(Stop::Skip)?,
            region: suite.scenario.region.clone(),
            offline: true,
        };
        let session = running.client().open_session(request).await?;
        let Some(sample) = suite.scenario.samples.first() else {
            return skip("the scenario has no samples");
        };
        let sample = places.sample(sample, 0).map_err(Stop::Skip)?;
        let item = slipway_resource::provider::PlanItem {
            address: sample.address,
            desired: Some(sample.attributes),
            observed: None,
            last_applied: None,
        };
        session.plan(vec![item]).await?;
        Ok(())
    })
    .await
}

pub(crate) async fn sessions_isolated(bench: &mut Bench<'_>) -> Checked {
    let Some(place) = &bench.suite.scenario.other else {
        return skip("the scenario has no other place");
    };
    let other = bench.open_at(place).await?;
    let sample = bench.first()?;
    let address = bench.make(&sample).await?.request.ownership.address;
    bench.discover(|discovery| count(discovery, &address) == 1).await?;
    let request = slipway_resource::provider::DiscoverRequest {
        uid: Some(bench.uid.clone()),
        cluster: crate::bench::CLUSTER.to_owned(),
        types: Vec::new(),
    };
    let elsewhere = other.discover(request).await?;
    ensure(elsewhere.observed.is_empty(), || format!("{address} is seen from another place"))?;
    other.cancel(None).await?;
    other.close().await?;
    bench.discover(|_| true).await?;
    Ok(())
}
