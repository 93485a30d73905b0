//! Prices of resources.

use serde::{Deserialize, Serialize};

use crate::Address;

/// Monthly prices, from a price list of the provider.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceReport {
    /// Which list, with its date.
    pub list: String,
    /// The resources that cost something, or may, sorted by address. What is not named here costs nothing.
    pub prices: Vec<ResourcePrice>,
}

/// The price of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourcePrice {
    /// The resource.
    pub address: Address,
    /// As it is; `None` where there is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<MonthlyPrice>,
    /// The price after the change; `None` for a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<MonthlyPrice>,
}

/// The price of a month of 730 hours, without tax.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum MonthlyPrice {
    /// This many thousandths of a US dollar.
    Known(u64),
    /// The list does not say it: why, in a phrase.
    Unknown(String),
}
