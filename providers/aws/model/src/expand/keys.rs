//! The keys of the cluster, which its control planes read from the state when they boot.

use slipway_bootstrap::from_cluster;
use slipway_resource::{Address, Path};

use super::build::Builder;
use super::inside::control_planes;
use super::key_service;

/// The attribute with the further reader of a secret of the state.
const SEALED_FOR: &str = "sealed_for";

/// The keys, before the groups of machines that read them.
pub(super) fn keys(builder: &mut Builder<'_>) {
    let readers = control_planes(builder);
    if readers.is_empty() {
        return;
    }
    let mut keys = from_cluster::keys(builder.cluster);
    let addresses: Vec<Address> = keys.iter().map(|key| key.address.clone()).collect();
    for reader in &readers {
        builder.depend(reader, &addresses);
    }
    if let Some(reader) = key_service::reader(builder, &readers) {
        for key in &mut keys {
            key.attributes.set(&Path::key(SEALED_FOR), reader.name.clone());
            if let Some(field) = reader.field {
                key.origins.insert(Path::key(SEALED_FOR), field.to_owned());
            }
        }
    }
    for key in keys {
        builder.add_other(key);
    }
}
