//! A checker of JSON schemas, for the keywords that Slipway's own schemas of output use.

use serde_json::Value as Json;

/// The misfits of a value and a schema, each with its JSON pointer. Keys that the schema of an object does
/// not name are misfits, too, unless it gives a schema for additional keys: all written fields are
/// documented.
#[must_use]
pub fn misfits(schema: &Json, value: &Json) -> Vec<String> {
    let mut found = Vec::new();
    Checker { root: schema }.check(schema, value, "", &mut found);
    found
}

/// What a program that knows an earlier schema of output would miss in a later one, each with its JSON pointer: fields that
/// are not described any more, are not always written any more, or have another type.
#[must_use]
pub fn lost_of(earlier: &Json, later: &Json) -> Vec<String> {
    let mut lost = Vec::new();
    compare(earlier, later, "", &mut lost);
    lost
}

fn compare(earlier: &Json, later: &Json, at: &str, lost: &mut Vec<String>) {
    for keyword in ["type", "$ref", "const"] {
        if earlier.get(keyword).is_some() && earlier.get(keyword) != later.get(keyword) {
            lost.push(format!("{at}/{keyword}: {} became {}", earlier[keyword], later[keyword]));
        }
    }
    let required = later["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    for name in earlier["required"].as_array().into_iter().flatten() {
        if !required.contains(name) {
            lost.push(format!("{at}/required: {name} is not always written"));
        }
    }
    for keyword in ["properties", "$defs"] {
        for (name, schema) in earlier[keyword].as_object().into_iter().flatten() {
            inside(schema, later[keyword].get(name), &format!("{at}/{keyword}/{name}"), lost);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = earlier.get(keyword).filter(|schema| schema.is_object()) {
            inside(schema, later.get(keyword), &format!("{at}/{keyword}"), lost);
        }
    }
    for (index, schema) in earlier["anyOf"].as_array().into_iter().flatten().enumerate() {
        inside(schema, later["anyOf"].get(index), &format!("{at}/anyOf/{index}"), lost);
    }
}

fn inside(earlier: &Json, later: Option<&Json>, at: &str, lost: &mut Vec<String>) {
    match later.filter(|later| !later.is_null()) {
        Some(later) => compare(earlier, later, at, lost),
        None => lost.push(format!("{at} is lost")),
    }
}

struct Checker<'a> {
    root: &'a Json,
}

impl Checker<'_> {
    fn check(&self, schema: &Json, value: &Json, at: &str, found: &mut Vec<String>) {
        if let Some(pointer) = schema["$ref"].as_str().and_then(|text| text.strip_prefix('#')) {
            match self.root.pointer(pointer) {
                Some(named) => self.check(named, value, at, found),
                None => found.push(format!("{at}: the schema has no {pointer}")),
            }
        }
        let types: Vec<&str> = match &schema["type"] {
            Json::String(name) => vec![name],
            Json::Array(names) => names.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        };
        if !types.is_empty() && !types.iter().any(|name| is(name, value)) {
            found.push(format!("{at}: {value} is no {}", types.join(" or ")));
            return;
        }
        if schema.get("const").is_some_and(|only| only != value) {
            found.push(format!("{at}: {value} is not {}", schema["const"]));
        }
        if schema["enum"].as_array().is_some_and(|values| !values.contains(value)) {
            found.push(format!("{at}: {value} is none of {}", schema["enum"]));
        }
        if schema["minimum"].as_i64().zip(value.as_i64()).is_some_and(|(least, value)| value < least) {
            found.push(format!("{at}: {value} is too small"));
        }
        if let Some(branches) = schema["anyOf"].as_array() {
            let fits = |branch: &Json| {
                let mut misfits = Vec::new();
                self.check(branch, value, at, &mut misfits);
                misfits.is_empty()
            };
            if !branches.iter().any(fits) {
                found.push(format!("{at}: {value} fits no branch"));
            }
        }
        for (index, item) in value.as_array().into_iter().flatten().enumerate() {
            if let Some(items) = schema.get("items") {
                self.check(items, item, &format!("{at}/{index}"), found);
            }
        }
        self.fields(schema, value, at, found);
    }

    fn fields(&self, schema: &Json, value: &Json, at: &str, found: &mut Vec<String>) {
        let Some(fields) = value.as_object() else { return };
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if !fields.contains_key(name) {
                found.push(format!("{at}: {name} is missing"));
            }
        }
        for (name, field) in fields {
            let at = format!("{at}/{name}");
            match (schema["properties"].get(name), schema.get("additionalProperties")) {
                (Some(known), _) => self.check(known, field, &at, found),
                (None, Some(other)) => self.check(other, field, &at, found),
                (None, None) if schema.get("properties").is_some() => {
                    found.push(format!("{at} is not in the schema"));
                }
                (None, None) => {}
            }
        }
    }
}

fn is(name: &str, value: &Json) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let schema = json!({
            "properties": { "a": { "$ref": "#/$defs/list" }, "b": { "enum": ["x"] }, "c": { "type": "string" } },
            "required": ["c"], "type": "object",
            "$defs": { "list": { "type": "array", "items": { "type": ["integer", "null"], "minimum": 1 } } },
        });
        assert!(misfits(&schema, &json!({ "a": [1, null], "b": "x", "c": "" })).is_empty());
        let found = misfits(&schema, &json!({ "a": [0, "t"], "b": "y", "d": 1 }));
        let wanted =
            [": c is missing", "/a/0: 0 is too small", "/a/1: \"t\" is no", "/b: \"y\" is none", "/d is not"];
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        assert!(wanted.iter().all(|part| found.iter().any(|text| text.starts_with(part))), "{found:?}");
    }
}
