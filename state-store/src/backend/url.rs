//! The addresses of state stores.

use std::path::PathBuf;
use std::str::FromStr;

use super::{Error, Key};

/// The supported addresses, for messages.
pub const SUPPORTED: &str =
    "supported are a path, file:///path, s3://bucket/prefix, gs://bucket/prefix and az://container/prefix";

/// Where a state store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Location {
    /// A directory.
    Directory(PathBuf),
    /// A bucket of S3, or of what speaks its language.
    S3(Bucket),
    /// A bucket of Google Cloud Storage.
    Google(Bucket),
    /// A container of Azure Blob Storage.
    Azure(Bucket),
}

/// A bucket or container, and the prefix of each key in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Its name.
    pub name: String,
    /// Segments as in a key; empty for none.
    pub prefix: String,
}

impl FromStr for Location {
    type Err = Error;

    /// # Errors
    /// [`Error::InvalidUrl`]; the message names what is supported.
    fn from_str(url: &str) -> Result<Self, Error> {
        let invalid = |reason: String| Error::InvalidUrl { url: url.to_owned(), reason };
        if url.is_empty() {
            return Err(invalid(format!("it is empty; {SUPPORTED}")));
        }
        let Some((scheme, rest)) = url.split_once("://") else {
            return match meant(url) {
                Some(right) => Err(invalid(format!(
                    "after the scheme comes `://`, as in {right}; a folder of this name is ./{url}"
                ))),
                None => Ok(Self::Directory(PathBuf::from(url))),
            };
        };
        match scheme.to_ascii_lowercase().as_str() {
            "file" => directory(rest).map(Self::Directory).map_err(invalid),
            "s3" => bucket(rest).map(Self::S3).map_err(invalid),
            "gs" => bucket(rest).map(Self::Google).map_err(invalid),
            "az" => bucket(rest).map(Self::Azure).map_err(invalid),
            _ => Err(invalid(format!("the scheme `{scheme}` is not supported; {SUPPORTED}"))),
        }
    }
}

/// The probable address behind one with a malformed scheme, such as `s3:/bucket`. No state must be looked for
/// in a folder of that name.
fn meant(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once(':')?;
    let is_scheme = scheme.len() > 1
        && scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.chars().all(|other| other.is_ascii_alphanumeric() || matches!(other, '+' | '-' | '.'));
    if !is_scheme {
        return None;
    }
    let (scheme, rest) = (scheme.to_ascii_lowercase(), rest.trim_start_matches('/'));
    Some(match scheme.as_str() {
        "file" => format!("file:///{}", if rest.is_empty() { "var/lib/slipway" } else { rest }),
        "s3" | "gs" | "az" => format!("{scheme}://{}", if rest.is_empty() { "bucket/prefix" } else { rest }),
        _ => "s3://bucket/prefix".to_owned(),
    })
}

fn directory(rest: &str) -> Result<PathBuf, String> {
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err("after `file://` an absolute path is needed, as in file:///var/lib/slipway".into());
    }
    decode(path).map(PathBuf::from).ok_or_else(|| "its percent-encoding is broken".into())
}

fn bucket(rest: &str) -> Result<Bucket, String> {
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'$');
    if name.is_empty() || !name.bytes().all(allowed) {
        return Err(format!("`{name}` is not the name of a bucket or container"));
    }
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
    if !prefix.is_empty()
        && let Err(error) = Key::new(prefix)
    {
        return Err(error.to_string());
    }
    if prefix.len() > LONGEST_PREFIX {
        return Err(format!("what follows the bucket is longer than {LONGEST_PREFIX} bytes"));
    }
    Ok(Bucket { name: name.into(), prefix: prefix.into() })
}

/// With the longest key, and a `/` between, it stays below the 1,024 bytes that all stores take.
const LONGEST_PREFIX: usize = 220;

/// Undoes percent-encoding (RFC 3986, 2.1).
fn decode(path: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(path.len()), path.as_bytes());
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?);
            rest = rest.get(2..)?;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_file_urls() {
        for (url, path) in [
            ("state", "state"),
            ("./a/b", "./a/b"),
            ("/var/lib/slipway", "/var/lib/slipway"),
            ("file:///var/lib/slipway", "/var/lib/slipway"),
            ("file://localhost/x", "/x"),
            ("file:///with%20space", "/with space"),
            ("./s3:x", "./s3:x"),
            ("a/b:c", "a/b:c"),
        ] {
            assert_eq!(url.parse::<Location>().unwrap(), Location::Directory(path.into()), "{url}");
        }
    }

    #[test]
    fn buckets_and_prefixes() {
        let place = |name: &str, prefix: &str| Bucket { name: name.into(), prefix: prefix.into() };
        for (url, location) in [
            ("s3://bucket", Location::S3(place("bucket", ""))),
            ("s3://bucket/", Location::S3(place("bucket", ""))),
            ("s3://a.bucket/state/prod/", Location::S3(place("a.bucket", "state/prod"))),
            ("gs://a_bucket/x", Location::Google(place("a_bucket", "x"))),
            ("az://container/x=1", Location::Azure(place("container", "x=1"))),
        ] {
            assert_eq!(url.parse::<Location>().unwrap(), location, "{url}");
        }
    }

    #[test]
    fn what_is_not_supported_is_named() {
        assert_eq!(
            "ftp://bucket/state".parse::<Location>().unwrap_err().to_string(),
            "`ftp://bucket/state` is not the address of a state store: the scheme `ftp` is not supported; supported \
             are a path, file:///path, s3://bucket/prefix, gs://bucket/prefix and az://container/prefix"
        );
        let typo = "s3:/bucket/state".parse::<Location>().unwrap_err().to_string();
        assert!(typo.contains("as in s3://bucket/state"), "{typo}");
        let long = format!("s3://bucket/{}", "a/".repeat(120));
        let bad = [
            "",
            "file://state",
            "file:///%",
            "file:///%zz",
            "file:///%+1",
            "file:///%ff",
            "s3://",
            "s3:///x",
            "s3:/x",
            "s3:x",
            "S3:x",
            "gs:/x",
            "az:x/y",
            "file:/x",
            "file:x",
            "http:/x",
            "s3+http:x",
        ];
        for bad in
            bad.into_iter().chain(["s3://b/a//b", "s3://b/../x", "gs://b/x?y=z", "az://user@host/x", &long])
        {
            assert_eq!(bad.parse::<Location>().unwrap_err().code(), "STATE0010", "{bad}");
        }
    }
}
