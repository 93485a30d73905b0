use std::{fmt, str::FromStr};

use super::{Cidr, Format, Malformed, format::string_value};

/// A source of traffic to a port: a range of addresses, or a prefix list in the cloud (`pl-…`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccessSource {
    /// All addresses of a range.
    Cidr(Cidr),
    /// All addresses of a list that the cloud keeps under this id.
    PrefixList(String),
}

impl fmt::Display for AccessSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cidr(range) => range.fmt(formatter),
            Self::PrefixList(id) => formatter.write_str(id),
        }
    }
}

impl FromStr for AccessSource {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        match text.strip_prefix("pl-") {
            Some(id) if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric()) => {
                Ok(Self::PrefixList(text.to_owned()))
            }
            Some(_) => Err(Malformed::new(
                "is not a prefix list",
                "a prefix list is pl- with letters and digits, as in pl-0f1e2d3c",
            )),
            None => text.parse().map(Self::Cidr),
        }
    }
}

string_value!(
    AccessSource,
    Format::AccessSource,
    "AccessSource",
    "An address range in CIDR notation, or the id of a prefix list (pl-…)."
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_ranges_from_lists() {
        assert!(matches!("0.0.0.0/0".parse(), Ok(AccessSource::Cidr(_))));
        assert!(matches!("pl-0f1e2d3c".parse(), Ok(AccessSource::PrefixList(_))));
        assert!("pl-".parse::<AccessSource>().is_err());
        assert!("office".parse::<AccessSource>().is_err());
    }
}
