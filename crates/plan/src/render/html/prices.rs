//! The monthly price of each resource, before and after.

use std::cmp::Reverse;

use slipway_resource::provider::{MonthlyPrice, ResourcePrice};

use super::super::markup;
use super::changes::table;
use super::section::Section;
use crate::file::Plan;
use crate::prices::{dollars, known};

/// Rows that are always visible.
const ROWS: usize = 10;

/// The section of prices; `None` where no provider knows prices. Prices that change come first, by their difference.
pub(super) fn section(plan: &Plan) -> Option<Section> {
    let prices = plan.prices.as_ref()?;
    if prices.resources.is_empty() {
        return None;
    }
    let mut resources: Vec<&ResourcePrice> = prices.resources.iter().collect();
    resources
        .sort_by_key(|price| Reverse(known(price.before.as_ref()).abs_diff(known(price.after.as_ref()))));
    let head = "<thead><tr><th scope=\"col\">Resource</th><th scope=\"col\" class=\"number\">Now</th>\
                <th scope=\"col\" class=\"number\">After</th><th scope=\"col\" class=\"number\">Difference</th></tr></thead>\n";
    let mut rows = vec![row("All", [prices.before_millis, prices.after_millis].map(dollars), {
        difference(prices.before_millis, prices.after_millis)
    })];
    rows.extend(resources.iter().map(|price| {
        let (before, after) = (price.before.as_ref(), price.after.as_ref());
        let is_known = ![before, after].iter().any(|price| matches!(price, Some(MonthlyPrice::Unknown(_))));
        let difference = if is_known { difference(known(before), known(after)) } else { String::new() };
        row(&price.address.to_string(), [shown(before), shown(after)], difference)
    }));
    let lists = markup::text(&prices.lists.join(", "));
    Some(Section {
        id: "prices",
        title: "Price a month".to_owned(),
        count: None,
        is_urgent: false,
        body: format!("<p>From {lists}.</p>\n{}", table(head, &rows, ROWS)),
    })
}

fn row(subject: &str, [before, after]: [String; 2], difference: String) -> String {
    format!(
        "<tr><th scope=\"row\">{}</th><td class=\"number\">{}</td><td class=\"number\">{}</td>\
         <td class=\"number\">{difference}</td></tr>\n",
        markup::text(subject),
        markup::text(&before),
        markup::text(&after),
    )
}

fn shown(price: Option<&MonthlyPrice>) -> String {
    match price {
        None => "–".to_owned(),
        Some(MonthlyPrice::Known(millis)) => dollars(*millis),
        Some(MonthlyPrice::Unknown(why)) => format!("unknown: {why}"),
    }
}

fn difference(before: u64, after: u64) -> String {
    match after.cmp(&before) {
        std::cmp::Ordering::Greater => format!("+{}", dollars(after - before)),
        std::cmp::Ordering::Less => format!("−{}", dollars(before - after)),
        std::cmp::Ordering::Equal => String::new(),
    }
}
