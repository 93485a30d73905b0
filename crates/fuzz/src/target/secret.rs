use std::sync::LazyLock;

use anyhow::Result;
use slipway_secrets::age::{self, Identity};
use slipway_secrets::sops::{self as sops_files_of, Syntax};
use slipway_secrets::{Envelope, Expected};

use super::words;
use crate::corpus::{ends, files, workspace};

/// The identities that open the fixtures.
static IDENTITIES: LazyLock<Vec<Identity>> = LazyLock::new(|| {
    let text = std::fs::read_to_string(workspace().join("fixtures/sops/identity.txt")).unwrap_or_default();
    Identity::read_all(&text).unwrap_or_default()
});

fn all(folders: &[&str], endings: &[&str]) -> Result<Vec<Vec<u8>>> {
    let takes = |path: &std::path::Path| {
        path.ancestors().any(|above| above.ends_with("fixtures/fuzz")) || ends(path, endings)
    };
    Ok(files(folders, takes)?.into_iter().map(|(_, bytes)| bytes).collect())
}

pub(super) fn envelopes() -> Result<Vec<Vec<u8>>> {
    all(&["fixtures/fuzz/envelope"], &[])
}

pub(super) fn sops_files() -> Result<Vec<Vec<u8>>> {
    all(&["fixtures/sops", "fixtures/fuzz/sops"], &[".yaml", ".json"])
}

pub(super) fn age_files() -> Result<Vec<Vec<u8>>> {
    all(&["fixtures/sops", "fixtures/fuzz/age"], &[".age", ".txt"])
}

pub(super) fn envelope(input: &[u8]) -> String {
    words(Envelope::read(&Expected::at("demo/secrets/a"), input))
}

pub(super) fn sops(input: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(input) else { return "no text".to_owned() };
    let syntax = if text.trim_start().starts_with('{') { Syntax::Json } else { Syntax::Yaml };
    words(sops_files_of::read(text, syntax, "etcd.encryption_key", &IDENTITIES))
}

/// An identity file, and what is encrypted for one.
pub(super) fn age(input: &[u8]) -> String {
    let identities: Vec<&Identity> = IDENTITIES.iter().collect();
    let opened = words(age::decrypt(&identities, input));
    let read = std::str::from_utf8(input)
        .map_or_else(|_| "no text".to_owned(), |text| words(Identity::read_all(text)));
    format!("{opened}; {read}")
}
