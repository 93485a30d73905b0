use std::{fmt, str::FromStr};

use super::{Format, Malformed, format::string_value};

/// A range of ports with both ends included, as in `30000-32767`; one port is a range of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortRange {
    first: u16,
    last: u16,
}

impl PortRange {
    /// The range of `first` to `last`, both included; `None` when it would be empty.
    #[must_use]
    pub const fn new(first: u16, last: u16) -> Option<Self> {
        if first <= last { Some(Self { first, last }) } else { None }
    }

    /// The range of the Kubernetes default for NodePort services, 30000-32767.
    #[must_use]
    pub const fn node_ports() -> Self {
        Self { first: 30000, last: 32767 }
    }

    /// The lowest port.
    #[must_use]
    pub const fn first(self) -> u16 {
        self.first
    }

    /// The highest port.
    #[must_use]
    pub const fn last(self) -> u16 {
        self.last
    }
}

impl fmt::Display for PortRange {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}-{}", self.first, self.last)
    }
}

impl FromStr for PortRange {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let how = "write two ports of 1 to 65535 with a hyphen, as in 30000-32767";
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (Ok(first), Ok(last)) = (first.trim().parse::<u16>(), last.trim().parse::<u16>()) else {
            return Err(Malformed::new("is not a range of ports", how));
        };
        if first == 0 {
            return Err(Malformed::new("begins at port 0", how));
        }
        Self::new(first, last)
            .ok_or_else(|| Malformed::new("ends before it begins", format!("did you mean {last}-{first}?")))
    }
}

string_value!(PortRange, Format::PortRange, "PortRange", "A range of ports, both ends included.");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_ranges_and_single_ports() {
        assert_eq!("30000-32767".parse::<PortRange>().unwrap(), PortRange::node_ports());
        assert_eq!("443".parse::<PortRange>().unwrap().to_string(), "443-443");
        assert_eq!("9-5".parse::<PortRange>().unwrap_err().hint, "did you mean 5-9?");
        assert!("0-5".parse::<PortRange>().is_err());
        assert!("5-70000".parse::<PortRange>().is_err());
    }
}
