//! Address ranges of a cluster in flags.

use ipnet::IpNet;

/// A flag with address ranges that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// A range cannot be read.
    #[error("{flag}: `{text}` is not an address range such as 10.244.0.0/16")]
    Malformed {
        /// The flag.
        flag: &'static str,
        /// The text.
        text: String,
    },
    /// There are more than two ranges, or two of one family.
    #[error("{0}: one range, or two of which one is IPv4 and the other IPv6")]
    Families(&'static str),
    /// A flag needs ranges, and there are none.
    #[error("{needs} needs --cluster-cidr")]
    Missing {
        /// The flag that needs it.
        needs: &'static str,
    },
    /// The mask does not divide the range.
    #[error("{flag}: /{mask} does not divide {range} into at most 65536 parts")]
    Mask {
        /// The flag.
        flag: &'static str,
        /// The length of the mask.
        mask: u8,
        /// The range.
        range: IpNet,
    },
    /// The flag is for clusters of another kind.
    #[error("{flag} has no meaning with the families of --cluster-cidr: {instead}")]
    Flag {
        /// The flag.
        flag: &'static str,
        /// What to use instead.
        instead: &'static str,
    },
}

/// Reads ranges that are divided by commas: none, one, or one of each family.
///
/// # Errors
/// When a range cannot be read, or there are too many.
pub fn ranges(flag: &'static str, text: &str) -> Result<Vec<IpNet>, RangeError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let parse = |part: &str| {
        let malformed = || RangeError::Malformed { flag, text: part.to_owned() };
        part.parse::<IpNet>().map(|range| range.trunc()).map_err(|_| malformed())
    };
    let ranges: Vec<IpNet> = parts.map(parse).collect::<Result<_, _>>()?;
    match ranges.as_slice() {
        [] | [_] | [IpNet::V4(_), IpNet::V6(_)] | [IpNet::V6(_), IpNet::V4(_)] => Ok(ranges),
        _ => Err(RangeError::Families(flag)),
    }
}

/// Whether two ranges have an address in common.
#[must_use]
pub fn overlap(left: IpNet, right: IpNet) -> bool {
    left.contains(&right) || right.contains(&left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_one_range_of_each_family_at_most() {
        let read = |text| ranges("--cluster-cidr", text).map(|ranges| ranges.len());
        assert_eq!(read(""), Ok(0));
        assert_eq!(read("10.244.0.0/16"), Ok(1));
        assert_eq!(read("fd00::/48, 10.244.0.0/16"), Ok(2));
        read("10.244.0.0/16,10.245.0.0/16").unwrap_err();
        read("10.244.0.0/16,fd00::/48,10.245.0.0/16").unwrap_err();
        read("10.244.0.0").unwrap_err();
        assert_eq!(ranges("--cluster-cidr", "10.244.7.1/16").unwrap()[0].to_string(), "10.244.0.0/16");
    }
}
