use super::*;
use crate::fields::Type;

/// Whether a path of `v1alpha2` is a field, or holds fields.
fn exists(table: &Table, kind: Kind, path: &str) -> bool {
    table.leaves(kind).iter().any(|leaf| segments(&leaf.path).starts_with(&segments(path)))
}

#[test]
fn every_move_begins_and_ends_at_fields() {
    let (new, old) = (Table::v1alpha3(), Table::v1alpha2());
    for (kind, moves) in &Moves::default().moves {
        for (from, target) in moves {
            assert!(exists(&new, *kind, from), "{from}");
            if let Target::Path(to, _) = target {
                assert!(exists(&old, *kind, to), "{to}");
            }
        }
    }
}

#[test]
fn every_field_of_v1alpha3_has_its_place() {
    let (new, old) = (Table::v1alpha3(), Table::v1alpha2());
    let moves = Moves::default();
    for kind in [Kind::Cluster, Kind::InstanceGroup] {
        for leaf in new.leaves(kind) {
            let (to, change) = match moves.find(kind, &leaf.path) {
                None => (leaf.path.clone(), Change::None),
                Some((_, Target::Nowhere(_))) => continue,
                Some((covered, Target::Path(to, change))) => {
                    (format!("{to}{}", &leaf.path[covered.len()..]), *change)
                }
            };
            let found = old.leaves(kind).iter().find(|other| other.path.eq_ignore_ascii_case(&to));
            let Some(found) = found else { panic!("{} stands nowhere", leaf.path) };
            let fits = match change {
                Change::None | Change::Not => {
                    let names_provider =
                        leaf.path.starts_with("spec.cloudProvider.") && leaf.kind == Type::Object;
                    let integers = matches!((leaf.kind, found.kind), (Type::Integer(..), Type::Integer(..)));
                    found.kind == leaf.kind || integers || names_provider
                }
                Change::First => (leaf.kind, found.kind) == (Type::Texts, Type::Text),
                Change::Pairs => (leaf.kind, found.kind) == (Type::TextMap, Type::Texts),
            };
            assert!(fits, "{}: {:?} becomes {:?}", leaf.path, leaf.kind, found.kind);
        }
    }
}
