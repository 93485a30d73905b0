//! Files that SOPS 3.9.4 and age 1.2.1 have written, in `fixtures/sops`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "what fails in a test ends it")]

use std::path::{Path, PathBuf};

use slipway_secrets::age::{self, Identity};
use slipway_secrets::sops::{self, Syntax};
use slipway_secrets::{Error, identity_file};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sops").join(name)
}

fn text(name: &str) -> String {
    std::fs::read_to_string(fixture(name)).unwrap()
}

fn identities() -> Vec<Identity> {
    identity_file::read(&fixture("identity.txt")).unwrap()
}

fn read(name: &str, path: &str) -> Result<String, Error> {
    read_text(&text(name), Syntax::of(name).unwrap(), path)
}

fn read_text(text: &str, syntax: Syntax, path: &str) -> Result<String, Error> {
    sops::read(text, syntax, path, &identities()).map(|text| text.expose().to_owned())
}

#[test]
fn values_of_yaml_and_json_are_read() {
    for name in ["secrets.yaml", "mac-only.yaml", "regex.yaml"] {
        let value = |path: &str| read(name, path).unwrap_or_else(|error| panic!("{name}: {path}: {error}"));
        assert_eq!(value("etcd.encryption_key"), "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1mb3ItdGVzdHM=");
        assert_eq!(value("etcd.rotations"), "3");
        assert_eq!(value("tokens.0"), "first-token");
        assert_eq!(value("tokens.1.value"), "second-token");
        assert_eq!(value("text"), "several\nlines\n");
        assert_eq!(value("public_unencrypted"), "in clear");
    }
    assert_eq!(read("secrets.json", "nested.key").unwrap(), "deep-secret");
    assert_eq!(read("secrets.json", "list.1").unwrap(), "1");
}

#[test]
fn what_is_not_there_is_named() {
    let error = |path: &str| read("secrets.yaml", path).unwrap_err().to_string();
    assert!(error("etcd.other").contains("nothing at `etcd.other`"), "{}", error("etcd.other"));
    assert!(error("etcd").contains("neither a text nor a number"), "{}", error("etcd"));
    assert!(error("tokens.7").contains("nothing at `tokens.7`"));
    assert!(read_text("a: 1\n", Syntax::Yaml, "a").unwrap_err().to_string().contains("`sops`"));
}

#[test]
fn a_changed_file_is_refused() {
    let whole = text("secrets.yaml");
    // A value in clear is under the MAC too.
    let bent = whole.replace("in clear", "in Clear");
    let error = read_text(&bent, Syntax::Yaml, "text").unwrap_err();
    assert_eq!(error.code(), "SECRET0001");
    assert!(error.to_string().contains("MAC"), "{error}");
    // An encrypted value that was moved to another place.
    let values: Vec<&str> = whole
        .lines()
        .filter_map(|line| Some(&line[line.find("ENC[")?..]))
        .filter(|value| value.contains("type:str"))
        .collect();
    let bent = whole.replacen(values[0], values[1], 1);
    let error = read_text(&bent, Syntax::Yaml, "text").unwrap_err().to_string();
    assert!(error.contains("changed or moved"), "{error}");
    // One that was left out.
    let line = whole.lines().find(|line| line.contains("rotations")).unwrap();
    let error = read_text(&whole.replace(&format!("{line}\n"), ""), Syntax::Yaml, "text").unwrap_err();
    assert!(error.to_string().contains("MAC"), "{error}");
    // And one that was put in clear, where the MAC is over encrypted values only.
    let whole = text("mac-only.yaml");
    let line = whole.lines().find(|line| line.contains("rotations")).unwrap();
    let bent = whole.replace(line, "    rotations: 3");
    assert!(read_text(&bent, Syntax::Yaml, "text").unwrap_err().to_string().contains("MAC"));
    let bent = whole.replace("in clear", "in Clear");
    assert!(read_text(&bent, Syntax::Yaml, "text").is_ok(), "what is in clear is not under this MAC");
}

#[test]
fn without_the_identity_its_recipient_is_named() {
    let other = [Identity::generate().unwrap()];
    let error = sops::read(&text("secrets.yaml"), Syntax::Yaml, "text", &other).unwrap_err().to_string();
    let recipient = identities()[0].recipient().to_string();
    assert!(error.contains(&recipient) && error.contains("SOPS_AGE_KEY_FILE"), "{error}");
}

#[test]
fn what_age_has_written_is_read() {
    let identities = identities();
    let identities: Vec<&Identity> = identities.iter().collect();
    let file = std::fs::read(fixture("hello.age")).unwrap();
    assert_eq!(age::decrypt(&identities, &file).unwrap().unwrap().as_slice(), b"hello age");
}
