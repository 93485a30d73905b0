use serde_json::{Map, Value};

use super::{Error, Kubeconfig, Result};

const LISTS: [(&str, &str); 3] = [("clusters", "cluster"), ("users", "user"), ("contexts", "context")];

/// A user's kubeconfig with another merged into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    /// The whole.
    pub kubeconfig: Kubeconfig,
    /// Existing names that have another meaning now, each with its kind.
    pub replaced: Vec<(&'static str, String)>,
}

impl Kubeconfig {
    /// A user's file with everything of this one in it: entries of the same name are replaced in their place, others
    /// come to the end, and whatever else the file holds stays. The current context becomes this one's when
    /// `make_current` is set, or when the file had none.
    ///
    /// # Errors
    /// [`Error::Taken`] when a cluster of the same name leads elsewhere and `replace` is not set.
    pub fn merged_over(&self, file: &Self, make_current: bool, replace: bool) -> Result<Merged> {
        let mut root = file.root.clone();
        let mut replaced = Vec::new();
        let mut taken = Vec::new();
        for (list, kind) in LISTS {
            let mut entries = file.entries(list).to_vec();
            for entry in self.entries(list) {
                let name = entry.get("name").and_then(Value::as_str).unwrap_or_default();
                let place = entries.iter().position(|other| other.get("name") == entry.get("name"));
                let Some(place) = place else {
                    entries.push(entry.clone());
                    continue;
                };
                if let Some(other) = entries.get_mut(place)
                    && other != entry
                {
                    if list == "clusters" && is_other_cluster(other, entry) {
                        taken.push(name.to_owned());
                    }
                    replaced.push((kind, name.to_owned()));
                    *other = entry.clone();
                }
            }
            root.insert(list.to_owned(), Value::Array(entries));
        }
        if !taken.is_empty() && !replace {
            return Err(Error::Taken { kind: "cluster", names: taken });
        }
        if make_current || file.current_context().is_empty() {
            root.insert("current-context".to_owned(), self.current_context().into());
        }
        insert_missing(&mut root, "apiVersion", "v1");
        insert_missing(&mut root, "kind", "Config");
        Ok(Merged { kubeconfig: Self { root }, replaced })
    }

    /// A user's file without the clusters, users and contexts of this one, as far as they are unchanged. If
    /// the current context is removed, there is none.
    #[must_use]
    pub fn removed_from(&self, file: &Self) -> Self {
        let mut root = file.root.clone();
        for (list, _) in LISTS {
            let own = self.entries(list);
            let rest: Vec<Value> = file
                .entries(list)
                .iter()
                .filter(|entry| !own.iter().any(|own| same(own, entry)))
                .cloned()
                .collect();
            root.insert(list.to_owned(), Value::Array(rest));
        }
        let removed = Self { root };
        if removed.entry("contexts", removed.current_context()).is_some() {
            return removed;
        }
        let mut root = removed.root;
        root.insert("current-context".to_owned(), "".into());
        Self { root }
    }

    /// Whether a user's file has no cluster but the one of this kubeconfig.
    #[must_use]
    pub fn is_only_cluster_of(&self, file: &Self) -> bool {
        self.removed_from(file).entries("clusters").is_empty()
    }

    /// A file with nothing in it, to merge into.
    #[must_use]
    pub fn empty() -> Self {
        Self { root: Map::new() }
    }
}

/// Whether two entries of one name are of the same thing: users' credentials may have been renewed since.
fn same(own: &Value, other: &Value) -> bool {
    own.get("name") == other.get("name") && (own.get("cluster").is_none() || !is_other_cluster(own, other))
}

fn is_other_cluster(one: &Value, other: &Value) -> bool {
    let field =
        |entry: &Value, name: &str| entry.get("cluster").and_then(|cluster| cluster.get(name)).cloned();
    let authority = "certificate-authority-data";
    field(one, authority) != field(other, authority) && field(one, "server") != field(other, "server")
}

fn insert_missing(root: &mut Map<String, Value>, name: &str, value: &str) {
    if !root.contains_key(name) {
        root.insert(name.to_owned(), value.into());
    }
}
