//! Forms of texts that a cloud treats as one value: the normalisations that a provider may declare for an attribute.
//!
//! A provider returns desired values as its cloud would return them. For a text, the schema declares how the
//! returned text may differ from the desired one. The engine checks it: both texts must have the same
//! canonical form, or the plan is refused.

pub mod document;

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use crate::RangePart;

/// A difference between two texts that has no meaning to the cloud.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Form {
    /// The case of ASCII letters.
    Case,
    /// Whitespace at both ends, and its amount between words.
    Space,
    /// Address ranges: host bits, leading zeros, `10.0.0.0/16+8#1` for a part of a range.
    Range,
    /// DNS names: case, the dot at the end, `\052` for `*`.
    Domain,
    /// URLs: a missing `https://`, the slash at the end.
    Url,
    /// JSON documents: order of keys, whitespace.
    Json,
    /// JSON documents whose lists are sets.
    JsonSets,
    /// Policy documents in the grammar of AWS IAM: the same grants, in any statements.
    Policy,
    /// Octal numbers: zeros in front.
    Octal,
    /// A text or its base64 form.
    Base64,
    /// Double quotes around a text.
    Quoted,
    /// A path before the last `/`.
    LastSegment,
    /// SSH public keys: the comment.
    PublicKey,
    /// A prefix that may be absent.
    Prefix(String),
    /// Two spellings of one value: the first means the second.
    Same(String, String),
    /// The value of an existing object stays, whatever is desired. The engine checks that the object has it.
    Kept,
}

/// A form that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a form of texts that is known")]
pub struct UnknownForm(String);

/// The forms without an argument, and their names.
const NAMED: [(&str, Form); 14] = [
    ("case", Form::Case),
    ("space", Form::Space),
    ("range", Form::Range),
    ("domain", Form::Domain),
    ("url", Form::Url),
    ("json", Form::Json),
    ("json-sets", Form::JsonSets),
    ("policy", Form::Policy),
    ("octal", Form::Octal),
    ("base64", Form::Base64),
    ("quoted", Form::Quoted),
    ("last-segment", Form::LastSegment),
    ("public-key", Form::PublicKey),
    ("kept", Form::Kept),
];

impl FromStr for Form {
    type Err = UnknownForm;

    fn from_str(text: &str) -> Result<Self, UnknownForm> {
        if let Some((_, form)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(form.clone());
        }
        let unknown = || UnknownForm(text.to_owned());
        match text.split_once(':').ok_or_else(unknown)? {
            ("prefix", prefix) if !prefix.is_empty() => Ok(Self::Prefix(prefix.to_owned())),
            ("same", both) => {
                let (one, other) = both.split_once('=').ok_or_else(unknown)?;
                Ok(Self::Same(one.to_owned(), other.to_owned()))
            }
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) => write!(formatter, "prefix:{prefix}"),
            Self::Same(one, other) => write!(formatter, "same:{one}={other}"),
            named => {
                let name = NAMED.iter().find(|(_, form)| form == named).map(|(name, _)| *name);
                formatter.write_str(name.unwrap_or_default())
            }
        }
    }
}

impl TryFrom<String> for Form {
    type Error = UnknownForm;

    fn try_from(text: String) -> Result<Self, UnknownForm> {
        text.parse()
    }
}

impl From<Form> for String {
    fn from(form: Form) -> Self {
        form.to_string()
    }
}

impl Form {
    /// The text without the differences of this form. A text to which the form does not apply is returned
    /// unchanged.
    fn canonical<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let formed = match self {
            Self::Case => Some(text.to_ascii_lowercase()),
            Self::Space => Some(text.split_whitespace().collect::<Vec<_>>().join(" ")),
            Self::Range => range(text),
            Self::Domain => Some(domain(text)),
            Self::Url => {
                let rest = text.strip_prefix("https://").unwrap_or(text);
                Some(rest.trim_end_matches('/').to_owned())
            }
            Self::Json => document::json(text),
            Self::JsonSets => document::event_pattern(text),
            Self::Policy => document::policy(text),
            Self::Octal => u32::from_str_radix(text, 8).ok().map(|number| format!("{number:o}")),
            Self::Base64 => STANDARD.decode(text).is_err().then(|| STANDARD.encode(text)),
            Self::Quoted => {
                let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
                inner.map(str::to_owned)
            }
            Self::LastSegment => text.rsplit('/').next().map(str::to_owned),
            Self::PublicKey => Some(text.split_whitespace().take(2).collect::<Vec<_>>().join(" ")),
            Self::Prefix(prefix) => text.strip_prefix(prefix.as_str()).map(str::to_owned),
            Self::Same(one, other) => (text == one).then(|| other.clone()),
            Self::Kept => None,
        };
        formed.map_or(Cow::Borrowed(text), Cow::Owned)
    }
}

/// Whether two texts differ only in the declared forms, which apply one after the other.
#[must_use]
pub fn same_text(forms: &[Form], left: &str, right: &str) -> bool {
    let canonical =
        |text: &str| forms.iter().fold(text.to_owned(), |text, form| form.canonical(&text).into_owned());
    left == right || canonical(left) == canonical(right)
}

/// An address range in its shortest form, without host bits. A part of a range is returned as that part.
#[must_use]
pub fn range(text: &str) -> Option<String> {
    match RangePart::split(text) {
        Some((range, bits, number)) => part(range, bits, number),
        None => text.trim().parse::<IpNet>().ok().map(|net| net.trunc().to_string()),
    }
}

/// One of the equal parts of a range, whose prefixes are `bits` bits longer.
fn part(range: &str, bits: u8, number: u64) -> Option<String> {
    let range = range.trim().parse::<IpNet>().ok()?.trunc();
    let prefix = range.prefix_len().checked_add(bits).filter(|prefix| *prefix <= range.max_prefix_len())?;
    // Computed instead of iterated: a range may have too many parts to iterate over.
    if number.checked_shr(bits.into()).is_some_and(|beyond| beyond > 0) {
        return None;
    }
    let offset =
        u128::from(number).checked_shl(u32::from(range.max_prefix_len() - prefix)).unwrap_or_default();
    let first: IpAddr = match range.addr() {
        IpAddr::V4(first) => {
            u32::try_from(u128::from(u32::from(first)) | offset).ok().map(Into::into).map(IpAddr::V4)?
        }
        IpAddr::V6(first) => IpAddr::V6((u128::from(first) | offset).into()),
    };
    IpNet::new(first, prefix).ok().map(|part| part.to_string())
}

/// A DNS name: lower case, no dot at the end, `*` for its octal form.
#[must_use]
pub fn domain(text: &str) -> String {
    text.trim().trim_end_matches('.').to_ascii_lowercase().replace("\\052", "*")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_differences_have_no_meaning_and_others_do() {
        let cases: [(&[&str], &str, &str, &str); 17] = [
            (&[], "a", "a", "A"),
            (&["case"], "TCP", "tcp", "udp"),
            (&["space"], " a  b", "a b", "ab"),
            (&["range"], "10.0.0.7/16", "10.0.0.0/16", "10.1.0.0/16"),
            (&["range"], "10.0.0.0/16+8#1", "10.0.1.0/24", "10.0.2.0/24"),
            (&["domain"], "A.example.com.", "a.example.com", "b.example.com"),
            (&["url"], "a.test/b/", "https://a.test/b", "http://a.test/b"),
            (&["json"], r#"{"a":1, "b":[2,1]}"#, r#"{"b":[2,1],"a":1}"#, r#"{"a":1,"b":[1,2]}"#),
            (&["json-sets"], r#"{"b":[2,1]}"#, r#"{"b":[1,2]}"#, r#"{"b":[1]}"#),
            (
                &["policy"],
                r#"{"Statement":[{"Effect":"Allow","Action":["a"],"Resource":"*"}]}"#,
                r#"{"Statement":{"Effect":"Allow","Action":"a","Resource":["*"]}}"#,
                r#"{"Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#,
            ),
            (&["octal"], "644", "0644", "0600"),
            (&["base64"], "#!/bin/sh", "IyEvYmluL3No", "IyEvYmluL3No0000"),
            (&["quoted"], "a", "\"a\"", "b"),
            (&["last-segment"], "/hostedzone/Z1", "Z1", "Z2"),
            (&["public-key"], "ssh-rsa AAAA me@here", "ssh-rsa AAAA", "ssh-rsa BBBB"),
            (&["domain", "prefix:dualstack."], "dualstack.LB.test.", "lb.test", "other.lb.test"),
            (&["case", "same:all=-1"], "ALL", "-1", "tcp"),
        ];
        for (forms, wanted, good, bad) in cases {
            let forms: Vec<Form> = forms.iter().map(|form| form.parse().unwrap()).collect();
            assert!(same_text(&forms, wanted, good), "{forms:?}: {wanted} is {good}");
            assert!(!same_text(&forms, wanted, bad), "{forms:?}: {wanted} is not {bad}");
        }
    }

    #[test]
    fn a_form_has_a_name() {
        for (name, form) in NAMED {
            assert_eq!((name.parse(), form.to_string()), (Ok(form), name.to_owned()));
        }
        for text in ["prefix:a", "same:a=b"] {
            assert_eq!(text.parse::<Form>().unwrap().to_string(), text);
        }
        for bad in ["", "anything", "prefix:", "same:a"] {
            assert!(bad.parse::<Form>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_part_is_the_one_that_walking_finds() {
        for (range, bits) in
            [("10.0.0.0/16", 8), ("0.0.0.0/0", 4), ("10.0.0.0/32", 0), ("fd00::/56", 8), ("::/0", 3)]
        {
            let whole: IpNet = range.parse().unwrap();
            let walked = whole.subnets(whole.prefix_len() + bits).unwrap();
            for (number, part_of) in (0..).zip(walked) {
                assert_eq!(part(range, bits, number), Some(part_of.to_string()), "{range} {bits} {number}");
            }
            assert_eq!(part(range, bits, 1 << bits), None, "{range}");
        }
    }

    #[test]
    fn a_range_of_more_parts_than_can_be_walked_is_divided_at_once() {
        assert_eq!(part("8000::/1", 63, (1 << 63) - 1), Some("ffff:ffff:ffff:ffff::/64".to_owned()));
        assert_eq!(part("8000::/1", 63, 1 << 63), None);
        assert_eq!(part("::/0", 128, u64::MAX), Some("::ffff:ffff:ffff:ffff/128".to_owned()));
        assert_eq!(part("fd00::/56", 73, 0), None);
    }
}
