//! Plan and preflight.

use slipway_resource::normalised::{Altered, altered};
use slipway_resource::provider::{PlanItem, Planned, PreflightItem, ReadRequest};
use slipway_resource::{Mode, Observation, Path, Value};

use crate::bench::{Bench, count, without_unknown};
use crate::scenario::Ready;
use crate::stop::{Checked, Stop, ensure, fail};

/// How many items a large cluster has.
const MANY: usize = 10_000;

fn text(planned: &Planned) -> Result<String, Stop> {
    serde_json::to_string(planned).map_err(|error| Stop::Skip(error.to_string()))
}

fn item(sample: &Ready) -> PlanItem {
    PlanItem {
        address: sample.address.clone(),
        desired: Some(sample.attributes.clone()),
        observed: None,
        last_applied: None,
    }
}

pub(crate) async fn plan_pure(bench: &mut Bench<'_>) -> Checked {
    let samples = bench.samples()?;
    let mut before = Vec::new();
    for round in 0..3 {
        for (position, sample) in samples.iter().enumerate() {
            let desired = Some(bench.resolve(&sample.attributes));
            let planned = bench.plan_one(&sample.address, desired, None, None).await?;
            let planned = text(&planned)?;
            match before.get(position) {
                None => before.push(planned),
                Some(known) => ensure(*known == planned, || {
                    format!("{}: planned differently: {known} and {planned}", sample.address)
                })?,
            }
        }
        if round == 1 {
            bench.restart().await?;
        }
    }
    Ok(())
}

pub(crate) async fn plan_order(bench: &mut Bench<'_>) -> Checked {
    let samples = bench.samples()?;
    let mut alone = Vec::new();
    for sample in &samples {
        let desired = Some(sample.attributes.clone());
        alone.push(bench.plan_one(&sample.address, desired, None, None).await?);
    }
    // Twice each, so that one sample has an order, too. `plan-pure` checks the texts for users.
    let items = || samples.iter().chain(&samples).map(item);
    let together = bench.session.plan(items().collect()).await?;
    let backwards = bench.session.plan(items().rev().collect()).await?;
    let expected = || alone.iter().chain(&alone);
    ensure(together.len() == expected().count() && together.iter().zip(expected()).all(is_same), || {
        "items planned together get other answers than alone".to_owned()
    })?;
    ensure(backwards.iter().rev().zip(expected()).all(is_same), || {
        "items planned in another order get other answers".to_owned()
    })
}

fn is_same((left, right): (&Planned, &Planned)) -> bool {
    (&left.normalised, &left.replace_paths, left.disruption)
        == (&right.normalised, &right.replace_paths, right.disruption)
}

pub(crate) async fn plan_idempotent(bench: &mut Bench<'_>) -> Checked {
    for sample in bench.samples()? {
        let address = &sample.address;
        let desired = Some(sample.attributes.clone());
        let first = bench.plan_one(address, desired, None, None).await?.normalised;
        let again = Some(without_computed(bench, &sample, &first)?);
        let second = bench.plan_one(address, again, None, None).await?.normalised;
        ensure(first == second, || {
            format!("{address}: normalised once is {}, twice {}", first.to_json(), second.to_json())
        })?;
    }
    Ok(())
}

pub(crate) async fn plan_keeps_values(bench: &mut Bench<'_>) -> Checked {
    keeps(bench, |altered| !is_text(altered)).await
}

pub(crate) async fn plan_keeps_texts(bench: &mut Bench<'_>) -> Checked {
    keeps(bench, is_text).await
}

fn is_text(altered: &Altered) -> bool {
    matches!((&altered.wanted, &altered.given), (Value::String(_), Value::String(_)))
}

/// Fails if a desired value is returned as another one, for the values that the rule is about.
async fn keeps(bench: &mut Bench<'_>, concerns: impl Fn(&Altered) -> bool) -> Checked {
    for sample in bench.samples()? {
        let address = &sample.address;
        for wanted in std::iter::once(&sample.attributes).chain(&sample.mutation) {
            let planned = bench.plan_one(address, Some(wanted.clone()), None, None).await?;
            let altered = altered(bench.kind(address)?, wanted, &planned.normalised, None);
            if let Some(altered) = altered.filter(&concerns) {
                let (wanted, given) = (altered.wanted.to_json(), altered.given.to_json());
                return fail(format!("{address}: {} is {given} where {wanted} is wanted", altered.path));
            }
        }
    }
    Ok(())
}

/// The part of a normalised value that a spec could contain.
fn without_computed(bench: &Bench<'_>, sample: &Ready, normalised: &Value) -> Result<Value, Stop> {
    let mut value = without_unknown(normalised);
    for (name, attribute) in &bench.kind(&sample.address)?.attributes {
        if attribute.mode == Mode::Computed {
            value.set(&Path::key(name.as_str()), Value::Null);
        }
    }
    Ok(value)
}

pub(crate) async fn plan_takes_unknown(bench: &mut Bench<'_>) -> Checked {
    for sample in bench.samples()? {
        let address = &sample.address;
        let desired = Some(sample.attributes.clone());
        bench.plan_one(address, desired, None, None).await?;
        let names: Vec<String> =
            sample.attributes.as_map().into_iter().flatten().map(|(name, _)| name.clone()).collect();
        for name in names {
            let path = Path::key(name.as_str());
            let mut attributes = sample.attributes.clone();
            attributes.set(&path, Value::Unknown);
            let planned = bench.plan_one(address, Some(attributes), None, None).await?;
            let said = planned.normalised.at(&path).cloned().unwrap_or_default();
            ensure(!said.is_known(), || {
                format!("{address}: {name} is unknown, and Plan says {}", said.to_json())
            })?;
        }
    }
    Ok(())
}

pub(crate) async fn batch(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.first()?;
    let items: Vec<PlanItem> = (0..MANY)
        .map(|number| PlanItem {
            address: slipway_resource::Address::new(sample.address.kind(), format!("n{number}")),
            ..item(&sample)
        })
        .collect();
    let planned = bench.session.plan(items).await?;
    ensure(planned.len() == MANY, || format!("{} answers to {MANY} items of Plan", planned.len()))?;
    let made = bench.make(&sample).await?;
    let is_present = |observation: &Observation| matches!(observation, Observation::Present(_));
    bench.read(&sample.address, &made.identity, is_present).await?;
    let request = ReadRequest { address: sample.address.clone(), identity: made.identity.clone() };
    let observed = bench.session.read(vec![request; MANY]).await?;
    let present = observed.iter().filter(|observed| is_present(&observed.observation)).count();
    ensure(present == MANY, || format!("{present} of {MANY} reads of one object find it"))
}

pub(crate) async fn dry_run(bench: &mut Bench<'_>) -> Checked {
    if !bench.info.capabilities.dry_run {
        return Ok(());
    }
    let first = bench.first()?;
    let made = bench.make(&first).await?;
    let is_there = |discovery: &slipway_resource::provider::Discovery| count(discovery, &first.address) == 1;
    let before = bench.discover(is_there).await?;
    let is_present = |observation: &Observation| matches!(observation, Observation::Present(_));
    let Observation::Present(observed) = bench.read(&first.address, &made.identity, is_present).await? else {
        return fail(format!("{} was made, and is not there", first.address));
    };
    let asked = bench.resolve(&first.attributes);
    let mutated = first.mutation.as_ref().map_or_else(|| asked.clone(), |mutation| bench.resolve(mutation));
    let mut items = vec![PlanItem {
        address: first.address.clone(),
        desired: Some(mutated),
        observed: Some(observed),
        last_applied: Some(asked),
    }];
    items.extend(
        bench
            .samples()?
            .iter()
            .skip(1)
            .map(|sample| PlanItem { desired: Some(bench.resolve(&sample.attributes)), ..item(sample) }),
    );
    let dry_runs = bench.session.dry_run(items.clone()).await?;
    ensure(dry_runs.len() == items.len(), || format!("{} answers to {} items", dry_runs.len(), items.len()))?;
    for (item, dry_run) in items.iter_mut().zip(dry_runs) {
        item.desired = dry_run.desired.or(item.desired.take());
        item.observed = dry_run.observed.or(item.observed.take());
    }
    bench.session.plan(items).await?;
    let after = bench.discover(is_there).await?;
    ensure(before == after, || {
        format!("{} objects before, {} after, or other ones", before.observed.len(), after.observed.len())
    })
}

pub(crate) async fn preflight_changes_nothing(bench: &mut Bench<'_>) -> Checked {
    let samples = bench.samples()?;
    let first = bench.first()?;
    let made = bench.make(&first).await?;
    let is_there = |discovery: &slipway_resource::provider::Discovery| count(discovery, &first.address) == 1;
    let before = bench.discover(is_there).await?;
    let mut items: Vec<PreflightItem> = Vec::new();
    for sample in &samples[1..] {
        items.push(PreflightItem {
            address: sample.address.clone(),
            action: "create".to_owned(),
            desired: bench.resolve(&sample.attributes),
        });
    }
    items.push(PreflightItem {
        address: first.address.clone(),
        action: "delete".to_owned(),
        desired: Value::Null,
    });
    for finding in bench.session.preflight(items).await? {
        if finding.message.is_empty() {
            return fail("a finding says nothing");
        }
    }
    let after = bench.discover(is_there).await?;
    ensure(before == after, || {
        format!("{} objects before, {} after, or other ones", before.observed.len(), after.observed.len())
    })?;
    let now = bench.read(&first.address, &made.identity, |_| true).await?;
    ensure(matches!(now, Observation::Present(_)), || format!("{} is gone", first.address))
}
