//! Routes to the pods of nodes, where a provider has some.

use slipway_resource::provider::{NewRoute, NodeTarget, Route, Routes};

use super::instances::target;
use crate::bench::Bench;
use crate::stop::{Checked, Stop, ensure, fail, skip};

/// A range for pods that no network of a scenario has.
const PODS: &str = "100.127.254.0/24";

pub(crate) async fn made(bench: &mut Bench<'_>) -> Checked {
    routes(bench)?;
    let (cluster, node) = target(bench).await?;
    let missing = bench.suite.scenario.instances.as_ref().map(|instance| instance.missing.clone());
    let routes = routes(bench)?;
    let wanted = wanted(&node)?;
    let before = ours(routes, &cluster, &wanted).await?;
    ensure(before.is_none(), || format!("a route exists that was never made: {before:?}"))?;
    // Twice: it may be repeated.
    for _ in 0..2 {
        routes.create(&cluster, &wanted).await?;
    }
    let Some(made) = ours(routes, &cluster, &wanted).await? else {
        return fail("a route was made, and is not listed");
    };
    let checked = used(routes, (&cluster, &wanted, &made), missing).await;
    for _ in 0..2 {
        routes.delete(&cluster, &made).await?;
    }
    checked?;
    let left = ours(routes, &cluster, &wanted).await?;
    ensure(left.is_none(), || format!("a deleted route is listed: {left:?}"))
}

/// What holds while the route exists.
async fn used(
    routes: &dyn Routes,
    (cluster, wanted, made): (&str, &NewRoute, &Route),
    missing: Option<String>,
) -> Checked {
    let node = &wanted.target;
    let is_target =
        made.target.as_ref().is_some_and(|target| target.is(&node.node, node.provider_id.as_deref()));
    ensure(is_target && !made.blackhole, || format!("{made:?} is listed, and leads to {node:?}"))?;
    // A cloud may refuse to list the routes of a cluster without networks.
    let elsewhere = ours(routes, &format!("{cluster}-other"), wanted).await;
    ensure(!matches!(elsewhere, Ok(Some(_))), || {
        format!("another cluster has the route too: {elsewhere:?}")
    })?;
    let other = NodeTarget {
        node: "slipway-conformance-nobody".to_owned(),
        provider_id: missing,
        addresses: Vec::new(),
    };
    let refused = routes.create(cluster, &NewRoute { target: other, ..wanted.clone() }).await;
    ensure(refused.is_err(), || "a route that exists is made again to another target".to_owned())?;
    let kept = ours(routes, cluster, wanted).await?;
    ensure(kept.as_ref() == Some(made), || format!("{made:?} has become {kept:?}"))
}

pub(crate) async fn never_guessed(bench: &mut Bench<'_>) -> Checked {
    routes(bench)?;
    let (cluster, node) = target(bench).await?;
    let Some(place) = bench.suite.scenario.unreadable.clone() else {
        return skip("the scenario has no session that may not read");
    };
    let routes = routes(bench)?;
    let wanted = wanted(&node)?;
    routes.create(&cluster, &wanted).await?;
    let made = ours(routes, &cluster, &wanted).await?;
    let blind = bench.open_at(&place).await?;
    let listed = match blind.routes() {
        Some(blind) => blind.list(&cluster).await,
        None => return fail("one session has routes, another one has none"),
    };
    if let Some(made) = &made {
        routes.delete(&cluster, made).await?;
    }
    let hides =
        listed.is_ok_and(|listed| !listed.iter().any(|route| route.destination == wanted.destination));
    ensure(!hides, || "routes that cannot be read are called absent".to_owned())
}

fn routes<'b>(bench: &'b Bench<'_>) -> Result<&'b dyn Routes, Stop> {
    match bench.session.routes() {
        Some(routes) => Ok(routes),
        None => skip("the provider does not declare `routes`"),
    }
}

fn wanted(node: &NodeTarget) -> Result<NewRoute, Stop> {
    let destination = PODS.parse().map_err(|_| Stop::Fail(format!("{PODS} is not an address range")))?;
    Ok(NewRoute { name_hint: "slipway-conformance".to_owned(), destination, target: node.clone() })
}

async fn ours(routes: &dyn Routes, cluster: &str, wanted: &NewRoute) -> Result<Option<Route>, Stop> {
    let listed = routes.list(cluster).await?;
    Ok(listed.into_iter().find(|route| route.destination == wanted.destination))
}
