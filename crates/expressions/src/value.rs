//! JSON values as values of the interpreter.

use std::collections::HashMap;
use std::sync::Arc;

use cel::Value;
use serde_json::Value as Json;

/// A JSON value as the interpreter has it. A whole number is an `int`, so that it can be computed with literals.
pub(crate) fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(is) => Value::Bool(*is),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(whole), _) => Value::Int(whole),
            (None, Some(large)) => Value::UInt(large),
            (None, None) => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::String(Arc::new(text.clone())),
        Json::Array(items) => Value::List(Arc::new(items.iter().map(value).collect())),
        Json::Object(fields) => {
            let fields: HashMap<String, Value> =
                fields.iter().map(|(name, field)| (name.clone(), value(field))).collect();
            Value::Map(fields.into())
        }
    }
}
