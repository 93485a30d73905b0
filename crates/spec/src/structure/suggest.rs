use std::collections::BTreeMap;

use crate::{
    diagnostic::closest,
    shape::{Field, Kind, Shape},
    yaml::{Node, Value},
};

/// Names from other tools, with their names here.
const FOREIGN: &[(&str, &str)] = &[
    ("instanceType", "machineType"),
    ("vmSize", "machineType"),
    ("flavor", "machineType"),
    ("version", "kubernetesVersion"),
    ("k8sVersion", "kubernetesVersion"),
    ("replicas", "size"),
    ("count", "size"),
    ("nodeCount", "size"),
    ("minSize", "size"),
    ("maxSize", "size"),
    ("networkCIDR", "network"),
    ("networkID", "network"),
    ("networking", "network"),
    ("vpc", "network"),
    ("subnets", "network"),
    ("cloudProvider", "provider"),
    ("cloud", "provider"),
    ("etcdClusters", "etcd"),
    ("kubernetesApiAccess", "controlPlane"),
    ("kubeAPIServer", "components"),
    ("apiServer", "components"),
    ("api", "controlPlane"),
    ("sshAccess", "ssh"),
    ("sshKeyName", "ssh"),
    ("labels", "nodeLabels"),
    ("podCIDR", "podCidrs"),
    ("podSubnet", "podCidrs"),
    ("serviceCIDR", "serviceCidrs"),
    ("serviceSubnet", "serviceCidrs"),
    ("serviceClusterIPRange", "serviceCidrs"),
    ("dnsDomain", "clusterDomain"),
    ("clusterDNSDomain", "clusterDomain"),
    ("nonMasqueradeCIDR", "podCidrs"),
    ("maxPrice", "spot"),
    ("rollingUpdate", "rollout"),
    ("drainTimeout", "drain"),
    ("diskSize", "rootVolume"),
    ("rootVolumeSize", "rootVolume"),
    ("size", "sizeGiB"),
    ("tags", "cloudLabels"),
    ("ami", "image"),
    ("availabilityZone", "zone"),
    ("type", "kind"),
];

/// Names that many groups have, so that where else they occur says nothing.
const COMMON: &[&str] = &[
    "address", "config", "content", "enabled", "host", "id", "image", "key", "kind", "mode", "name", "path",
    "port", "provider", "type", "url", "value", "version",
];

/// Where each field name of all documents occurs, for "it belongs there" hints.
#[derive(Debug, Clone, Default)]
pub struct Vocabulary {
    places: BTreeMap<String, Vec<String>>,
}

impl Vocabulary {
    /// The field names of these documents, each with its kind's name.
    #[must_use]
    pub fn new(documents: &[(&str, &Shape)]) -> Self {
        let mut vocabulary = Self::default();
        for (name, shape) in documents {
            vocabulary.collect(name, "", shape);
        }
        vocabulary
    }

    fn collect(&mut self, document: &str, path: &str, shape: &Shape) {
        match &shape.kind {
            Kind::Object(fields) | Kind::OneOf(fields) => {
                for (name, field) in fields {
                    let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                    self.places.entry(name.clone()).or_default().push(format!("`{path}` of a {document}"));
                    self.collect(document, &path, &field.shape);
                }
            }
            Kind::List(item) => self.collect(document, &format!("{path}[]"), item),
            Kind::Map(item) => self.collect(document, &format!("{path}.*"), item),
            _ => {}
        }
    }

    /// The place of a field name that shares most of `path`, as the likeliest.
    fn place(&self, name: &str, path: &str) -> Option<&String> {
        self.places.get(name)?.iter().rev().max_by_key(|place| {
            let place = place.trim_start_matches('`');
            path.bytes().zip(place.bytes()).take_while(|(a, b)| a == b).count()
        })
    }

    /// The hint for an unknown field: the probable name, its right place, or the existing fields.
    pub(super) fn hint(
        &self,
        name: &str,
        meant: Option<&str>,
        fields: &BTreeMap<String, Field>,
        path: &str,
        names: &[&str],
    ) -> String {
        if let Some(meant) = meant {
            return match fields.get(meant).map(|field| &field.shape) {
                Some(shape) if foreign(name) == Some(meant) && shape.fields().is_some() => {
                    format!("did you mean `{meant}`? Write `{}`", example(meant, shape))
                }
                _ => format!("did you mean `{meant}`?"),
            };
        }
        // An item of some list is seldom what was meant.
        let own = self.place(name, path).filter(|place| !place.contains("[]") && !COMMON.contains(&name));
        let elsewhere = match (own, foreign(name)) {
            (Some(place), _) => Some(format!("`{name}` belongs to {place}")),
            (None, Some(ours)) => self.place(ours, path).map(|place| format!("that is {place}")),
            (None, None) => None,
        };
        let opaque = fields.iter().find(|(_, field)| matches!(field.shape.kind, Kind::Opaque));
        match (elsewhere, opaque) {
            (Some(hint), _) => hint,
            (None, Some((opaque, _))) => {
                format!("the fields here are {}; settings of others go below `{opaque}`", list(names))
            }
            _ if names.is_empty() => "there are no fields here; leave it out".to_owned(),
            _ => format!("the fields here are {}", list(names)),
        }
    }
}

fn foreign(name: &str) -> Option<&'static str> {
    FOREIGN.iter().find(|(word, _)| word.eq_ignore_ascii_case(name)).map(|(_, ours)| *ours)
}

/// The field that was probably meant.
pub(super) fn field<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let by_spelling = closest(name, names.clone());
    if by_spelling.is_some() {
        return by_spelling;
    }
    let ours = foreign(name)?;
    names.into_iter().find(|candidate| *candidate == ours)
}

/// The hint for a text in place of a mapping with one key.
pub(super) fn variant(node: &Node, name: &str, fields: &BTreeMap<String, Field>) -> Option<String> {
    let names: Vec<&str> = fields.keys().map(String::as_str).collect();
    let meant = match &node.value {
        Value::Text(text) => closest(text, names.iter().copied()),
        Value::Number(number) => {
            // A bare number fits the variant that holds a number.
            let (name_, _) =
                fields.iter().find(|(_, field)| matches!(field.shape.kind, Kind::Integer { .. }))?;
            return Some(format!("write `{name}: {{ {name_}: {number} }}`"));
        }
        _ => None,
    };
    match meant {
        Some(meant) => Some(format!("write `{name}: {{ {} }}`", example(meant, &fields[meant].shape))),
        None => Some(format!("write a mapping with exactly one of {}", list(&names))),
    }
}

/// The field of a document that holds a field with this name.
pub(super) fn holder<'a>(name: &str, fields: &'a BTreeMap<String, Field>) -> Option<&'a str> {
    let holds = |field: &Field| field.shape.fields().is_some_and(|inside| inside.contains_key(name));
    fields.iter().find(|(_, field)| holds(field)).map(|(holder, _)| holder.as_str())
}

/// The one field of a mapping that a bare text or boolean probably belongs to: the only required one, or `enabled`.
pub(super) fn only<'a>(fields: &'a BTreeMap<String, Field>, node: &Node) -> Option<&'a str> {
    match &node.value {
        Value::Bool(_) => fields.get_key_value("enabled").map(|(name, _)| name.as_str()),
        Value::Number(_) => ["sizeGiB", "minSize"].into_iter().find(|name| fields.contains_key(*name)),
        Value::Text(text) if !text.contains('\n') => {
            let mut required = fields.iter().filter(|(_, field)| field.required);
            match (required.next(), required.next()) {
                (Some((name, field)), None) if matches!(field.shape.kind, Kind::Text(None)) => Some(name),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A field with a value that fits, for messages: `zone: …`.
pub(super) fn example(name: &str, shape: &Shape) -> String {
    match &shape.kind {
        Kind::Text(Some(format)) => format!("{name}: {}", format.example()),
        Kind::Enum(words) => format!("{name}: {}", words.first().map_or("…", |word| &word.value)),
        Kind::Constant(constant) => format!("{name}: {constant}"),
        Kind::Boolean => format!("{name}: true"),
        Kind::Integer { min, .. } => format!("{name}: {}", min.unwrap_or(1).max(1)),
        Kind::Amount => format!("{name}: 1"),
        Kind::List(_) => format!("{name}: […]"),
        Kind::Object(fields) => {
            let required: Vec<String> = fields
                .iter()
                .filter(|(_, field)| field.required)
                .map(|(name, field)| example(name, &field.shape))
                .collect();
            if required.is_empty() {
                format!("{name}: {{}}")
            } else {
                format!("{name}: {{ {} }}", required.join(", "))
            }
        }
        Kind::OneOf(fields) => match fields.iter().last() {
            Some((variant, field)) => format!("{name}: {{ {} }}", example(variant, &field.shape)),
            None => format!("{name}: {{}}"),
        },
        Kind::Map(_) => format!("{name}: {{ key: value }}"),
        Kind::Text(None) | Kind::Opaque => format!("{name}: …"),
    }
}

/// Names in quotes with commas and an `or`.
pub(super) fn list(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
    }
}

/// The first sentence of a description, beginning with a small letter.
pub(super) fn first_sentence(description: &str) -> String {
    let sentence = description.split(". ").next().unwrap_or(description).trim_end_matches('.');
    let mut letters = sentence.chars();
    match letters.next() {
        Some(first) if letters.clone().next().is_none_or(|second| !second.is_uppercase()) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => sentence.to_owned(),
    }
}
