//! From the address of a state store to its backend.

use std::path::PathBuf;
use std::sync::Arc;

use super::{Backend, Error, Result, file::FileBackend};

/// What [`open`] understands, for messages.
pub const SUPPORTED: &str = "supported are a path and file:///path";

/// Opens the place that `url` names: a path, or `file:///path`. Nothing is read or written yet.
///
/// # Errors
/// [`Error::InvalidUrl`] for any other scheme; the message names what is supported.
pub fn open(url: &str) -> Result<Arc<dyn Backend>> {
    Ok(Arc::new(FileBackend::open(directory(url)?)))
}

fn directory(url: &str) -> Result<PathBuf> {
    let invalid = |reason: String| Error::InvalidUrl { url: url.to_owned(), reason };
    if url.is_empty() {
        return Err(invalid(format!("it is empty; {SUPPORTED}")));
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(PathBuf::from(url));
    };
    if scheme != "file" {
        return Err(invalid(format!("the scheme `{scheme}` is not supported; {SUPPORTED}")));
    }
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return Err(invalid(
            "after `file://` an absolute path is needed, as in file:///var/lib/slipway".into(),
        ));
    }
    decode(path).map(PathBuf::from).ok_or_else(|| invalid("its percent-encoding is broken".into()))
}

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
        ] {
            assert_eq!(directory(url).unwrap(), PathBuf::from(path), "{url}");
        }
    }

    #[test]
    fn what_is_not_supported_is_named() {
        assert_eq!(
            directory("s3://bucket/state").unwrap_err().to_string(),
            "`s3://bucket/state` is not the address of a state store: \
             the scheme `s3` is not supported; supported are a path and file:///path"
        );
        for bad in ["", "file://state", "file:///%", "file:///%zz", "file:///%+1", "file:///%ff"] {
            assert_eq!(directory(bad).unwrap_err().code(), "STATE0010", "{bad}");
        }
    }
}
