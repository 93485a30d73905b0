//! The table of every field of a kOps document, from `fields/*.tsv`: the allowed fields and their types.

use std::collections::BTreeMap;

mod kind;

pub use kind::Type;

/// The leaf fields of kOps' own definitions.
const V1ALPHA2: &str = include_str!("fields/v1alpha2.tsv");
/// Those of the version that kOps converts them to.
const V1ALPHA3: &str = include_str!("fields/v1alpha3.tsv");
/// Fields that kOps reads and its definitions do not list.
const BESIDE: &str = include_str!("fields/beside.tsv");
/// The same for `v1alpha3`.
const BESIDE_V1ALPHA3: &str = include_str!("fields/beside-v1alpha3.tsv");

/// A kind of kOps document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A cluster.
    Cluster,
    /// A group of machines.
    InstanceGroup,
    /// A public key that opens the machines.
    SshCredential,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Cluster, Self::InstanceGroup, Self::SshCredential];

    /// The name in documents.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cluster => "Cluster",
            Self::InstanceGroup => "InstanceGroup",
            Self::SshCredential => "SSHCredential",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A leaf field: a path such as `spec.subnets[].zone`, and its type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leaf {
    /// The path; `[]` means an item of a list, `{}` a value of a map.
    pub path: String,
    /// The type.
    pub kind: Type,
}

/// The allowed values at one place of a document.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// A value of this type.
    Leaf(Type),
    /// A mapping with these fields.
    Fields(BTreeMap<String, Shape>),
    /// A list of these.
    List(Box<Shape>),
    /// A mapping with names of the user's choice.
    Map(Box<Shape>),
}

/// The fields of all kinds.
#[derive(Debug, Clone)]
pub struct Table {
    leaves: BTreeMap<Kind, Vec<Leaf>>,
    shapes: BTreeMap<Kind, Shape>,
}

impl Table {
    /// The table of `v1alpha2`.
    #[must_use]
    pub fn v1alpha2() -> Self {
        Self::of(&[V1ALPHA2, BESIDE])
    }

    /// The table of `v1alpha3`.
    #[must_use]
    pub fn v1alpha3() -> Self {
        Self::of(&[V1ALPHA3, BESIDE, BESIDE_V1ALPHA3])
    }

    fn of(texts: &[&str]) -> Self {
        let mut leaves: BTreeMap<Kind, Vec<Leaf>> = BTreeMap::new();
        for text in texts {
            for (kinds, line) in sections(text) {
                let Some((path, kind)) = line.split_once('\t') else {
                    continue;
                };
                for kind_of_document in kinds.iter().copied().filter_map(Kind::from_name) {
                    leaves
                        .entry(kind_of_document)
                        .or_default()
                        .push(Leaf { path: path.to_owned(), kind: Type::from_name(kind) });
                }
            }
        }
        let shapes = leaves
            .iter()
            .map(|(kind, leaves)| {
                let mut shape = Shape::Fields(BTreeMap::new());
                for leaf in leaves {
                    shape.add(&segments(&leaf.path), leaf.kind);
                }
                (*kind, shape)
            })
            .collect();
        Self { leaves, shapes }
    }

    /// The leaf fields of a kind, in the order of the table.
    #[must_use]
    pub fn leaves(&self, kind: Kind) -> &[Leaf] {
        self.leaves.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// The shape of a document of a kind.
    #[must_use]
    pub fn shape(&self, kind: Kind) -> Option<&Shape> {
        self.shapes.get(&kind)
    }

    /// Where else a kind has a field of this name, when there is exactly one such place.
    #[must_use]
    pub fn place_of(&self, kind: Kind, name: &str) -> Option<&str> {
        // Most paths do not contain the name at all, which is found out faster than their segments are.
        let with_name = self.leaves(kind).iter().filter(|leaf| leaf.path.contains(name));
        let mut found = with_name.filter_map(|leaf| {
            let end = segments(&leaf.path)
                .iter()
                .scan(0, |end, segment| {
                    *end = leaf.path[*end..].find(segment).map_or(*end, |at| *end + at + segment.len());
                    Some((*segment, *end))
                })
                .find(|(segment, _)| *segment == name)
                .map(|(_, end)| end)?;
            leaf.path.get(..end)
        });
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }
}

impl Shape {
    fn add(&mut self, path: &[&str], kind: Type) {
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let below = || match rest.first() {
            None => Self::Leaf(kind),
            Some(&"[]") => Self::List(Box::new(empty(&rest[1..], kind))),
            Some(&"{}") => Self::Map(Box::new(empty(&rest[1..], kind))),
            Some(_) => Self::Fields(BTreeMap::new()),
        };
        match self {
            Self::Fields(fields) => fields.entry((*first).to_owned()).or_insert_with(below).add(rest, kind),
            Self::List(inner) | Self::Map(inner) => inner.add(rest, kind),
            Self::Leaf(_) => {}
        }
    }
}

fn empty(rest: &[&str], kind: Type) -> Shape {
    if rest.is_empty() { Shape::Leaf(kind) } else { Shape::Fields(BTreeMap::new()) }
}

/// The parts of a path: names, `[]` and `{}`.
pub(crate) fn segments(path: &str) -> Vec<&str> {
    each_segment(path).collect()
}

/// The same, one after the other.
pub(crate) fn each_segment(path: &str) -> impl Iterator<Item = &str> {
    path.split('.').flat_map(|part| {
        let marked = |mark: &'static str| part.strip_suffix(mark).map(|name| (name, Some(mark)));
        let (name, mark) = marked("[]").or_else(|| marked("{}")).unwrap_or((part, None));
        std::iter::once(name).chain(mark)
    })
}

/// The lines of a table, each with the words of the `@` heading above it; comments and empty lines left out.
pub(crate) fn sections(text: &str) -> impl Iterator<Item = (Vec<&str>, &str)> {
    let mut heading = Vec::new();
    text.lines().filter_map(move |line| {
        if let Some(words) = line.strip_prefix('@') {
            heading = words.split_whitespace().collect();
            return None;
        }
        (!line.is_empty() && !line.starts_with('#')).then(|| (heading.clone(), line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_line() {
        let table = Table::v1alpha2();
        assert_eq!(table.leaves(Kind::Cluster).len(), 1158 + 18 + 11);
        assert_eq!(table.leaves(Kind::InstanceGroup).len(), 229 + 18);
        for kind in Kind::ALL {
            for leaf in table.leaves(kind) {
                assert_ne!(leaf.kind, Type::Unknown, "{}", leaf.path);
            }
        }
    }

    #[test]
    fn keeps_the_shape_of_lists_and_maps() {
        let table = Table::v1alpha2();
        let Some(Shape::Fields(root)) = table.shape(Kind::Cluster) else {
            panic!("a cluster is a mapping");
        };
        let Some(Shape::Fields(spec)) = root.get("spec") else {
            panic!("spec is a mapping");
        };
        let Some(Shape::List(subnet)) = spec.get("subnets") else {
            panic!("subnets are a list");
        };
        assert!(matches!(&**subnet, Shape::Fields(fields) if fields.contains_key("zone")));
        let Some(Shape::Fields(containerd)) = spec.get("containerd") else {
            panic!("containerd is a mapping");
        };
        assert_eq!(
            containerd.get("configAdditions"),
            Some(&Shape::Map(Box::new(Shape::Leaf(Type::IntOrString))))
        );
    }

    #[test]
    fn finds_a_field_that_stands_elsewhere() {
        let table = Table::v1alpha2();
        assert_eq!(
            table.place_of(Kind::Cluster, "crossZoneLoadBalancing"),
            Some("spec.api.loadBalancer.crossZoneLoadBalancing")
        );
        assert_eq!(table.place_of(Kind::Cluster, "cpuRequest"), None);
    }
}
