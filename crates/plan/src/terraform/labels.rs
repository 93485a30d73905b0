//! Names of resources that Terraform allows.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::{Address, Desired};

/// The label of each address: its name, with what no label may have replaced.
pub(super) struct Labels {
    labels: BTreeMap<Address, String>,
}

impl Labels {
    /// Labels of all resources; two names that would become the same one get a number.
    pub fn new(desired: &[Desired]) -> Self {
        let mut addresses: Vec<&Address> = desired.iter().map(|desired| &desired.address).collect();
        addresses.sort();
        let mut taken: BTreeSet<(String, String)> = BTreeSet::new();
        let mut labels = BTreeMap::new();
        for address in addresses {
            let plain = plain(address.name());
            let mut label = plain.clone();
            let mut number = 1;
            while !taken.insert((address.kind().to_owned(), label.clone())) {
                number += 1;
                label = format!("{plain}-{number}");
            }
            labels.insert(address.clone(), label);
        }
        Self { labels }
    }

    /// The label of an address, also of one that is not among the resources.
    pub fn of(&self, address: &Address) -> String {
        self.labels.get(address).cloned().unwrap_or_else(|| plain(address.name()))
    }
}

/// Letters, digits, `_` and `-`, not beginning with a digit or `-`.
pub(super) fn plain(name: &str) -> String {
    let mut label: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' })
        .collect();
    if !label.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        label.insert(0, '_');
    }
    label
}
