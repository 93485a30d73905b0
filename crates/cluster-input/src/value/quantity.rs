use std::{fmt, str::FromStr};

use super::{Format, Malformed, format::string_value};

/// A Kubernetes resource quantity, as in `500m`, `2` or `4Gi`; kept as written.
///
/// The form is that of `k8s.io/apimachinery/pkg/api/resource`: a decimal number and a suffix of `m`, `k`, `M`, `G`,
/// `T`, `P`, `E` or `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity(String);

const SUFFIXES: [(&str, f64); 14] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("Ei", 1_152_921_504_606_846_976.0),
    ("m", 0.001),
    ("k", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
    ("E", 1e18),
    ("", 1.0),
];

impl Quantity {
    /// The quantity as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The quantity in base units (cores, bytes), with the precision of a double: for comparing, not for adding up.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        measure(&self.0).unwrap_or_default()
    }
}

fn measure(text: &str) -> Option<f64> {
    let (number, scale) =
        SUFFIXES.iter().find_map(|(suffix, scale)| Some((text.strip_suffix(suffix)?, *scale)))?;
    let plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if !plain || number.is_empty() {
        return None;
    }
    Some(number.parse::<f64>().ok()? * scale)
}

impl fmt::Display for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl FromStr for Quantity {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        if measure(text).is_some() {
            return Ok(Self(text.to_owned()));
        }
        let upper = text.trim_end_matches('B').trim();
        let hint = if upper != text && measure(upper).is_some() {
            format!("did you mean {upper}?")
        } else {
            "write a number with a suffix such as m, Mi or Gi, as in 500m or 2Gi".to_owned()
        };
        Err(Malformed::new("is not a Kubernetes quantity", hint))
    }
}

string_value!(Quantity, Format::Quantity, "Quantity", "A Kubernetes resource quantity.");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_kubernetes_reads() {
        for (text, value) in [("500m", 0.5), ("2", 2.0), ("1.5Gi", 1_610_612_736.0), ("1k", 1000.0)] {
            assert!((text.parse::<Quantity>().unwrap().to_f64() - value).abs() < f64::EPSILON, "{text}");
        }
    }

    #[test]
    fn refuses_with_a_way_out() {
        assert_eq!("2GiB".parse::<Quantity>().unwrap_err().hint, "did you mean 2Gi?");
        for text in ["", "Gi", "-1", "one", "1e3x"] {
            assert!(text.parse::<Quantity>().is_err(), "{text}");
        }
    }
}
