//! Catalog and expand.

use serde_json::Value as Json;
use slipway_provider_sdk::cluster::NOT_UNDERSTOOD;
use slipway_resource::provider::{ExpandRequest, Expansion};
use slipway_resource::validate::misfits;
use slipway_resource::{Digest, ErrorClass};

use crate::bench::Bench;
use crate::scenario::Expand;
use crate::stop::{Checked, Stop, ensure, fail, skip};

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

/// A field that no version of the contract has.
const UNKNOWN: &str = "conformanceUnknownField";

/// The cluster with fields that no version of the contract has, and the paths of these fields. Lists are entered at their
/// first item.
fn with_unknown(cluster: &Json) -> (Json, Vec<String>) {
    let mut changed = cluster.clone();
    let mut paths = vec![UNKNOWN.to_owned()];
    if let Some(fields) = changed.as_object_mut() {
        fields.insert(UNKNOWN.to_owned(), serde_json::json!({ "any": [1] }));
    }
    let pool = changed.pointer_mut("/pools/0").and_then(Json::as_object_mut);
    if let Some((pool, name)) = pool.and_then(|pool| {
        let name = pool.get("name")?.as_str()?.to_owned();
        Some((pool, name))
    }) {
        pool.insert(UNKNOWN.to_owned(), true.into());
        paths.push(format!("pools[{name}].{UNKNOWN}"));
    }
    (changed, paths)
}

pub(crate) async fn expand_ignores_unknown(bench: &mut Bench<'_>) -> Checked {
    let cluster = scenario(bench)?.cluster;
    let known = expand(bench, &cluster).await?;
    let (changed, paths) = with_unknown(&cluster);
    let expansion = expand(bench, &changed).await?;
    ensure(expansion.resources == known.resources, || {
        format!("the unknown field {UNKNOWN} changes the resources")
    })?;
    for path in paths {
        ensure(expansion.notes.iter().any(|note| note.field == path), || {
            format!("no note has the unknown field {path}")
        })?;
    }
    Ok(())
}

pub(crate) async fn expand_must_understand(bench: &mut Bench<'_>) -> Checked {
    let cluster = scenario(bench)?.cluster;
    let marked = |cluster: &Json, pointer: &str| {
        let mut marked = cluster.clone();
        if let Some(fields) = marked.as_object_mut() {
            fields.insert("mustUnderstand".to_owned(), serde_json::json!([pointer]));
        }
        marked
    };
    let (changed, paths) = with_unknown(&cluster);
    let pointers = [format!("/{UNKNOWN}"), format!("/pools/0/{UNKNOWN}")];
    for (path, pointer) in paths.iter().zip(&pointers) {
        let catalog = bench.session.catalog().await?;
        let request = ExpandRequest { cluster: marked(&changed, pointer), catalog };
        let Err(error) = bench.session.expand(request).await else {
            return fail(format!("{path} must be understood, and is ignored"));
        };
        ensure(error.class == ErrorClass::Invalid, || {
            format!("{path} must be understood, and is refused as {} instead of invalid", error.class)
        })?;
        ensure(error.code.as_deref() == Some(NOT_UNDERSTOOD), || {
            format!("the refusal of {path} has the code {:?}, not {NOT_UNDERSTOOD}", error.code)
        })?;
        ensure(error.field.as_deref() == Some(path), || {
            format!("the refusal of {path} has the field {:?}", error.field)
        })?;
    }
    // A field that the provider knows is no obstacle.
    if cluster.get("name").is_some() {
        expand(bench, &marked(&cluster, "/name")).await?;
    }
    Ok(())
}
