//! The instances behind nodes, where a provider has some.

use slipway_resource::provider::{Instance, InstanceAnswer, InstanceQuery, InstancesRequest, NodeTarget};

use crate::bench::Bench;
use crate::scenario::NodeInstance;
use crate::stop::{Checked, Stop, ensure, fail, skip};

/// A name that no node of the scenario has.
const NOBODY: &str = "slipway-conformance-nobody";

/// A provider id of a cloud that does not exist.
const FOREIGN: &str = "slipway-conformance-other:///nowhere/i-1";

pub(crate) async fn found(bench: &mut Bench<'_>) -> Checked {
    let (node, instance) = made(bench).await?;
    let id = instance.provider_id.as_str();
    let queries = [
        (query(NOBODY, None), false),
        (query(&node.node, Some(id)), true),
        (query(NOBODY, Some(&node.missing)), false),
        (query(&node.node, None), true),
        // The provider id decides, whatever the name of the node is.
        (query(NOBODY, Some(id)), true),
    ];
    let asked = queries.iter().map(|(query, _)| query.clone()).collect();
    let answers = ask(bench, &node.cluster, asked).await?;
    for ((query, exists), answer) in queries.iter().zip(&answers) {
        let fits = match answer {
            InstanceAnswer::Present(found) => *exists && found.provider_id == id,
            InstanceAnswer::Absent => !exists,
            InstanceAnswer::Unreadable(_) => false,
        };
        ensure(fits, || format!("{query:?}: {answer:?}"))?;
    }
    let answers = ask(bench, NOBODY, vec![query(&node.node, None)]).await?;
    ensure(answers == [InstanceAnswer::Absent], || {
        format!("a node of another cluster is found by its name: {answers:?}")
    })
}

pub(crate) async fn never_guessed(bench: &mut Bench<'_>) -> Checked {
    let (node, instance) = made(bench).await?;
    let foreign =
        InstancesRequest { cluster: node.cluster.clone(), queries: vec![query(&node.node, Some(FOREIGN))] };
    // The call may fail.
    let answers = bench.session.instances(foreign).await.unwrap_or_default();
    let is_unreadable = |answer: &InstanceAnswer| matches!(answer, InstanceAnswer::Unreadable(_));
    ensure(answers.iter().all(is_unreadable), || {
        format!("the answer for the provider id of another cloud is {answers:?}")
    })?;
    let Some(place) = bench.suite.scenario.unreadable.clone() else {
        return skip("the scenario has no session that may not read");
    };
    let blind = bench.open_at(&place).await?;
    let request = InstancesRequest {
        cluster: node.cluster,
        queries: vec![query(&node.node, None), query(&node.node, Some(&instance.provider_id))],
    };
    let answers = blind.instances(request).await.unwrap_or_default();
    let is_absent = answers.contains(&InstanceAnswer::Absent);
    ensure(!is_absent, || format!("{} cannot be read, and is called absent", node.node))
}

/// The node of the scenario, and its instance, which is made.
async fn made(bench: &mut Bench<'_>) -> Result<(NodeInstance, Instance), Stop> {
    if !bench.info.capabilities.instances {
        return skip("the provider does not declare `instances`");
    }
    let Some(node) = bench.suite.scenario.instances.clone() else {
        return skip("the scenario names no instance");
    };
    make(bench, node).await
}

/// The node of the scenario as a target of load balancers and routes. Its instance is made.
pub(crate) async fn target(bench: &mut Bench<'_>) -> Result<(String, NodeTarget), Stop> {
    let (node, instance) = made(bench).await?;
    for address in &node.besides {
        let samples = bench.samples()?;
        let Some(sample) = samples.iter().find(|sample| sample.address.to_string() == *address) else {
            return skip(format!("the scenario has no sample {address}"));
        };
        if !bench.is_made(&sample.address) {
            bench.make(sample).await?;
        }
    }
    let provider_id = Some(instance.provider_id);
    Ok((node.cluster, NodeTarget { node: node.node, provider_id, addresses: instance.addresses }))
}

async fn make(bench: &mut Bench<'_>, node: NodeInstance) -> Result<(NodeInstance, Instance), Stop> {
    let samples = bench.samples()?;
    let Some(sample) = samples.iter().find(|sample| sample.address.to_string() == node.sample) else {
        return skip(format!("the scenario has no sample {}", node.sample));
    };
    bench.make(sample).await?;
    match ask(bench, &node.cluster, vec![query(&node.node, None)]).await?.as_slice() {
        [InstanceAnswer::Present(instance)] => Ok((node, instance.clone())),
        answers => {
            fail(format!("{} was made, and the instance of {} is {answers:?}", node.sample, node.node))
        }
    }
}

async fn ask(
    bench: &Bench<'_>,
    cluster: &str,
    queries: Vec<InstanceQuery>,
) -> Result<Vec<InstanceAnswer>, Stop> {
    Ok(bench.session.instances(InstancesRequest { cluster: cluster.to_owned(), queries }).await?)
}

fn query(node: &str, provider_id: Option<&str>) -> InstanceQuery {
    InstanceQuery { node: node.to_owned(), provider_id: provider_id.map(str::to_owned) }
}
