use slipway_resource::{Address, Reference, TemplatePart, Value};

use super::Phased;

/// The resources of one host among several: those of its inside get the host's name in their addresses,
/// `certificate.cp-0/apiserver`, and as their attribute `host`; references between them follow. API objects stay.
#[must_use]
pub fn on_host(resources: Vec<Phased>, host: &str) -> Vec<Phased> {
    let own: Vec<Address> =
        resources.iter().map(|phased| phased.desired.address.clone()).filter(is_inside).collect();
    let renamed = |address: &Address| {
        if own.contains(address) {
            Address::new(address.kind(), format!("{host}/{}", address.name()))
        } else {
            address.clone()
        }
    };
    resources
        .into_iter()
        .map(|mut phased| {
            let desired = &mut phased.desired;
            desired.attributes = moved(&desired.attributes, &renamed);
            if let Value::Map(attributes) = &mut desired.attributes
                && is_inside(&desired.address)
            {
                attributes.insert("host".to_owned(), host.into());
            }
            desired.address = renamed(&desired.address);
            desired.depends_on = desired.depends_on.iter().map(renamed).collect();
            let update_after = &mut desired.lifecycle.update_after;
            *update_after = update_after.iter().map(renamed).collect();
            phased
        })
        .collect()
}

fn is_inside(address: &Address) -> bool {
    !address.kind().starts_with("kubernetes_")
}

fn moved(value: &Value, renamed: &impl Fn(&Address) -> Address) -> Value {
    let reference =
        |found: &Reference| Reference { address: renamed(&found.address), path: found.path.clone() };
    match value {
        Value::Reference(found) => reference(found).into(),
        Value::Template(parts) => Value::Template(
            parts
                .iter()
                .map(|part| match part {
                    TemplatePart::Reference(found) => TemplatePart::Reference(reference(found)),
                    TemplatePart::Text(text) => TemplatePart::Text(text.clone()),
                })
                .collect(),
        ),
        Value::List(items) => Value::List(items.iter().map(|item| moved(item, renamed)).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), moved(value, renamed))).collect())
        }
        other => other.clone(),
    }
}
