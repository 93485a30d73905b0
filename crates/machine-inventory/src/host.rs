//! The state of a host, as its labels and its specification have it.

use slipway_controller::kube::ResourceExt as _;

use crate::api::{ElementalHost, HostAddress, Phase};
use crate::labels::{BOOTSTRAPPED, INSTALLED, NEEDS_RESET, is_set};

impl ElementalHost {
    /// Whether the host is about to leave: it is deleted, or it must be reset.
    #[must_use]
    pub fn is_leaving(&self) -> bool {
        self.metadata.deletion_timestamp.is_some() || is_set(&self.metadata, NEEDS_RESET)
    }

    /// Whether a machine can claim the host: it is installed, it stays, and no machine has claimed it.
    #[must_use]
    pub fn is_free(&self) -> bool {
        is_set(&self.metadata, INSTALLED)
            && !self.is_leaving()
            && self.spec.machine_ref.is_none()
            && !self.is_bootstrapped()
    }

    /// Whether the bootstrap data has run.
    #[must_use]
    pub fn is_bootstrapped(&self) -> bool {
        is_set(&self.metadata, BOOTSTRAPPED)
    }

    /// Whether the machine with this UID has claimed the host.
    #[must_use]
    pub fn is_claimed_by(&self, uid: &str) -> bool {
        !uid.is_empty() && self.claimer() == Some(uid)
    }

    /// The UID of the machine that has claimed the host.
    #[must_use]
    pub fn claimer(&self) -> Option<&str> {
        self.spec.machine_ref.as_ref().and_then(|machine| machine.uid.as_deref())
    }

    /// The UID of the cluster whose endpoint is reserved on the host.
    #[must_use]
    pub fn reserved_for(&self) -> Option<&str> {
        self.spec.endpoint_reservation.as_ref().map(|reservation| reservation.uid.as_str())
    }

    /// The addresses that the agent has reported.
    #[must_use]
    pub fn addresses(&self) -> &[HostAddress] {
        self.status.as_ref().map(|status| status.addresses.as_slice()).unwrap_or_default()
    }

    /// The last phase that the agent has reported.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.status.as_ref().and_then(|status| status.phase)
    }

    /// The provider id of the Node on the host.
    #[must_use]
    pub fn provider_id(&self) -> String {
        format!("elemental://{}/{}", self.namespace().unwrap_or_default(), self.name_any())
    }
}
