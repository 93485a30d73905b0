//! Catalog and expand.

use serde_json::Value as Json;
use slipway_resource::Digest;
use slipway_resource::provider::{ExpandRequest, Expansion};
use slipway_resource::validate::misfits;

use crate::bench::Bench;
use crate::scenario::Expand;
use crate::stop::{Checked, Stop, ensure, skip};

pub(crate) async fn catalog_digest(bench: &mut Bench<'_>) -> Checked {
    let first = bench.session.catalog().await?;
    let digest = Digest::of(&first.data).map_err(|error| Stop::Skip(error.to_string()))?;
    ensure(digest == first.digest, || {
        format!("the data has digest {digest}, the catalog says {}", first.digest)
    })?;
    let second = bench.session.catalog().await?;
    ensure(first == second, || "the catalog changes from call to call".to_owned())
}

fn scenario(bench: &Bench<'_>) -> Result<Expand, Stop> {
    match &bench.suite.scenario.expand {
        Some(expand) => Ok(expand.clone()),
        None => skip("the scenario has no cluster to expand"),
    }
}

async fn expand(bench: &Bench<'_>, cluster: &Json) -> Result<Expansion, Stop> {
    let request = ExpandRequest { cluster: cluster.clone(), catalog: bench.session.catalog().await? };
    Ok(bench.session.expand(request).await?)
}

fn text(expansion: &Expansion) -> Result<String, Stop> {
    serde_json::to_string(expansion).map_err(|error| Stop::Skip(error.to_string()))
}

pub(crate) async fn expand_pure(bench: &mut Bench<'_>) -> Checked {
    let cluster = scenario(bench)?.cluster;
    let first = expand(bench, &cluster).await?;
    let second = expand(bench, &cluster).await?;
    ensure(text(&first)? == text(&second)?, || {
        "the same cluster expands differently the second time".to_owned()
    })
}

pub(crate) async fn expand_order(bench: &mut Bench<'_>) -> Checked {
    let Expand { cluster, reordered: Some(reordered) } = scenario(bench)? else {
        return skip("the scenario has no reordered cluster");
    };
    let first = expand(bench, &cluster).await?;
    let second = expand(bench, &reordered).await?;
    ensure(first.resources == second.resources, || {
        let differing = first.resources.iter().zip(&second.resources).find(|(a, b)| a != b);
        let address = differing.map_or("the number of resources".to_owned(), |(a, _)| a.address.to_string());
        format!("the reordered cluster expands differently: {address}")
    })
}

pub(crate) async fn expand_fits(bench: &mut Bench<'_>) -> Checked {
    let cluster = scenario(bench)?.cluster;
    let expansion = expand(bench, &cluster).await?;
    for pair in expansion.resources.windows(2) {
        ensure(pair[0].address < pair[1].address, || {
            format!("{} stands before {}", pair[0].address, pair[1].address)
        })?;
    }
    for desired in &expansion.resources {
        // Types of other providers are theirs to check.
        if let Some(kind) = bench.schema.types.get(desired.address.kind()) {
            let misfits = misfits(&kind.attributes, &desired.attributes);
            ensure(misfits.is_empty(), || format!("{}: {}", desired.address, misfits[0]))?;
        }
        for needed in desired.dependencies() {
            let is_ours = bench.schema.types.contains_key(needed.kind());
            let is_there = expansion.resources.iter().any(|other| other.address == needed);
            ensure(!is_ours || is_there, || {
                format!("{} refers to {needed}, which is not there", desired.address)
            })?;
        }
    }
    Ok(())
}
