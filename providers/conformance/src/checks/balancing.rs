//! Load balancers of Services, where a provider has some.

use slipway_resource::ErrorClass;
use slipway_resource::provider::{
    BalancedPort, BalancedService, BalancerKey, DesiredBalancer, IpFamily, LoadBalancers, PortProtocol,
    balancer_name,
};

use super::instances::target;
use crate::bench::Bench;
use crate::stop::{Checked, Stop, ensure, fail, skip};

/// The uid of a Service.
const UID: &str = "c0f0a0c0-1111-4222-8333-c0f0a0c0ffee";

pub(crate) async fn made(bench: &mut Bench<'_>) -> Checked {
    let desired = desired(bench).await?;
    let balancers = balancers(bench)?;
    let key = &desired.key;
    ensure(balancers.get(key).await?.is_none(), || "a load balancer exists that was never made".to_owned())?;
    match balancers.update(&desired).await {
        Err(error) if error.class == ErrorClass::NotFound => {}
        outcome => return fail(format!("the update of a load balancer that does not exist: {outcome:?}")),
    }
    let made = balancers.ensure(&desired).await?;
    let checked = used(balancers, &desired, &made).await;
    balancers.delete(key).await?;
    checked?;
    let left = balancers.get(key).await?;
    ensure(left.is_none(), || format!("a deleted load balancer is {left:?}"))?;
    Ok(balancers.delete(key).await?)
}

/// What holds while the load balancer exists.
async fn used(
    balancers: &dyn LoadBalancers,
    desired: &DesiredBalancer,
    made: &slipway_resource::provider::LoadBalancer,
) -> Checked {
    let found = balancers.get(&desired.key).await?;
    ensure(found.as_ref() == Some(made), || format!("{made:?} was made, and {found:?} is found"))?;
    let again = balancers.ensure(desired).await?;
    ensure(again == *made, || format!("{made:?} was made, and {again:?} is returned when it is made again"))?;
    let elsewhere = BalancerKey { cluster: format!("{}-other", desired.key.cluster), ..desired.key.clone() };
    let found = balancers.get(&elsewhere).await?;
    ensure(found.is_none(), || format!("another cluster has the load balancer too: {found:?}"))?;
    balancers.delete(&elsewhere).await?;
    let found = balancers.get(&desired.key).await?;
    ensure(found.is_some(), || "it was deleted with the one of another cluster".to_owned())?;
    balancers.update(&DesiredBalancer { nodes: Vec::new(), ..desired.clone() }).await?;
    balancers.update(desired).await?;
    Ok(())
}

pub(crate) async fn never_guessed(bench: &mut Bench<'_>) -> Checked {
    let desired = desired(bench).await?;
    let Some(place) = bench.suite.scenario.unreadable.clone() else {
        return skip("the scenario has no session that may not read");
    };
    let balancers = balancers(bench)?;
    balancers.ensure(&desired).await?;
    let blind = bench.open_at(&place).await?;
    let found = match blind.load_balancers() {
        Some(blind) => blind.get(&desired.key).await,
        None => return fail("one session has load balancers, another one has none"),
    };
    balancers.delete(&desired.key).await?;
    ensure(!matches!(found, Ok(None)), || "it cannot be read, and is called absent".to_owned())
}

fn balancers<'b>(bench: &'b Bench<'_>) -> Result<&'b dyn LoadBalancers, Stop> {
    match bench.session.load_balancers() {
        Some(balancers) => Ok(balancers),
        None => skip("the provider does not declare `loadBalancers`"),
    }
}

/// A load balancer for the node of the scenario, which is made.
async fn desired(bench: &mut Bench<'_>) -> Result<DesiredBalancer, Stop> {
    balancers(bench)?;
    let (cluster, node) = target(bench).await?;
    let port = |name: &str, port| BalancedPort {
        name: name.to_owned(),
        protocol: PortProtocol::Tcp,
        port,
        node_port: Some(30_000 + port),
        app_protocol: None,
    };
    let service = BalancedService {
        ports: vec![port("http", 80), port("https", 443)],
        source_ranges: "0.0.0.0/0".parse().into_iter().collect(),
        client_affinity: None,
        annotations: std::collections::BTreeMap::new(),
        health_check_node_port: None,
        address: None,
        ip_families: vec![IpFamily::V4],
    };
    let key = BalancerKey { cluster, name: balancer_name(UID), service: "default/conformance".to_owned() };
    Ok(DesiredBalancer { key, service, nodes: vec![node] })
}
