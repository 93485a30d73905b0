//! Discover.

use slipway_resource::provider::{DiscoverRequest, Discovery};
use slipway_resource::{ClusterUid, Observation};

use crate::bench::{Bench, CLUSTER, count};
use crate::stop::{Checked, ensure, fail};

/// More than fits one page of most clouds' smallest lists, and little enough to make.
const SOME: u32 = 25;

pub(crate) async fn ownership(bench: &mut Bench<'_>) -> Checked {
    for sample in bench.samples()? {
        bench.make_needed(&sample.attributes).await?;
        let made = bench.make(&sample).await?;
        let found = bench.discover(|discovery| count(discovery, &sample.address) > 0).await?;
        let ours = found.observed.iter().filter(|observed| observed.address == sample.address);
        let ours: Vec<_> = ours.collect();
        match ours.as_slice() {
            [observed] if observed.identity == made.identity => {
                let is_present = matches!(observed.observation, Observation::Present(_));
                ensure(is_present, || format!("{}: discovered, but not present", sample.address))?;
            }
            [] => return fail(format!("{} is not discovered after its create", sample.address)),
            _ => return fail(format!("{}: other objects are discovered", sample.address)),
        }
    }
    Ok(())
}

pub(crate) async fn discover_complete(bench: &mut Bench<'_>) -> Checked {
    let mut addresses = Vec::new();
    for number in 1..=SOME {
        let sample = bench.bulk(number)?;
        bench.make(&sample).await?;
        addresses.push(sample.address);
    }
    let is_complete = |discovery: &Discovery| addresses.iter().all(|address| count(discovery, address) == 1);
    let found = bench.discover(is_complete).await?;
    ensure(is_complete(&found), || {
        let missing = addresses.iter().find(|address| count(&found, address) != 1);
        let missing = missing.map(ToString::to_string).unwrap_or_default();
        format!("{} objects are discovered; of {missing} there is not exactly one", found.observed.len())
    })?;
    for pair in found.observed.windows(2) {
        let is_sorted = (&pair[0].address, &pair[0].identity) < (&pair[1].address, &pair[1].identity);
        ensure(is_sorted, || format!("{} stands before {}", pair[0].address, pair[1].address))?;
    }
    Ok(())
}

pub(crate) async fn discover_one_cluster(bench: &mut Bench<'_>) -> Checked {
    let ours = bench.bulk(1)?;
    bench.make(&ours).await?;
    let mine = bench.uid.clone();
    bench.uid = ClusterUid::new(bench.suite.unique());
    let theirs = bench.bulk(2)?;
    bench.make(&theirs).await?;
    bench.discover(|discovery| count(discovery, &theirs.address) > 0).await?;
    bench.uid = mine;
    let found = bench.discover(|discovery| count(discovery, &ours.address) > 0).await?;
    ensure(count(&found, &theirs.address) == 0, || {
        format!("{} of another cluster is discovered", theirs.address)
    })
}

pub(crate) async fn discover_by_name(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.first()?;
    let made = bench.make(&sample).await?;
    let request = DiscoverRequest { uid: None, cluster: CLUSTER.to_owned(), types: Vec::new() };
    let is_there =
        |discovery: &Discovery| discovery.observed.iter().any(|observed| observed.identity == made.identity);
    let found = bench.discover_as(request, is_there).await?;
    ensure(is_there(&found), || format!("{} is not found by the cluster's name", sample.address))?;
    ensure(found.uid.is_some(), || "the cluster's unique id is not told".to_owned())
}
