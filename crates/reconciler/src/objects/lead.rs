//! The replica that serves `PlanRequest` objects: the holder of a Lease.

use slipway_controller::{Election, Leader, Terms};
use slipway_state_store::Digest;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::connection::Connection;
use super::requests;

/// The name of the Lease of a controller.
pub(crate) fn lease_name(controller: &str) -> String {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if controller.bytes().all(allowed) && !controller.ends_with('-') {
        return format!("slipway-controller-{controller}");
    }
    let digest = Digest::of(controller.as_bytes()).to_hex();
    format!("slipway-controller-{}", digest.get(..16).unwrap_or_default())
}

/// Serves requests whenever this replica holds the Lease, until the stop.
pub(super) async fn run(connection: &Connection, stop: &CancellationToken) {
    let election = Election {
        namespace: connection.namespace.clone(),
        name: lease_name(&connection.shared.configuration.name),
        identity: connection.replica.clone(),
        terms: Terms::default(),
    };
    while !stop.is_cancelled() {
        let work = |leader: Leader| requests::serve(connection, leader);
        if let Err(error) = election.lead(&connection.client, stop, work).await {
            tracing::warn!(%error, "another replica serves PlanRequests now");
            tokio::select! {
                () = stop.cancelled() => {}
                () = sleep(connection.shared.configuration.retry.first) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_lease_is_one_that_the_api_accepts() {
        assert_eq!(lease_name("default"), "slipway-controller-default");
        let odd = [lease_name("Platform_1"), lease_name("platform_1"), lease_name("a-")];
        assert!(odd[0] != odd[1] && odd.iter().all(|name| name.len() == 35), "{odd:?}");
    }
}
