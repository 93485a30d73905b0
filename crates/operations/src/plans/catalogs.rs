//! The choices of the providers that a saved plan pins, such as images of machines.
//!
//! The state keeps them after the plan, and later plans are made from them. A plan is carried out with its own choices, also where
//! a provider would choose otherwise by now: then a change has to show the choice.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use slipway_plan::{Mode, Plan};
use slipway_resource::provider::Catalog;

use crate::error::Error;
use crate::opened::Opened;

/// A choice of a plan that the provider would make otherwise now.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Other {
    /// The provider.
    pub provider: String,
    /// The choice, as `images.amd64`.
    pub name: String,
    /// The choices of the plan with this one as the provider would make it now.
    pub instead: Catalog,
}

impl Other {
    /// The fault of a plan with this choice, as a sentence.
    pub fn fault(&self) -> String {
        other_choices(&self.provider)
    }
}

/// The place of a choice in a catalog: a field, and an entry of it where it has some.
type Place = (String, Option<String>);

/// The choices of a plan that its providers would make otherwise now; a sentence where the plan drops or changes a choice that the
/// state has pinned. A provider of machines that exist has facts about them there, which its plans change: they are not compared.
///
/// # Errors
/// When a provider cannot read what it chooses from.
pub(super) async fn compare(plan: &Plan, opened: &Opened) -> Result<Result<Vec<Other>, String>, Error> {
    if plan.mode != Mode::Apply {
        return Ok(Ok(Vec::new()));
    }
    let nothing = BTreeMap::new();
    let pinned = opened.prior().map_or(&nothing, |prior| &prior.catalogs);
    let planned = &plan.binding.catalogs;
    if let Some(name) = pinned.keys().find(|name| !planned.contains_key(*name)) {
        return Ok(Err(format!(
            "the plan does not have the choices of the provider {name} that the state has"
        )));
    }
    let mut others = Vec::new();
    for (name, catalog) in planned {
        let known = pinned.get(name);
        if known == Some(catalog) {
            continue;
        }
        let answer = match opened.providers().get(name) {
            Some(handle) if handle.info.capabilities.hosts => continue,
            Some(handle) => opened.catalog(handle, known.cloned()).await?,
            None => return Ok(Err(other_choices(name))),
        };
        if known.is_some_and(|known| !keeps(&known.data, &catalog.data)) {
            return Ok(Err(other_choices(name)));
        }
        for place in differing(&catalog.data, &answer.data) {
            let instead = Catalog::new(&with(&catalog.data, &place, &answer.data));
            let instead = instead.map_err(|error| opened.spec.refused(error))?;
            others.push(Other { provider: name.clone(), name: named(&place), instead });
        }
    }
    Ok(Ok(others))
}

/// The fault of a plan whose choices are not those of a provider, as a sentence.
pub(super) fn other_choices(provider: &str) -> String {
    format!("the choices of the provider {provider} are not those that it makes now")
}

fn named((field, entry): &Place) -> String {
    match entry {
        Some(entry) => format!("{field}.{entry}"),
        None => field.clone(),
    }
}

/// The choices of a catalog by their places.
fn choices(data: &Json) -> BTreeMap<Place, &Json> {
    let mut all = BTreeMap::new();
    for (field, value) in data.as_object().into_iter().flatten() {
        match value {
            Json::Object(entries) => {
                let entries = entries.iter();
                all.extend(entries.map(|(entry, value)| ((field.clone(), Some(entry.clone())), value)));
            }
            _ => {
                all.insert((field.clone(), None), value);
            }
        }
    }
    all
}

/// Whether a catalog has all choices of another one. Lists may have got longer.
fn keeps(known: &Json, data: &Json) -> bool {
    let kept = choices(data);
    choices(known).into_iter().all(|(place, value)| match (value, kept.get(&place)) {
        (Json::Array(known), Some(Json::Array(items))) => known.iter().all(|item| items.contains(item)),
        (value, kept) => kept.is_some_and(|kept| *kept == value),
    })
}

/// The places of the choices in which two catalogs differ.
fn differing(one: &Json, other: &Json) -> Vec<Place> {
    let (left, right) = (choices(one), choices(other));
    let places: BTreeSet<&Place> = left.keys().chain(right.keys()).collect();
    places.into_iter().filter(|place| left.get(*place) != right.get(*place)).cloned().collect()
}

/// A catalog with one choice of another one, or without it where the other one has none.
fn with(data: &Json, (field, entry): &Place, other: &Json) -> Json {
    let mut data = data.clone();
    let fields = match entry {
        Some(_) => data.get_mut(field).and_then(Json::as_object_mut),
        None => data.as_object_mut(),
    };
    let key = entry.as_ref().unwrap_or(field);
    let value = match entry {
        Some(entry) => other.get(field).and_then(|field| field.get(entry)),
        None => other.get(field),
    };
    match (fields, value) {
        (Some(fields), Some(value)) => drop(fields.insert(key.clone(), value.clone())),
        (Some(fields), None) => drop(fields.remove(key)),
        // The whole field is missing.
        (None, _) => {
            if let (Some(fields), Some(value)) = (data.as_object_mut(), other.get(field)) {
                fields.insert(field.clone(), value.clone());
            }
        }
    }
    data
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pinned_choices_stay_and_others_may_be_added() {
        let known = json!({ "zones": ["a"], "images": { "amd64": "one" }, "region": "r" });
        let more =
            json!({ "zones": ["a", "b"], "images": { "amd64": "one", "arm64": "two" }, "region": "r" });
        assert!(keeps(&known, &known) && keeps(&known, &more));
        assert!(!keeps(&more, &known), "they are gone");
        let other = json!({ "zones": ["a"], "images": { "amd64": "other" }, "region": "r" });
        assert!(!keeps(&known, &other));
        assert!(!keeps(&known, &json!({ "zones": ["a"], "images": { "amd64": "one" }, "region": "s" })));
    }

    #[test]
    fn each_choice_that_differs_is_replaced_alone() {
        let planned =
            json!({ "zones": ["a"], "images": { "amd64": "one", "arm64": "two", "more": "three" } });
        let now = json!({ "zones": ["a", "b"], "images": { "amd64": "new", "arm64": "two" } });
        let places = differing(&planned, &now);
        let names: Vec<String> = places.iter().map(named).collect();
        assert_eq!(names, ["images.amd64", "images.more", "zones"]);
        let instead: Vec<Json> = places.iter().map(|place| with(&planned, place, &now)).collect();
        let images = |amd64: &str| json!({ "amd64": amd64, "arm64": "two", "more": "three" });
        assert_eq!(instead[0], json!({ "zones": ["a"], "images": images("new") }));
        assert_eq!(instead[1], json!({ "zones": ["a"], "images": { "amd64": "one", "arm64": "two" } }));
        assert_eq!(instead[2], json!({ "zones": ["a", "b"], "images": images("one") }));
        let place = ("images".to_owned(), Some("amd64".to_owned()));
        let images = json!({ "images": { "amd64": "new", "arm64": "two" } });
        assert_eq!(with(&json!({}), &place, &now), images, "of no images at all");
    }
}
