//! Older state, and objects that exist already.

use slipway_resource::provider::{LocateItem, LocateRequest};
use slipway_resource::{Address, ErrorClass, Observation};

use crate::bench::{Bench, count};
use crate::stop::{Checked, ensure, fail, skip};

pub(crate) async fn upgrade_state(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.first()?;
    let made = bench.make(&sample).await?;
    let kind = sample.address.kind();
    let version = bench.kind(&sample.address)?.version;
    let same = bench.session.upgrade_state(kind, version, made.attributes.clone()).await?;
    ensure(same == made.attributes, || format!("{kind}: its present version {version} is rewritten"))?;
    match bench.session.upgrade_state(kind, u32::MAX, made.attributes).await {
        Err(error) if error.class == ErrorClass::Invalid => Ok(()),
        Err(error) => fail(format!("{kind}: an unknown version is refused as {}", error.class)),
        Ok(_) => fail(format!("{kind}: an unknown version is accepted")),
    }
}

pub(crate) async fn import(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.spare()?;
    let made = bench.make(&sample).await?;
    bench.discover(|discovery| count(discovery, &sample.address) == 1).await?;
    let wanted = Address::new(sample.address.kind(), "imported");
    let found = bench.session.import(&wanted, &made.identity).await?;
    ensure(found.address == wanted, || format!("imported as {wanted}, answered as {}", found.address))?;
    ensure(matches!(found.observation, Observation::Present(_)), || {
        format!("{} is imported as {:?}", made.identity, found.observation)
    })?;
    let action = slipway_resource::provider::Action::Delete { identity: made.identity.clone() };
    bench.apply(bench.request(&sample.address, action)).await.0?;
    bench.discover(|discovery| count(discovery, &sample.address) == 0).await?;
    match bench.session.import(&wanted, &made.identity).await {
        Err(error) if error.class == ErrorClass::NotFound => Ok(()),
        Err(error) => fail(format!("an object that is gone is refused as {}", error.class)),
        Ok(_) => fail("an object that is gone is imported"),
    }
}

pub(crate) async fn locate(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.first()?;
    let items: Vec<LocateItem> = bench
        .samples()?
        .into_iter()
        .map(|sample| LocateItem { address: sample.address, desired: sample.attributes, existing: None })
        .collect();
    let made = bench.make(&sample).await?;
    bench.discover(|discovery| count(discovery, &sample.address) == 1).await?;
    let asked: Vec<Address> = items.iter().map(|item| item.address.clone()).collect();
    let request = LocateRequest { cluster: made.request.ownership.cluster.clone(), items };
    let located = match bench.session.locate(request).await {
        Err(error) if error.class == ErrorClass::Invalid => {
            return skip("this provider takes nothing over");
        }
        answer => answer?,
    };
    let answered: Vec<&Address> = located.iter().map(|located| &located.address).collect();
    ensure(answered == asked.iter().collect::<Vec<_>>(), || {
        format!("{} items are asked for and {} answered, or in another order", asked.len(), answered.len())
    })?;
    let owned = located.iter().find(|located| located.identities.contains(&made.identity));
    ensure(owned.is_none(), || format!("{} is Slipway's own and is offered to be taken over", made.identity))
}
