//! Parts of an address range of another resource.

use super::{Reference, TemplatePart, Value};

/// One of the equal parts of another resource's range, known as soon as that range is.
///
/// As a value it is a template: the range, then `+8#3` for the fourth of the parts whose prefixes are eight
/// bits longer. A provider computes the part when it reads that text. In Terraform's language it is
/// `cidrsubnet(range, 8, 3)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangePart {
    /// The range.
    pub range: Reference,
    /// The additional prefix bits of a part.
    pub bits: u8,
    /// The number of the part, counted from 0.
    pub number: u64,
}

impl RangePart {
    /// The part of a template; `None` for any other text.
    #[must_use]
    pub fn of(parts: &[TemplatePart]) -> Option<Self> {
        let [TemplatePart::Reference(range), TemplatePart::Text(text)] = parts else { return None };
        let (bits, number) = Self::suffix(text)?;
        Some(Self { range: range.clone(), bits, number })
    }

    /// Splits a text into a range and the bits and number of its part.
    #[must_use]
    pub fn split(text: &str) -> Option<(&str, u8, u64)> {
        let at = text.find('+')?;
        let (bits, number) = Self::suffix(text.get(at..)?)?;
        Some((text.get(..at)?, bits, number))
    }

    fn suffix(text: &str) -> Option<(u8, u64)> {
        let (bits, number) = text.strip_prefix('+')?.split_once('#')?;
        Some((bits.parse().ok()?, number.parse().ok()?))
    }
}

impl From<RangePart> for Value {
    fn from(part: RangePart) -> Self {
        let text = format!("+{}#{}", part.bits, part.number);
        Self::Template(vec![TemplatePart::Reference(part.range), TemplatePart::Text(text)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Address, Path};

    #[test]
    fn a_part_is_a_template_and_found_in_it() {
        let range = Reference { address: Address::new("aws_vpc", "a"), path: Path::key("ipv6_cidr_block") };
        let part = RangePart { range, bits: 8, number: 3 };
        let Value::Template(parts) = Value::from(part.clone()) else { panic!("no template") };
        assert_eq!(RangePart::of(&parts), Some(part));
        let resolved = Value::Template(parts).resolve(&mut |_| Value::from("2600:db8::/56"));
        assert_eq!(RangePart::split(resolved.as_str().unwrap()), Some(("2600:db8::/56", 8, 3)));
        for other in ["2600:db8::/56", "a+b#c", "+8"] {
            assert_eq!(RangePart::split(other), None, "{other}");
        }
    }
}
