//! JSON documents in attributes: policies and event patterns. Documents that mean the same get the same text.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

/// A JSON document with sorted keys, two spaces deep; `None` for what is not JSON.
#[must_use]
pub fn json(text: &str) -> Option<String> {
    let document: Json = serde_json::from_str(text).ok()?;
    serde_json::to_string_pretty(&document).ok()
}

/// The shortest text of a JSON document, as it is sent. A text that is not JSON is sent unchanged.
#[must_use]
pub fn compact(text: &str) -> String {
    serde_json::from_str::<Json>(text).map_or_else(|_| text.to_owned(), |document| document.to_string())
}

/// An event pattern: a list names alternatives, so its order has no meaning.
#[must_use]
pub fn event_pattern(text: &str) -> Option<String> {
    let mut document: Json = serde_json::from_str(text).ok()?;
    sort_lists(&mut document);
    serde_json::to_string_pretty(&document).ok()
}

fn sort_lists(json: &mut Json) {
    match json {
        Json::Array(items) => {
            items.iter_mut().for_each(sort_lists);
            sort(items);
        }
        Json::Object(entries) => entries.values_mut().for_each(sort_lists),
        _ => {}
    }
}

/// A policy document (the grammar of IAM's JSON policies): statements, actions, resources, principals and the values of
/// conditions are sets, and a set of one is written without brackets. How grants are spread over statements has no meaning:
/// resources on which the same is granted under the same conditions share a statement.
#[must_use]
pub fn policy(text: &str) -> Option<String> {
    let Json::Object(mut document) = serde_json::from_str(text).ok()? else { return None };
    let statements = match document.remove("Statement") {
        Some(Json::Array(statements)) => statements,
        Some(statement) => vec![statement],
        None => Vec::new(),
    };
    let mut statements = regrouped(statements.into_iter().map(statement));
    sort(&mut statements);
    document.insert("Statement".to_owned(), Json::Array(statements));
    serde_json::to_string_pretty(&Json::Object(document)).ok()
}

fn statement(statement: Json) -> Json {
    let Json::Object(fields) = statement else { return statement };
    let fields = fields.into_iter().map(|(name, value)| {
        let value = match name.as_str() {
            "Action" | "NotAction" | "Resource" | "NotResource" => set(value),
            "Principal" | "NotPrincipal" => each(value, set),
            "Condition" => each(value, |operator| each(operator, |value| set(as_texts(value)))),
            _ => value,
        };
        (name, value)
    });
    let mut fields: Map<String, Json> = fields.collect();
    // An empty id is the same as none.
    if fields.get("Sid").is_some_and(|id| id.as_str() == Some("")) {
        fields.remove("Sid");
    }
    Json::Object(fields)
}

/// Actions by resource, by everything else that a statement says.
type Grants = BTreeMap<String, BTreeMap<Option<String>, BTreeSet<String>>>;

/// The same grants in other statements; what names exceptions stays as it is.
fn regrouped(statements: impl Iterator<Item = Json>) -> Vec<Json> {
    let mut grants = Grants::new();
    let mut all = Vec::new();
    for statement in statements {
        let Some((rest, actions, resources)) = taken_apart(&statement) else {
            all.push(statement);
            continue;
        };
        let of_rest = grants.entry(rest).or_default();
        for resource in resources {
            of_rest.entry(resource).or_default().extend(actions.iter().cloned());
        }
    }
    for (rest, of_rest) in grants {
        let mut together: BTreeMap<BTreeSet<String>, Vec<Option<String>>> = BTreeMap::new();
        for (resource, actions) in of_rest {
            together.entry(actions).or_default().push(resource);
        }
        let rest: Map<String, Json> = serde_json::from_str(&rest).unwrap_or_default();
        for (actions, resources) in together {
            let mut fields = rest.clone();
            fields.insert("Action".to_owned(), set(actions.into_iter().collect()));
            let resources: Vec<Json> = resources.into_iter().flatten().map(Json::String).collect();
            if !resources.is_empty() {
                fields.insert("Resource".to_owned(), set(Json::Array(resources)));
            }
            all.push(Json::Object(fields));
        }
    }
    all
}

/// The other fields of a statement, its actions, and its resources; `None` for a statement that cannot be
/// taken apart.
fn taken_apart(statement: &Json) -> Option<(String, BTreeSet<String>, Vec<Option<String>>)> {
    let mut fields = statement.as_object()?.clone();
    let actions = texts(&fields.remove("Action")?)?;
    let resources = match fields.remove("Resource") {
        Some(resources) => texts(&resources)?.into_iter().map(Some).collect(),
        None => vec![None],
    };
    // A statement with a name of its own stays in one piece.
    if ["Sid", "NotAction", "NotResource"].iter().any(|name| fields.contains_key(*name)) {
        return None;
    }
    Some((Json::Object(fields).to_string(), actions, resources))
}

/// A text or a list of texts.
fn texts(value: &Json) -> Option<BTreeSet<String>> {
    match value {
        Json::String(text) => Some(BTreeSet::from([text.clone()])),
        Json::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

fn each(value: Json, change: impl Fn(Json) -> Json) -> Json {
    match value {
        Json::Object(fields) => fields.into_iter().map(|(name, value)| (name, change(value))).collect(),
        other => other,
    }
}

fn set(value: Json) -> Json {
    let Json::Array(mut items) = value else { return value };
    sort(&mut items);
    if items.len() == 1 { items.remove(0) } else { Json::Array(items) }
}

fn as_texts(value: Json) -> Json {
    match value {
        Json::Array(items) => items.into_iter().map(as_texts).collect(),
        Json::Bool(truth) => Json::String(truth.to_string()),
        Json::Number(number) => Json::String(number.to_string()),
        other => other,
    }
}

fn sort(items: &mut Vec<Json>) {
    items.sort_by_cached_key(ToString::to_string);
    items.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_that_mean_the_same_are_the_same() {
        let one = r#"{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":["s3:Put","s3:Get"],
            "Resource":["*"],"Principal":{"Service":["b","a"]},"Condition":{"Bool":{"x":[true]}}}}"#;
        let other = r#"{"Statement":[{"Sid":"","Action":["s3:Get","s3:Put"],"Resource":"*","Effect":"Allow",
            "Principal":{"Service":["a","b"]},"Condition":{"Bool":{"x":"true"}}}],"Version":"2012-10-17"}"#;
        assert_eq!(policy(one), policy(other));
        assert_eq!(policy(one).as_deref().and_then(policy), policy(one));
    }

    #[test]
    fn how_grants_are_spread_has_no_meaning() {
        let one = r#"{"Statement":[{"Effect":"Allow","Action":["a:A","a:B"],"Resource":["x","y"]},
            {"Effect":"Allow","Action":"a:C","Resource":"x"}]}"#;
        let other = r#"{"Statement":[{"Effect":"Allow","Action":["a:A","a:B","a:C"],"Resource":"x"},
            {"Effect":"Allow","Action":"a:A","Resource":"y"},{"Effect":"Allow","Action":"a:B","Resource":"y"}]}"#;
        assert_eq!(policy(one), policy(other));
        let conditional = r#"{"Statement":[{"Effect":"Allow","Action":["a:A","a:B","a:C"],"Resource":"x"},
            {"Effect":"Allow","Action":["a:A","a:B"],"Resource":"y","Condition":{"Bool":{"k":"true"}}}]}"#;
        assert_ne!(policy(one), policy(conditional));
        let excepted = r#"{"Statement":[{"Effect":"Allow","NotAction":"a:A","Resource":"x"}]}"#;
        assert!(policy(excepted).unwrap().contains("NotAction"));
    }

    #[test]
    fn policies_that_differ_stay_different() {
        let allow = r#"{"Statement":[{"Effect":"Allow","Action":"s3:Get","Resource":"*"}]}"#;
        let deny = r#"{"Statement":[{"Effect":"Deny","Action":"s3:Get","Resource":"*"}]}"#;
        assert_ne!(policy(allow), policy(deny));
    }

    #[test]
    fn an_event_pattern_is_a_set_of_alternatives() {
        assert_eq!(
            event_pattern(r#"{"source":["b","a"],"detail":{"x":[1]}}"#),
            event_pattern(r#"{"detail":{"x":[1]},"source":["a","b"]}"#)
        );
    }

    #[test]
    fn what_is_not_json_is_left_alone() {
        assert_eq!(policy("{"), None);
        assert_eq!(json("x"), None);
        assert_eq!(compact("{ \"a\" : 1 }"), "{\"a\":1}");
        assert_eq!(compact("{"), "{");
    }
}
