//! The treatment of each field, from `rules/classes.tsv`.

use std::collections::BTreeMap;

use crate::fields::{Kind, Leaf, each_segment, sections};

const CLASSES: &str = include_str!("rules/classes.tsv");

/// The treatment of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Treatment {
    /// Separate code converts it into this field of the model.
    Mapped(String),
    /// It becomes a flag of its component: this one, or its own name with hyphens.
    Flag(Option<String>),
    /// It becomes a field of `KubeletConfiguration`: this one, or the one of the same name.
    Kubelet(Option<String>),
    /// It is kept as it is in the settings of this add-on.
    Addon(String),
    /// It is kept as it is in the provider's settings.
    Carried,
    /// It is an error, for this reason.
    Refused(String),
    /// It has no effect, without a difference to the cluster, for this reason.
    Harmless(String),
    /// It has no effect, with this difference to the cluster.
    Lost(String),
}

/// The three answers to "is my field honoured?".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// It affects the cluster: the resources of its provider, or the boot of its machines.
    Honoured,
    /// The document is refused because of it.
    Refused,
    /// It has no effect, and a note or a warning says so.
    WithoutEffect,
}

impl Treatment {
    fn parse(word: &str, text: &str) -> Option<Self> {
        let given = (text != "-").then(|| text.to_owned());
        Some(match word {
            "mapped" => Self::Mapped(text.to_owned()),
            "flag" => Self::Flag(given),
            "kubelet" => Self::Kubelet(given),
            "addon" => Self::Addon(text.to_owned()),
            "carried" => Self::Carried,
            "refused" => Self::Refused(text.to_owned()),
            "harmless" => Self::Harmless(text.to_owned()),
            "lost" => Self::Lost(text.to_owned()),
            _ => return None,
        })
    }

    /// Where it is honoured, or why it is not: a phrase for people. `path` is the field's own.
    #[must_use]
    pub fn explanation(&self, path: &str) -> String {
        let own = path.rsplit('.').next().unwrap_or(path).trim_end_matches("[]").trim_end_matches("{}");
        match self {
            Self::Mapped(place) if place == "-" => "says which document this is".to_owned(),
            Self::Mapped(place) => format!("becomes {place}"),
            Self::Flag(name) => {
                let name = name.clone().unwrap_or_else(|| crate::values::hyphenated(own));
                format!("becomes the flag --{name}")
            }
            Self::Kubelet(name) => {
                let name = name.as_deref().unwrap_or(own);
                format!("becomes {name} of KubeletConfiguration")
            }
            Self::Addon(name) => format!("becomes a setting of the add-on {name}"),
            Self::Carried => "becomes a setting of the provider".to_owned(),
            Self::Refused(why) | Self::Harmless(why) | Self::Lost(why) => why.clone(),
        }
    }

    /// The class it belongs to.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self {
            Self::Mapped(_) | Self::Flag(_) | Self::Kubelet(_) | Self::Addon(_) | Self::Carried => {
                Class::Honoured
            }
            Self::Refused(_) => Class::Refused,
            Self::Harmless(_) | Self::Lost(_) => Class::WithoutEffect,
        }
    }
}

/// The rules of all kinds.
#[derive(Debug, Clone)]
pub struct Rules {
    rules: BTreeMap<Kind, BTreeMap<String, Treatment>>,
}

impl Rules {
    /// The rules of `v1alpha2`.
    #[must_use]
    pub fn v1alpha2() -> Self {
        let mut rules: BTreeMap<Kind, BTreeMap<String, Treatment>> = BTreeMap::new();
        for (scopes, line) in sections(CLASSES) {
            let mut columns = line.splitn(3, '\t');
            let (Some(path), Some(word), Some(text)) = (columns.next(), columns.next(), columns.next())
            else {
                continue;
            };
            let Some(treatment) = Treatment::parse(word, text) else {
                continue;
            };
            for scope in scopes {
                let (kind, prefix) = scope.split_once(':').unwrap_or((scope, ""));
                let path = if prefix.is_empty() { path.to_owned() } else { format!("{prefix}.{path}") };
                if let Some(kind) = Kind::from_name(kind) {
                    rules.entry(kind).or_default().insert(path, treatment.clone());
                }
            }
        }
        Self { rules }
    }

    /// The rule for the field at a path such as `spec.subnets[].zone`, with the path that the rule is written for.
    #[must_use]
    pub fn find<'path>(&self, kind: Kind, path: &'path str) -> Option<(&'path str, &Treatment)> {
        let rules = self.rules.get(&kind)?;
        let mut rest = path;
        loop {
            if let Some(treatment) = rules.get(rest) {
                return Some((rest, treatment));
            }
            rest = match rest.strip_suffix("[]").or_else(|| rest.strip_suffix("{}")) {
                Some(shorter) => shorter,
                None => &rest[..rest.rfind('.')?],
            };
        }
    }

    /// How many of these leaf fields belong to each class.
    #[must_use]
    pub fn count(&self, kind: Kind, leaves: &[Leaf]) -> BTreeMap<Class, usize> {
        let mut counts = BTreeMap::new();
        for leaf in leaves {
            if let Some((_, treatment)) = self.find(kind, &leaf.path) {
                *counts.entry(treatment.class()).or_default() += 1;
            }
        }
        counts
    }

    /// Whether a path is below the path of a rule, or equal to it.
    #[must_use]
    pub fn is_below(path: &str, rule: &str) -> bool {
        let mut path = each_segment(path);
        each_segment(rule).all(|segment| path.next() == Some(segment))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fields::Table;

    #[test]
    fn every_line_is_a_rule_for_a_field_that_exists() {
        let table = Table::v1alpha2();
        let rules = Rules::v1alpha2();
        for (scopes, line) in sections(CLASSES) {
            let columns: Vec<_> = line.split('\t').collect();
            assert_eq!(columns.len(), 3, "{line}");
            assert!(Treatment::parse(columns[1], columns[2]).is_some(), "{line}");
            assert!(!scopes.is_empty(), "{line}");
        }
        let paths = |(kind, rules): (&Kind, &BTreeMap<String, Treatment>)| {
            rules.keys().map(|path| (*kind, path.clone())).collect::<Vec<_>>()
        };
        for (kind, path) in rules.rules.iter().flat_map(paths) {
            assert!(
                table.leaves(kind).iter().any(|leaf| Rules::is_below(&leaf.path, &path)),
                "{kind:?} {path}"
            );
        }
    }

    #[test]
    fn every_field_has_a_rule() {
        let table = Table::v1alpha2();
        let rules = Rules::v1alpha2();
        for kind in Kind::ALL {
            for leaf in table.leaves(kind) {
                assert!(rules.find(kind, &leaf.path).is_some(), "{kind:?} {}", leaf.path);
            }
            let counted: usize = rules.count(kind, table.leaves(kind)).values().sum();
            assert_eq!(counted, table.leaves(kind).len());
        }
    }

    #[test]
    fn the_longest_path_decides() {
        let rules = Rules::v1alpha2();
        let (path, treatment) = rules.find(Kind::Cluster, "spec.kubeAPIServer.image").unwrap();
        assert_eq!(path, "spec.kubeAPIServer.image");
        assert_eq!(*treatment, Treatment::Mapped("components.apiServer.image".to_owned()));
        let (path, _) = rules.find(Kind::Cluster, "spec.docker.packages.urlArm64").unwrap();
        assert_eq!(path, "spec.docker");
    }
}
