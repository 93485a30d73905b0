use std::{fmt, net::IpAddr, ops::Deref, str::FromStr};

use ipnet::IpNet;

use super::{Format, Malformed, format::string_value};

/// An address range in CIDR notation (RFC 4632, RFC 4291): the address bits behind the prefix are all zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cidr(IpNet);

impl Cidr {
    /// The range that holds `net`'s address with its prefix; bits behind the prefix are cleared.
    #[must_use]
    pub fn new(net: IpNet) -> Self {
        Self(net.trunc())
    }

    /// The range as the `ipnet` type.
    #[must_use]
    pub const fn net(&self) -> IpNet {
        self.0
    }

    /// Whether the range is IPv6.
    #[must_use]
    pub const fn is_ipv6(&self) -> bool {
        matches!(self.0, IpNet::V6(_))
    }

    /// Whether the two ranges share an address.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        self.0.contains(&other.0) || other.0.contains(&self.0)
    }

    /// Whether every address of `other` is in this range.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        self.0.contains(&other.0)
    }

    /// The `index`-th address of the range, counted from its first; `None` when it is outside.
    #[must_use]
    pub fn address(&self, index: u32) -> Option<IpAddr> {
        let address = match self.0.network() {
            IpAddr::V4(first) => IpAddr::V4(u32::from(first).checked_add(index)?.into()),
            IpAddr::V6(first) => IpAddr::V6(u128::from(first).checked_add(u128::from(index))?.into()),
        };
        self.0.contains(&address).then_some(address)
    }
}

impl Deref for Cidr {
    type Target = IpNet;

    fn deref(&self) -> &IpNet {
        &self.0
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl FromStr for Cidr {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let Some((address, prefix)) = text.split_once('/') else {
            return Err(match text.parse::<IpAddr>() {
                Ok(IpAddr::V4(address)) if address.octets()[3] == 0 => Malformed::new(
                    "has no prefix length",
                    format!("add the length of the network's prefix, as in {text}/16"),
                ),
                Ok(IpAddr::V4(_)) => {
                    Malformed::new("has no prefix length", format!("for this one address write {text}/32"))
                }
                Ok(IpAddr::V6(_)) => {
                    Malformed::new("has no prefix length", format!("for this one address write {text}/128"))
                }
                Err(_) => Malformed::new(
                    "is not an address range",
                    "write an address and a prefix length, as in 10.0.0.0/16 or fd00:10::/56",
                ),
            });
        };
        let address = address.parse::<IpAddr>().map_err(|_| {
            Malformed::new(
                format!("is not an address range: {address:?} is not an IP address"),
                "an IPv4 address is four numbers of 0 to 255, as in 10.0.0.0/16; an IPv6 address is as in fd00:10::/56",
            )
        })?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        let net = prefix.parse::<u8>().ok().and_then(|prefix| IpNet::new(address, prefix).ok()).ok_or_else(
            || {
                Malformed::new(
                    format!("has no valid prefix length: {prefix:?}"),
                    format!(
                        "the prefix length is a number of 0 to {longest}, as in {address}/{}",
                        longest / 2
                    ),
                )
            },
        )?;
        if net.trunc() == net {
            Ok(Self(net))
        } else {
            Err(Malformed::new("has bits set behind its prefix", format!("did you mean {}?", net.trunc())))
        }
    }
}

string_value!(Cidr, Format::Cidr, "Cidr", "An address range in CIDR notation.");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_families_and_prints_them_back() {
        for text in ["10.0.0.0/16", "0.0.0.0/0", "fd00:10::/56"] {
            assert_eq!(text.parse::<Cidr>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn says_what_is_wrong() {
        let hint = |text: &str| text.parse::<Cidr>().unwrap_err().hint;
        assert_eq!(hint("10.0.1.0/16"), "did you mean 10.0.0.0/16?");
        assert_eq!(hint("10.0.0.1"), "for this one address write 10.0.0.1/32");
        assert!(hint("10.0.0.0/33").contains("0 to 32"));
        assert!(hint("10.0.0.256/16").contains("0 to 255"));
    }

    #[test]
    fn counts_addresses() {
        let range: Cidr = "100.64.0.0/30".parse().unwrap();
        assert_eq!(range.address(3).unwrap().to_string(), "100.64.0.3");
        assert_eq!(range.address(4), None);
    }
}
