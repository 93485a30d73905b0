//! The differences of `kubeadm.k8s.io/v1beta3` from v1beta4.

use serde_json::{Map, Value, json};
use slipway_spec::shape::{Kind, Shape};

/// Fields that v1beta4 brought.
const NEW: [&str; 9] = [
    "caCertificateValidityPeriod",
    "certificateValidityPeriod",
    "disabled",
    "dryRun",
    "encryptionAlgorithm",
    "extraEnvs",
    "imagePullSerial",
    "proxy",
    "timeouts",
];
/// Fields that v1beta4 left out.
const OLD: [&str; 2] = ["timeoutForControlPlane", "timeout"];
/// Flags: a list in v1beta4, a mapping before.
const FLAGS: [&str; 2] = ["extraArgs", "kubeletExtraArgs"];

/// Makes the shape of a v1beta4 document that of the same kind of v1beta3.
pub(super) fn shape(shape: &mut Shape) {
    match &mut shape.kind {
        Kind::Object(fields) => {
            fields.retain(|name, _| !NEW.contains(&name.as_str()));
            for (name, field) in fields {
                if FLAGS.contains(&name.as_str()) {
                    let text = Shape { kind: Kind::Text(None), description: String::new() };
                    field.shape.kind = Kind::Map(Box::new(text));
                } else {
                    self::shape(&mut field.shape);
                }
            }
        }
        Kind::List(item) => self::shape(item),
        _ => {}
    }
}

/// Takes what only v1beta3 has out of the shape of a v1beta4 document.
pub(super) fn without_old_fields(shape: &mut Shape) {
    match &mut shape.kind {
        Kind::Object(fields) => {
            fields.retain(|name, _| !OLD.contains(&name.as_str()));
            fields.values_mut().for_each(|field| without_old_fields(&mut field.shape));
        }
        Kind::List(item) => without_old_fields(item),
        _ => {}
    }
}

/// Makes the JSON of a v1beta3 document that of the same document of v1beta4.
pub(super) fn convert(kind: &str, json: &mut Value) {
    let Value::Object(fields) = json else { return };
    if kind == "JoinConfiguration"
        && let Some(timeout) = take(fields, "discovery", "timeout")
    {
        fields.insert("timeouts".to_owned(), json!({ "discovery": timeout }));
    }
    flags(json);
}

fn take(fields: &mut Map<String, Value>, holder: &str, name: &str) -> Option<Value> {
    fields.get_mut(holder)?.as_object_mut()?.remove(name)
}

/// Flags in the order of their names, as kubeadm has it.
fn flags(json: &mut Value) {
    match json {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::Object(flags) if FLAGS.contains(&name.as_str()) => {
                        let mut list: Vec<(String, Value)> = std::mem::take(flags).into_iter().collect();
                        list.sort_by(|one, other| one.0.cmp(&other.0));
                        *value = list
                            .into_iter()
                            .map(|(name, value)| json!({ "name": name, "value": value }))
                            .collect();
                    }
                    _ => self::flags(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(self::flags),
        _ => {}
    }
}
