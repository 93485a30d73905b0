//! The monthly price of a plan, from its providers' price lists.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use slipway_resource::Address;
use slipway_resource::provider::{MonthlyPrice, PlanItem, ResourcePrice};

use crate::error::Error;
use crate::file::Mode;
use crate::planner::Inputs;

/// The monthly price of the cluster, before a plan and after it. Resources without a known price are named,
/// and count as free.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prices {
    /// The lists, with their dates.
    pub lists: Vec<String>,
    /// The known part of the present monthly price, in thousandths of a US dollar.
    pub before_millis: u64,
    /// The known part of the monthly price after the plan, in thousandths of a US dollar.
    pub after_millis: u64,
    /// The resources that cost something, or may, sorted by address.
    pub resources: Vec<ResourcePrice>,
}

impl Prices {
    /// Resources of whose price after the plan nothing is known, each with the reason.
    pub fn unknown(&self) -> impl Iterator<Item = (&Address, &str)> {
        self.resources.iter().filter_map(|price| match &price.after {
            Some(MonthlyPrice::Unknown(why)) => Some((&price.address, why.as_str())),
            _ => None,
        })
    }

    /// The sentence for messages: the monthly price, its change, and the unknown prices.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (before, after) = (self.before_millis, self.after_millis);
        let change = match after.cmp(&before) {
            std::cmp::Ordering::Greater => format!("{} more than now", dollars(after - before)),
            std::cmp::Ordering::Less => format!("{} less than now", dollars(before - after)),
            std::cmp::Ordering::Equal => "as now".to_owned(),
        };
        let unknown: Vec<String> =
            self.unknown().map(|(address, why)| format!("{address} ({why})")).collect();
        let rest = match unknown.as_slice() {
            [] => String::new(),
            [one] => format!(" Not counted, since its price is unknown: {one}."),
            [first, rest @ ..] => {
                format!(" Not counted, since their prices are unknown: {first} and {} more.", rest.len())
            }
        };
        let lists = self.lists.join(", ");
        if after == 0 && !unknown.is_empty() {
            return format!("Price: unknown ({lists}).{rest}");
        }
        format!("Price: {} a month, {change} ({lists}).{rest}", dollars(after))
    }
}

/// Thousandths of a US dollar, as people write them.
pub(crate) fn dollars(millis: u64) -> String {
    let cents = millis.saturating_add(5) / 10;
    format!("{}.{:02} USD", cents / 100, cents % 100)
}

/// Asks every provider that has prices; `None` where none has.
pub(crate) async fn ask(inputs: &Inputs<'_>) -> Result<Option<Prices>, Error> {
    if inputs.mode == Mode::Drift
        || !inputs.providers.iter().any(|(_, handle)| handle.info.capabilities.price)
    {
        return Ok(None);
    }
    let mut by_provider: BTreeMap<&str, Vec<PlanItem>> = BTreeMap::new();
    let wanted: BTreeMap<&Address, _> =
        inputs.desired.iter().map(|desired| (&desired.address, &desired.attributes)).collect();
    let addresses: BTreeSet<&Address> =
        wanted.keys().copied().chain(inputs.observations.addresses()).collect();
    for address in addresses {
        let Some((name, handle, _)) = inputs.providers.of_type(address.kind()) else { continue };
        if handle.info.capabilities.price {
            by_provider.entry(name).or_default().push(PlanItem {
                address: address.clone(),
                desired: wanted.get(address).map(|attributes| (*attributes).clone()),
                observed: inputs.observations.objects(address).first().map(|found| found.attributes.clone()),
                last_applied: None,
            });
        }
    }
    let mut prices = Prices::default();
    for (name, items) in by_provider {
        let Some(handle) = inputs.providers.get(name) else { continue };
        let report = handle
            .session
            .price(items)
            .await
            .map_err(|source| Error::Provider { provider: name.to_owned(), source: Box::new(source) })?;
        prices.lists.push(report.list);
        prices.resources.extend(report.prices);
    }
    prices.resources.sort_by(|left, right| left.address.cmp(&right.address));
    for price in &prices.resources {
        prices.before_millis = prices.before_millis.saturating_add(known(price.before.as_ref()));
        prices.after_millis = prices.after_millis.saturating_add(known(price.after.as_ref()));
    }
    Ok(Some(prices))
}

/// The known part of a price, in thousandths of a US dollar.
pub(crate) const fn known(price: Option<&MonthlyPrice>) -> u64 {
    match price {
        Some(MonthlyPrice::Known(millis)) => *millis,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_of_which_no_price_is_known_has_no_sum() {
        let pool = ResourcePrice {
            address: Address::new("pool", "a"),
            before: None,
            after: Some(MonthlyPrice::Unknown("no price of x.large".to_owned())),
        };
        let lists = vec!["list of 2026-01-01".to_owned()];
        let prices = Prices { lists, resources: vec![pool], ..Prices::default() };
        assert_eq!(
            prices.sentence(),
            "Price: unknown (list of 2026-01-01). Not counted, since its price is unknown: pool.a (no price of \
             x.large)."
        );
    }

    #[test]
    fn the_largest_price_is_shown() {
        let prices = Prices { after_millis: u64::MAX, ..Prices::default() };
        assert!(
            prices.sentence().starts_with("Price: 18446744073709551.61 USD a month"),
            "{}",
            prices.sentence()
        );
    }

    #[test]
    fn what_is_unknown_is_said_and_not_counted() {
        let unknown = |name: &str| ResourcePrice {
            address: Address::new("pool", name),
            before: None,
            after: Some(MonthlyPrice::Unknown("no price of x.large".to_owned())),
        };
        let mut prices = Prices {
            lists: vec!["list of 2026-01-01".to_owned()],
            before_millis: 1_000,
            after_millis: 72_345,
            resources: vec![unknown("a")],
        };
        assert_eq!(
            prices.sentence(),
            "Price: 72.35 USD a month, 71.35 USD more than now (list of 2026-01-01). Not counted, since its price is \
             unknown: pool.a (no price of x.large)."
        );
        prices.resources.push(unknown("b"));
        assert!(prices.sentence().ends_with("pool.a (no price of x.large) and 1 more."));
        prices.resources.clear();
        prices.after_millis = 1_000;
        assert_eq!(prices.sentence(), "Price: 1.00 USD a month, as now (list of 2026-01-01).");
    }
}
