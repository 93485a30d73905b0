//! The keys of the cluster, which its control planes read from the state when they boot.

use slipway_bootstrap::from_cluster;
use slipway_resource::Address;

use super::build::Builder;
use super::inside::control_planes;

/// The keys, before the groups of machines that read them.
pub(super) fn keys(builder: &mut Builder<'_>) {
    let readers = control_planes(builder);
    if readers.is_empty() {
        return;
    }
    let keys = from_cluster::keys(builder.cluster);
    let addresses: Vec<Address> = keys.iter().map(|key| key.address.clone()).collect();
    for reader in &readers {
        builder.depend(reader, &addresses);
    }
    for key in keys {
        builder.add_other(key);
    }
}
