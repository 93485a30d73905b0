//! The division of the ranges of a cluster into ranges for the pods of nodes.
//!
//! The rules are those of the range allocator of `kube-controller-manager` 1.34 (`pkg/controller/nodeipam/ipam`).

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

use crate::cidr::overlap;

/// A range of the cluster, and the length of the masks of nodes in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Division {
    /// The range of the cluster.
    pub range: IpNet,
    /// The length of the masks.
    pub mask: u8,
}

/// The parts of the ranges of a cluster, of which some are taken.
///
/// Parts are given in their order, each after the last one that was given: a part that is free again is given late.
#[derive(Clone, Debug)]
pub struct Allocator {
    sets: Vec<Set>,
}

#[derive(Clone, Debug)]
struct Set {
    division: Division,
    taken: BTreeSet<u32>,
    next: u32,
}

impl Allocator {
    /// Everything is free.
    #[must_use]
    pub fn new(divisions: &[Division]) -> Self {
        let set = |division: &Division| Set { division: *division, taken: BTreeSet::new(), next: 0 };
        Self { sets: divisions.iter().map(set).collect() }
    }

    /// Takes exactly the parts that overlap one of these ranges. All others are free.
    pub fn occupy(&mut self, ranges: &[IpNet]) {
        for set in &mut self.sets {
            set.taken = ranges.iter().flat_map(|range| set.division.parts_of(*range)).collect();
        }
    }

    /// Takes a free part of each range, in the order of the ranges; `None` if one of them has no free part. Nothing is taken then.
    pub fn allocate(&mut self) -> Option<Vec<IpNet>> {
        let found: Vec<u32> = self.sets.iter().map(Set::free).collect::<Option<_>>()?;
        let parts = self.sets.iter_mut().zip(found).map(|(set, index)| {
            set.taken.insert(index);
            set.next = (index + 1) % set.division.count();
            set.division.part(index)
        });
        parts.collect()
    }
}

impl Set {
    fn free(&self) -> Option<u32> {
        let count = self.division.count();
        (0..count).map(|step| (self.next + step) % count).find(|index| !self.taken.contains(index))
    }
}

impl Division {
    /// The largest number of bits between the range and the masks.
    pub const BITS: u8 = 16;

    /// Whether the mask divides the range into at most 65536 parts.
    #[must_use]
    pub fn is_possible(self) -> bool {
        let prefix = self.range.prefix_len();
        prefix <= self.mask && self.mask <= self.range.max_prefix_len() && self.mask - prefix <= Self::BITS
    }

    /// The number of parts.
    fn count(self) -> u32 {
        1 << self.bits()
    }

    fn bits(self) -> u8 {
        self.mask.saturating_sub(self.range.prefix_len()).min(Self::BITS)
    }

    /// A part by its number.
    fn part(self, index: u32) -> Option<IpNet> {
        match self.range {
            IpNet::V4(range) => {
                let address =
                    u32::from(range.network()) | index.checked_shl(32 - u32::from(self.mask)).unwrap_or(0);
                Ipv4Net::new(Ipv4Addr::from(address), self.mask).ok().map(IpNet::V4)
            }
            IpNet::V6(range) => {
                let shift = 128 - u32::from(self.mask);
                let address = u128::from(range.network()) | u128::from(index).checked_shl(shift).unwrap_or(0);
                Ipv6Net::new(Ipv6Addr::from(address), self.mask).ok().map(IpNet::V6)
            }
        }
    }

    /// The numbers of the parts that overlap a range.
    fn parts_of(self, other: IpNet) -> std::ops::Range<u32> {
        if !overlap(self.range, other) {
            return 0..0;
        }
        if other.prefix_len() <= self.range.prefix_len() {
            return 0..self.count();
        }
        let first = match (self.range, other) {
            (IpNet::V4(_), IpNet::V4(other)) => {
                u32::from(other.network()).checked_shr(32 - u32::from(self.mask)).unwrap_or(0) % self.count()
            }
            (IpNet::V6(_), IpNet::V6(other)) => {
                let shift = 128 - u32::from(self.mask);
                let whole = u128::from(other.network()).checked_shr(shift).unwrap_or(0);
                u32::try_from(whole % u128::from(self.count())).unwrap_or(0)
            }
            _ => return 0..0,
        };
        let covered = 1_u32 << self.mask.saturating_sub(other.prefix_len()).min(self.bits());
        first..first + covered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn net(text: &str) -> IpNet {
        text.parse().unwrap()
    }

    fn division(range: &str, mask: u8) -> Division {
        Division { range: net(range), mask }
    }

    fn texts(parts: Option<Vec<IpNet>>) -> String {
        parts.map_or("none".to_owned(), |parts| {
            parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        })
    }

    #[test]
    fn parts_are_given_in_their_order_and_each_once() {
        let mut allocator = Allocator::new(&[division("10.0.0.0/22", 24), division("fd00:1::/62", 64)]);
        let mut taken = Vec::new();
        for expected in [
            "10.0.0.0/24 fd00:1::/64",
            "10.0.1.0/24 fd00:1:0:1::/64",
            "10.0.2.0/24 fd00:1:0:2::/64",
            "10.0.3.0/24 fd00:1:0:3::/64",
        ] {
            let parts = allocator.allocate();
            assert_eq!(texts(parts.clone()), expected);
            taken.extend(parts.unwrap());
        }
        assert_eq!(allocator.allocate(), None);
        // A part that is free again is found.
        taken.retain(|part| !part.to_string().ends_with("2.0/24") && !part.to_string().contains(":2::"));
        allocator.occupy(&taken);
        assert_eq!(texts(allocator.allocate()), "10.0.2.0/24 fd00:1:0:2::/64");
        assert_eq!(allocator.allocate(), None);
    }

    #[test]
    fn a_part_that_is_free_again_is_given_late() {
        let mut allocator = Allocator::new(&[division("10.0.0.0/22", 24)]);
        allocator.allocate();
        allocator.allocate();
        allocator.occupy(&[net("10.0.1.0/24")]);
        assert_eq!(texts(allocator.allocate()), "10.0.2.0/24");
        assert_eq!(texts(allocator.allocate()), "10.0.3.0/24");
        assert_eq!(texts(allocator.allocate()), "10.0.0.0/24");
    }

    #[test]
    fn everything_that_overlaps_a_range_is_taken() {
        let cases = [
            ("10.0.0.0/22", 24, "10.0.0.0/23", "10.0.2.0/24"),
            ("10.0.0.0/22", 24, "10.0.0.7/32", "10.0.1.0/24"),
            ("10.0.0.0/22", 24, "10.0.0.0/8", "none"),
            ("10.0.0.0/22", 24, "10.0.4.0/24", "10.0.0.0/24"),
            ("10.0.0.0/22", 24, "fd00::/64", "10.0.0.0/24"),
            ("10.0.0.0/22", 22, "10.0.1.0/24", "none"),
            ("fd00:1::/48", 64, "fd00:1::/52", "fd00:1:0:1000::/64"),
            ("0.0.0.0/0", 16, "0.0.0.0/1", "128.0.0.0/16"),
        ];
        for (range, mask, taken, expected) in cases {
            let mut allocator = Allocator::new(&[division(range, mask)]);
            allocator.occupy(&[net(taken)]);
            assert_eq!(texts(allocator.allocate()), expected, "{range} /{mask} without {taken}");
        }
    }

    #[test]
    fn a_mask_must_divide_the_range() {
        assert!(division("10.0.0.0/16", 24).is_possible());
        assert!(division("10.0.0.0/24", 24).is_possible());
        assert!(!division("10.0.0.0/24", 16).is_possible());
        assert!(!division("10.0.0.0/8", 33).is_possible());
        assert!(!division("fd00::/32", 64).is_possible());
    }
}
