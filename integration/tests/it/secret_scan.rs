//! After the whole life of a cluster nothing that was a secret is anywhere in clear: not in the store at any time, not
//! in what was logged, not in what was shown, nor in what was written beside it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use slipway_integration::place::{Ended, Place};
use slipway_state_store::Prefix;

use crate::PROGRAM;
use crate::secrets::vault;

const FROM_ENVIRONMENT: &str = "ek40LWtleS1mcm9tLXRoZS1lbnZpcm9ubWVudC1Rdzc=";
const FROM_FILE: &str = "dFI5LWtleS1mcm9tLWEtZmlsZT8+d2l0aH4/LVhwMn4=";
const PASSPHRASE: &str = "correct horse, battery staple";
const NEXT_PASSPHRASE: &str = "wrong donkey, spent accumulator";

/// Everything that came out so far.
#[derive(Default)]
struct Found(BTreeSet<(String, String)>);

/// Binary data may contain texts, too.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Found {
    /// Runs the program with all log output, and collects its output and all stored bytes.
    fn run(
        &mut self,
        place: &Place,
        code: i32,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<()> {
        let mut command = place.command(arguments);
        command.env("HOME", place.path()).env("SLIPWAY_LOG", "trace").env("RUST_BACKTRACE", "1");
        command.env("KEY", FROM_ENVIRONMENT).env("SLIPWAY_PASSPHRASE", PASSPHRASE);
        command.envs(variables.iter().copied());
        let ended = Ended::of(command.output()?)?;
        let what = arguments.join(" ");
        ensure!(ended.code == Some(code), "{what}: {:?}\n{}\n{}", ended.code, ended.out, tail(&ended.err));
        self.0.insert((format!("what `{what}` shows"), ended.out));
        self.0.insert((format!("what `{what}` logs"), ended.err));
        self.take_in(place)
    }

    /// Every object of the store, and every file beside it but the secrets' own sources and the cloud's own books.
    fn take_in(&mut self, place: &Place) -> Result<()> {
        let backend = place.backend()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            for key in backend.list(&Prefix::root()).await? {
                if let Some((bytes, _)) = backend.get(&key).await? {
                    self.0.insert((format!("the object {key}"), text(&bytes)));
                }
            }
            anyhow::Ok(())
        })?;
        for path in files(place.path())? {
            let beside = path.strip_prefix(place.path())?.to_string_lossy().into_owned();
            let is_source = beside == "key.txt" || beside.starts_with(".slipway/sim/");
            if !is_source {
                self.0.insert((format!("the file {beside}"), text(&std::fs::read(path)?)));
            }
        }
        Ok(())
    }

    /// Where any form of a secret is.
    fn hits(&self, secret: &str) -> Vec<&str> {
        let forms = forms(secret);
        let has = |text: &str| forms.iter().any(|form| text.contains(form));
        self.0.iter().filter(|(_, text)| has(text)).map(|(name, _)| name.as_str()).collect()
    }
}

fn tail(text: &str) -> &str {
    text.get(text.len().saturating_sub(3_000)..).unwrap_or(text)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// A secret as it is, as JSON has it, in hexadecimal, and in base64 wherever it begins within other bytes.
fn forms(secret: &str) -> Vec<String> {
    let hex: String = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let json = secret.replace('"', "\\\"");
    let numbers: Vec<String> = secret.bytes().map(|byte| byte.to_string()).collect();
    let mut forms =
        vec![secret.to_owned(), json, hex.to_uppercase(), hex, numbers.join(","), numbers.join(", ")];
    for skipped in 0..3 {
        // Full groups of three bytes are the same wherever the text ends.
        let whole = &secret.as_bytes()[skipped..];
        let whole = &whole[..whole.len() / 3 * 3];
        let text = base64(whole);
        forms.push(text.replace('+', "-").replace('/', "_"));
        forms.push(text);
    }
    forms
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |group: &[u8]| {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(DIGITS[(bits >> shift) as usize & 63]))
    };
    bytes.chunks_exact(3).flat_map(group).collect()
}

#[test]
fn nothing_secret_is_in_clear_after_a_whole_life() -> Result<()> {
    let place = Place::on_s3(PROGRAM)?;
    let mut found = Found::default();
    let apply = ["apply", "-f", "spec.yaml", "--yes", "-vvv"];
    let plan = ["plan", "-f", "spec.yaml", "-vvv", "--log-format", "json"];
    let with = |secret: &str, image: &str| {
        vault(secret).replace("sim.medium }", &format!("sim.medium, image: {image} }}"))
    };

    place.write("spec.yaml", &with("{ env: KEY }", "image-1"))?;
    found.run(&place, 2, &[&plan[..], &["--out", "first.plan"]].concat(), &[])?;
    found.run(&place, 2, &[&plan[..], &["-o", "json"]].concat(), &[])?;
    // A call that fails says why, and not with what.
    place.write(
        ".slipway/sim/faults.json",
        r#"[{"method": "create", "type": "sim_machine_pool", "kind": "permission"}]"#,
    )?;
    found.run(&place, 1, &apply, &[])?;
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    found.run(&place, 0, &apply, &[])?;
    place.write("key.txt", FROM_FILE)?;
    place.write("spec.yaml", &with("{ file: key.txt }", "image-1"))?;
    // Another key is refused; the same key from another place is not.
    found.run(&place, 1, &plan, &[])?;
    found.run(&place, 1, &apply, &[])?;
    place.write("key.txt", FROM_ENVIRONMENT)?;
    place.write("spec.yaml", &with("{ file: key.txt }", "image-2"))?;
    found.run(&place, 2, &[&plan[..], &["--out", "state:"]].concat(), &[])?;
    found.run(&place, 0, &apply, &[])?;
    for arguments in
        [&["state", "show", "vault"][..], &["state", "history", "vault"], &["state", "export", "vault"]]
    {
        found.run(&place, 0, arguments, &[])?;
    }
    found.run(
        &place,
        1,
        &[&apply[..], &["--replace", "sim_machine_pool.*"]].concat(),
        &[("SLIPWAY_PASSPHRASE", NEXT_PASSPHRASE)],
    )?;
    let delete = ["delete", "-f", "spec.yaml", "--yes", "--confirm", "vault", "--delete-backups", "-vvv"];
    found.run(&place, 0, &delete, &[])?;

    let is_sealed =
        found.0.iter().any(|(name, text)| name.contains("/secrets/") && text.contains("slipway-envelope"));
    ensure!(is_sealed, "there were secrets in the store");
    let reached = files(&place.cloud())?.into_iter().any(|path| {
        std::fs::read(path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("image-2"))
    });
    ensure!(reached, "the cloud was changed");
    for secret in
        [FROM_ENVIRONMENT, FROM_FILE, PASSPHRASE, NEXT_PASSPHRASE, "AGE-SECRET-KEY-1", "PRIVATE KEY-----"]
    {
        let hits = found.hits(secret);
        ensure!(hits.is_empty(), "`{secret}` is in {hits:?}");
    }
    println!("{} objects, files and outputs hold no secret", found.0.len());
    Ok(())
}

#[test]
fn the_scan_finds_every_form() {
    let secret = "tR9-key-with-\"quotes\"-Xp2";
    for (number, form) in forms(secret).into_iter().enumerate() {
        let mut found = Found::default();
        found.0.insert(("planted".to_owned(), format!("{{\"a\": \"{form}\"}}")));
        assert_eq!(found.hits(secret), ["planted"], "form {number}");
    }
    assert_eq!(base64(b"any carnal pleas"), "YW55IGNhcm5hbCBwbGVh");
}
