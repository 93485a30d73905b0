//! The forms of values that kOps has and the spec has not: Go durations, texts with lists and pairs in them.

use std::collections::BTreeMap;

use slipway_spec::value::{Duration, GoDuration};

/// A Go duration (`time.ParseDuration`), as in `1h30m` or `1.5h`, to the millisecond; `None` for anything else, and
/// for what is negative.
#[must_use]
pub(crate) fn go_duration(text: &str) -> Option<Duration> {
    let exact = text.parse::<GoDuration>().ok()?.get();
    let milliseconds = (exact.as_nanos() + 500_000) / 1_000_000;
    format!("{milliseconds}ms").parse().ok()
}

/// The parts of a text that commas separate, without blanks around them.
#[must_use]
pub(crate) fn parts(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// The pairs of a text such as `memory.available<100Mi,nodefs.available<10%`; `None` where a sign is missing.
#[must_use]
pub(crate) fn pairs(text: &str, sign: char) -> Option<BTreeMap<String, String>> {
    parts(text).iter().map(|part| pair(part, sign)).collect()
}

/// The two sides of the first sign.
#[must_use]
pub(crate) fn pair(text: &str, sign: char) -> Option<(String, String)> {
    let (key, value) = text.split_once(sign)?;
    let (key, value) = (key.trim(), value.trim());
    (!key.is_empty()).then(|| (key.to_owned(), value.to_owned()))
}

/// A name in hyphens: `terminatedPodGCThreshold` becomes `terminated-pod-gc-threshold`.
#[must_use]
pub(crate) fn hyphenated(name: &str) -> String {
    // A plural of capitals is one word.
    let name = name.replace("CIDRs", "Cidrs").replace("APIQPS", "ApiQps");
    let letters: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (index, letter) in letters.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|before| letters.get(before));
        let after = letters.get(index + 1);
        let starts = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                !before.is_ascii_uppercase() || after.is_some_and(char::is_ascii_lowercase)
            });
        if starts {
            words.push('-');
        }
        words.push(letter.to_ascii_lowercase());
    }
    words
}

/// The bytes of a text in base64 (RFC 4648, section 4), blanks and line ends left out; `None` when it is malformed.
#[must_use]
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let padding = digits.iter().rev().take_while(|byte| **byte == b'=').count();
    if !digits.len().is_multiple_of(4) || padding > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    let mut bits: u32 = 0;
    let mut count = 0;
    for digit in &digits[..digits.len() - padding] {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_go_durations() {
        for (text, printed) in [
            ("1h30m", "1h30m"),
            ("1m0s", "1m"),
            ("72h0m0s", "3d"),
            ("1.5h", "1h30m"),
            ("250ms", "250ms"),
            ("0", "0s"),
        ] {
            assert_eq!(go_duration(text).unwrap().to_string(), printed, "{text}");
        }
        for text in ["", "15", "1d", "-1h", "h", "1h30"] {
            assert_eq!(go_duration(text), None, "{text}");
        }
    }

    #[test]
    fn hyphenates_as_the_components_do() {
        for (name, flag) in [
            ("terminatedPodGCThreshold", "terminated-pod-gc-threshold"),
            ("allocateNodeCIDRs", "allocate-node-cidrs"),
            ("nodeCIDRMaskSize", "node-cidr-mask-size"),
            ("kubeAPIQPS", "kube-api-qps"),
            ("kubeAPIBurst", "kube-api-burst"),
            ("eventTTL", "event-ttl"),
            ("http2MaxStreamsPerConnection", "http2-max-streams-per-connection"),
            ("ClusterSigningDuration", "cluster-signing-duration"),
            ("tlsCipherSuites", "tls-cipher-suites"),
            (
                "horizontalPodAutoscalerCpuInitializationPeriod",
                "horizontal-pod-autoscaler-cpu-initialization-period",
            ),
        ] {
            assert_eq!(hyphenated(name), flag);
        }
    }

    #[test]
    fn reads_pairs() {
        let found = pairs("memory.available<100Mi, nodefs.available<10%", '<').unwrap();
        assert_eq!(found["nodefs.available"], "10%");
        assert_eq!(pairs("memory.available", '<'), None);
    }

    #[test]
    fn reads_base64() {
        assert_eq!(base64("aGVsbG8=").unwrap(), b"hello");
        assert_eq!(base64("aGVs\nbG8h").unwrap(), b"hello!");
        assert_eq!(base64("aGVsbG8"), None);
        assert_eq!(base64("aG*s"), None);
    }
}
