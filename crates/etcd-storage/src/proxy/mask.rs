//! The ids of leases, inside and outside.

/// Maps the lease ids that a tenant sees to those of the core and back.
///
/// A tenant may choose the ids of its leases. Without a mask, two tenants that choose the same id would meet, and one of
/// them would learn that the other has it. The mask is a secret of the tenant's proxies. It is kept in the core, so that
/// all replicas have the same, and leases outlive a proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask(i64);

impl Mask {
    /// A mask of this number. The sign of an id does not change: etcd gives out positive ids.
    pub const fn new(number: i64) -> Self {
        Self(number & i64::MAX)
    }

    /// The id on the other side. The map is its own inverse. Zero, which means "no lease", stays zero.
    pub const fn swap(self, id: i64) -> i64 {
        if id == 0 || id == self.0 { id } else { id ^ self.0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn ids_come_back_and_keep_their_sign(number: i64, id: i64) {
            let mask = Mask::new(number);
            prop_assert_eq!(mask.swap(mask.swap(id)), id);
            prop_assert_eq!(mask.swap(id).signum(), id.signum());
        }
    }

    #[test]
    fn an_id_that_equals_the_mask_does_not_become_no_lease() {
        assert_eq!(Mask::new(7).swap(7), 7);
        assert_eq!(Mask::new(7).swap(0), 0);
        assert_eq!(Mask::new(7).swap(-7).signum(), -1);
    }
}
