use std::sync::LazyLock;

use anyhow::Result;
use slipway_secrets::age::{self, Identity};
use slipway_secrets::sops::{self as sops_files_of, Syntax};
use slipway_secrets::{Envelope, Expected};

use super::{READ_BACK, Verdict, text};
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

pub(super) fn envelope(input: &[u8]) -> Verdict {
    let expected = Expected::at("demo/secrets/a");
    match Envelope::read(&expected, input) {
        Err(error) => Verdict::of_json(input, error),
        Ok(envelope) => {
            let names = envelope.names().len();
            let written = envelope.to_bytes();
            let again = written.and_then(|bytes| Envelope::read(&expected, &bytes));
            let mut verdict = Verdict::lawful(again.is_ok_and(|again| again == envelope), READ_BACK);
            verdict.words.push_str(&format!(" {}", names.checked_ilog2().unwrap_or_default()));
            verdict
        }
    }
}

pub(super) fn sops(input: &[u8]) -> Verdict {
    text(input, |text| {
        let syntax = if text.trim_start().starts_with('{') { Syntax::Json } else { Syntax::Yaml };
        match sops_files_of::read(text, syntax, "etcd.encryption_key", &IDENTITIES) {
            Ok(_) => Verdict::taken("taken"),
            // Only the statistics depend on the sentence.
            Err(error) if error.to_string().contains("does not have the key `sops`") => {
                Verdict::syntax(error)
            }
            Err(error) => Verdict::content(error),
        }
    })
}

/// An identity file, and what is encrypted for one.
pub(super) fn age(input: &[u8]) -> Verdict {
    let identities: Vec<&Identity> = IDENTITIES.iter().collect();
    if input.starts_with(b"age-") {
        return match age::decrypt(&identities, input) {
            Ok(opened) => Verdict::taken(if opened.is_some() { "opened" } else { "for others" }),
            // Only the statistics depend on the sentence.
            Err(error) if error.to_string().contains("form of one") => Verdict::syntax(error),
            Err(error) => Verdict::content(error),
        };
    }
    text(input, |text| match Identity::read_all(text) {
        Err(error) => Verdict::content(error),
        Ok(read) => {
            let same = |identity: &Identity| {
                let again = identity.to_secret_text().parse::<Identity>();
                again.is_ok_and(|again| again.recipient() == identity.recipient())
            };
            let mut verdict = Verdict::lawful(read.iter().all(same), READ_BACK);
            verdict.words.push_str(&format!(" {}", read.len().checked_ilog2().unwrap_or_default()));
            verdict
        }
    })
}
