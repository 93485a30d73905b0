//! A short run of mutated replies, with inputs that are the same every time.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

use slipway_fuzz::corpus::files;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_slipway-provider-aws-fuzz")).args(arguments).output().unwrap()
}

#[test]
fn no_reply_is_too_much() {
    let folder = tempfile::tempdir().unwrap();
    let keep = folder.path().to_str().unwrap();
    let ran = run(&["aws-replies", "--executions", "300", "--keep", keep]);
    assert!(ran.status.success(), "{}{}", text(&ran.stdout), text(&ran.stderr));
}

#[test]
fn most_recordings_are_read_as_objects() {
    let recordings = files(&["fixtures/fuzz/aws-replies"], |_| true).unwrap();
    let verdict = |path: &Path| text(&run(&["aws-replies", "--input", path.to_str().unwrap()]).stdout);
    let verdicts: Vec<(String, String)> =
        recordings.iter().map(|(path, _)| (path.display().to_string(), verdict(path))).collect();
    let taken = verdicts.iter().filter(|(_, verdict)| verdict.starts_with("Taken")).count();
    assert!(taken * 3 > verdicts.len() * 2, "{verdicts:#?}");
    let endless = verdicts.iter().find(|(path, _)| path.ends_with("endless-pages.http")).unwrap();
    assert!(endless.1.contains("names itself as the next page"), "{}", endless.1);
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
