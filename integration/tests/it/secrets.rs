//! Keys and envelopes, as the built program has them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use slipway_integration::place::{Ended, Place};
use slipway_provider_sim::inspect::Tamper;

use crate::{APPLY, PLAN, PROGRAM, SMALL};

/// A cluster whose secrets are encrypted under this key.
pub(crate) fn vault(key: &str) -> String {
    let encryption = format!("zones: [sim-1a]\n  encryption: {{ atRest: {{ key: {key} }} }}\n");
    SMALL.replace("name: line", "name: vault").replace("zones: [sim-1a]\n", &encryption)
}

pub(crate) const TEXT: &str = "c2VjcmV0LWtleS1vZi0zMi1ieXRlcy1mb3ItdGVzdHM=";
const OTHER: &str = "b3RoZXItLWtleS1vZi0zMi1ieXRlcy1mb3ItdGVzdHM=";
const FIRST: &str = "Zmlyc3QtdGV4dC1vZi1hLWtleS1vZi0zMi1ieXRlcy0=";
const SECOND: &str = "c2Vjb25kLXRleHQtb2YtYS1rZXktb2YtMzItYnl0ZXM=";
const THIRD: &str = "dGhpcmQtdGV4dC1vZi1hLWtleS1vZi0zMi1ieXRlcy0=";
fn place(secret: &str) -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &vault(secret))?;
    Ok(place)
}

fn run(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Ended> {
    let mut command = place.command(arguments);
    command.env("HOME", place.path()).env("KEY", TEXT).envs(variables.iter().copied());
    Ended::of(command.output()?)
}

fn expect(place: &Place, code: i32, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Ended> {
    let ended = run(place, arguments, variables)?;
    ensure!(
        ended.code == Some(code),
        "{arguments:?} ended with {:?}\n{}\n{}",
        ended.code,
        ended.out,
        ended.err
    );
    Ok(ended)
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

/// Everything of the state but heads, as text.
fn stored(place: &Place) -> Result<String> {
    let mut all = String::new();
    for file in files(&place.state())? {
        if file.file_name().is_some_and(|name| name != "head") {
            all.push_str(&String::from_utf8_lossy(&std::fs::read(file)?));
            all.push('\n');
        }
    }
    Ok(all)
}

fn envelopes(place: &Place) -> Result<usize> {
    Ok(stored(place)?.matches("\"kind\":\"slipway-envelope\"").count())
}

#[test]
fn the_first_secret_makes_a_key_of_the_user_and_one_of_the_cluster() -> Result<()> {
    let place = place("{ env: KEY }")?;
    let identity = place.path().join("config/slipway/age-identity.txt");
    expect(&place, 2, PLAN, &[])?;
    expect(&place, 2, &["plan", "-f", "spec.yaml", "--out", "a.plan"], &[])?;
    ensure!(!identity.exists(), "a plan makes no key");
    let applied = expect(&place, 0, APPLY, &[])?;
    ensure!(
        applied.err.contains("Keep a copy") && applied.err.contains("age-identity.txt"),
        "{}",
        applied.err
    );
    ensure!(identity.is_file() && envelopes(&place)? == 1);
    expect(&place, 0, PLAN, &[])?;
    // Data that was encrypted with the first key could not be read with another one.
    for arguments in [PLAN, APPLY, &[APPLY, &["--replace", POOL, "--confirm", POOL]].concat()] {
        let refused = expect(&place, 1, arguments, &[("KEY", OTHER)])?;
        ensure!(
            refused.err.contains("PLAN0021")
                && refused.err.contains("encryption_key, which cannot be replaced")
                && refused.err.contains("(encryption.atRest.key, spec.yaml:9:"),
            "{}",
            refused.err
        );
    }
    let shown = format!("{}{}{}", stored(&place)?, applied.out, applied.err);
    ensure!(!shown.contains(TEXT) && !shown.contains("AGE-SECRET-KEY"), "a secret is shown");
    ensure!(stored(&place)?.contains("hmac-sha256:"), "fingerprints are under the cluster's key");
    expect(&place, 0, &["delete", "-f", "spec.yaml", "--yes", "--confirm", "vault"], &[])?;
    ensure!(envelopes(&place)? == 0, "a deleted cluster keeps no secret");
    // A later cluster of the name has a key of its own.
    expect(&place, 0, APPLY, &[])?;
    ensure!(envelopes(&place)? == 1);
    expect(&place, 0, PLAN, &[]).map(|_| ())
}

/// The pool whose replacement deletes its machines at once, which its name confirms.
const POOL: &str = "sim_machine_pool.control-plane";

#[test]
fn without_a_secret_there_is_no_key() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", &SMALL.replace("name: line", "name: vault"))?;
    expect(&place, 0, APPLY, &[])?;
    ensure!(!place.path().join("config/slipway").exists() && envelopes(&place)? == 0);
    Ok(())
}

#[test]
fn without_the_key_a_plan_says_so_and_an_apply_is_refused() -> Result<()> {
    let place = place("{ env: KEY }")?;
    let passphrase = &[("SLIPWAY_PASSPHRASE", "correct horse")];
    expect(&place, 0, APPLY, passphrase)?;
    // A secret that cannot be compared may differ, so the plan does not say "No changes".
    let planned = expect(&place, 1, PLAN, &[])?;
    ensure!(planned.out.contains("cannot be compared") && planned.out.contains("passphrase `default`"));
    ensure!(planned.out.contains("its secret could not be compared"), "{}", planned.out);
    ensure!(!planned.out.contains("No changes"), "{}", planned.out);
    let wrong = expect(&place, 1, PLAN, &[("SLIPWAY_PASSPHRASE", "wrong horse")])?;
    ensure!(wrong.out.contains("its secret could not be compared"), "{}", wrong.out);
    let replace =
        &["apply", "-f", "spec.yaml", "--yes", "--replace", "sim_machine_pool.*", "--confirm", POOL];
    let refused = expect(&place, 1, replace, &[])?;
    ensure!(
        refused.err.contains("SECRET0003") && refused.err.contains("SLIPWAY_PASSPHRASE"),
        "{}",
        refused.err
    );
    let refused = expect(&place, 1, replace, &[("SLIPWAY_PASSPHRASE", "wrong horse")])?;
    ensure!(refused.err.contains("SECRET0004") && !refused.err.contains("wrong horse"), "{}", refused.err);
    expect(&place, 0, replace, passphrase).map(|_| ())
}

#[test]
fn after_a_rekey_the_old_key_opens_nothing() -> Result<()> {
    let place = place("{ env: KEY }")?;
    let old = ("SLIPWAY_PASSPHRASE", "old horse");
    let new = ("SLIPWAY_PASSPHRASE", "new horse");
    expect(&place, 0, APPLY, &[old])?;
    let before = stored(&place)?;
    let alone = expect(&place, 1, &["state", "rekey", "vault"], &[new])?;
    ensure!(alone.err.contains("SECRET0004"), "{}", alone.err);
    ensure!(
        stored(&place)?
            .contains(before.lines().find(|line| line.contains("slipway-envelope")).context("one")?)
    );
    let fallback = ("SLIPWAY_FALLBACK_PASSPHRASE", "old horse");
    let done = expect(&place, 0, &["state", "rekey", "vault"], &[new, fallback])?;
    ensure!(done.out.contains("vault: encrypted 1 object again"), "{}", done.out);
    expect(&place, 0, PLAN, &[new])?;
    let planned = expect(&place, 1, PLAN, &[old])?;
    ensure!(planned.out.contains("cannot be compared"), "the old key still opens it: {}", planned.out);
    Ok(())
}

#[test]
fn the_whole_state_is_encrypted_on_request() -> Result<()> {
    let place = place("{ env: KEY }")?;
    let passphrase = ("SLIPWAY_PASSPHRASE", "correct horse");
    expect(&place, 0, APPLY, &[passphrase])?;
    ensure!(stored(&place)?.contains("sim_network"), "in clear so far");
    place.write("config/slipway/config.toml", "[encryption]\nstate = true\n")?;
    let refused = expect(&place, 1, PLAN, &[passphrase])?;
    ensure!(refused.err.contains("SECRET0014") && refused.err.contains("state rekey"), "{}", refused.err);
    let verified = expect(&place, 1, &["state", "verify"], &[passphrase])?;
    ensure!(verified.out.contains("vault: not encrypted") && verified.out.contains("state rekey vault"));
    ensure!(!verified.out.contains("damaged"), "{}", verified.out);
    expect(&place, 0, &["state", "rekey"], &[passphrase])?;
    ensure!(!stored(&place)?.contains("sim_network"), "something is in clear");
    expect(&place, 0, PLAN, &[passphrase])?;
    expect(
        &place,
        0,
        &["apply", "-f", "spec.yaml", "--yes", "--replace", "sim_machine_pool.*", "--confirm", POOL],
        &[passphrase],
    )?;
    ensure!(!stored(&place)?.contains("sim_network"), "something was written in clear");
    let refused = expect(&place, 1, PLAN, &[])?;
    ensure!(refused.err.contains("SECRET0003"), "{}", refused.err);
    for verb in ["verify", "gc", "history"] {
        let arguments: &[&str] =
            if verb == "gc" { &["state", "gc", "--keep", "0", "--yes"] } else { &["state", verb, "vault"] };
        expect(&place, 0, arguments, &[passphrase])?;
    }
    // And back again.
    place.write("config/slipway/config.toml", "[encryption]\nstate = false\n")?;
    expect(&place, 0, PLAN, &[passphrase])?;
    expect(&place, 0, &["state", "rekey"], &[passphrase])?;
    ensure!(stored(&place)?.contains("sim_network") && envelopes(&place)? == 1, "only secrets stay sealed");
    expect(&place, 0, PLAN, &[passphrase]).map(|_| ())
}

#[test]
fn a_plan_file_has_its_secrets_sealed() -> Result<()> {
    let place = place("{ file: key.txt }")?;
    // Without a key in the spec, this profile encrypts nothing.
    let kubeadm = |spec: String| spec.replace("  zones:", "  profile: kubeadm\n  zones:");
    place.write("spec.yaml", &kubeadm(vault("{ file: key.txt }")))?;
    let passphrase = ("SLIPWAY_PASSPHRASE", "correct horse");
    // The key of the cluster exists, so that plans can have fingerprints: the spec has no secret yet.
    place.write("key.txt", FIRST)?;
    expect(&place, 0, APPLY, &[passphrase])?;
    place.write("spec.yaml", &kubeadm(SMALL.replace("name: line", "name: vault")))?;
    let confirm = ["--yes", "--confirm", POOL];
    let removed = expect(&place, 1, &["apply", "-f", "spec.yaml", "--yes"], &[passphrase])?;
    ensure!(removed.out.contains("it removes encryption_at_rest, encryption_key"), "{}", removed.out);
    expect(&place, 0, &[&["apply", "-f", "spec.yaml"][..], &confirm].concat(), &[passphrase])?;
    place.write("spec.yaml", &kubeadm(vault("{ file: key.txt }")))?;
    place.write("key.txt", SECOND)?;
    expect(&place, 2, &["plan", "-f", "spec.yaml", "--out", "a.plan"], &[passphrase])?;
    let file = std::fs::read_to_string(place.path().join("a.plan"))?;
    ensure!(file.contains("slipway-envelope") && !file.contains(SECOND));
    // A saved plan without secrets: an apply without a key reads the text again, and it must be the same.
    let mut document: serde_json::Value = serde_json::from_str(&file)?;
    document.as_object_mut().context("an object")?.remove("sealed");
    place.write("b.plan", &document.to_string())?;
    place.write("key.txt", THIRD)?;
    let refused = expect(&place, 1, &["apply", "b.plan", "--yes"], &[passphrase])?;
    ensure!(refused.err.contains("run `slipway plan` again"), "{}{}", refused.out, refused.err);
    // The planned text is applied, even when the file has changed since.
    std::fs::remove_file(place.path().join("key.txt"))?;
    expect(&place, 0, &["apply", "a.plan", "--yes"], &[passphrase])?;
    place.write("key.txt", SECOND)?;
    expect(&place, 0, PLAN, &[passphrase]).map(|_| ())
}

/// The pool of the new name would begin with a key that cannot read the data of the old one.
#[test]
fn another_key_beside_a_renamed_pool_is_refused() -> Result<()> {
    let place = place("{ env: KEY }")?;
    let pool = |name: &str| {
        format!(
            "---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: {name} }}\nspec: {{ role: controlPlane, machineType: sim.medium }}\n"
        )
    };
    // Two of three control planes stay.
    let three = vault("{ env: KEY }") + &pool("second") + &pool("third");
    place.write("spec.yaml", &three)?;
    expect(&place, 0, APPLY, &[])?;
    place.write("spec.yaml", &three.replace("name: control-plane", "name: other"))?;
    let same = expect(&place, 2, PLAN, &[])?;
    ensure!(!same.out.contains("encrypted with"), "{}", same.out);
    for arguments in [PLAN, &[APPLY, &["--confirm", "sim_machine_pool.other"]].concat()] {
        let refused = expect(&place, 1, arguments, &[("KEY", OTHER)])?;
        ensure!(
            refused.err.contains("PLAN0021")
                && refused.err.contains("sim_machine_pool.second has encryption_key")
        );
    }
    // Alone it would leave its data behind, with any key.
    let place = self::place("{ env: KEY }")?;
    expect(&place, 0, APPLY, &[])?;
    place.write("spec.yaml", &vault("{ env: KEY }").replace("name: control-plane", "name: other"))?;
    for key in [TEXT, OTHER] {
        let refused = expect(&place, 1, PLAN, &[("KEY", key)])?;
        ensure!(refused.err.contains("PLAN0048"), "{}", refused.err);
    }
    Ok(())
}

/// The cloud does not show keys, so a rebuilt state cannot know which one is in use.
#[test]
fn the_key_of_a_rebuilt_state_is_confirmed_by_name() -> Result<()> {
    let place = place("{ env: KEY }")?;
    expect(&place, 0, APPLY, &[])?;
    std::fs::remove_dir_all(place.path().join(".slipway/state"))?;
    expect(&place, 0, &["state", "rebuild", "vault", "-f", "spec.yaml", "--yes"], &[])?;
    let refused = expect(&place, 1, APPLY, &[("KEY", OTHER)])?;
    ensure!(refused.out.contains("the state does not know its encryption_key"), "{}", refused.out);
    expect(&place, 0, &[APPLY, &["--confirm", POOL]].concat(), &[])?;
    expect(&place, 0, PLAN, &[]).map(|_| ())
}

/// Another tool's key was never compared with the one of the spec: the first plan says so, and not the one after the first run.
#[test]
fn the_key_of_an_adopted_cluster_is_confirmed_by_name() -> Result<()> {
    let place = place("{ env: KEY }")?;
    expect(&place, 0, APPLY, &[])?;
    let tamper = Tamper::open(place.cloud());
    for object in place.inventory()?.objects {
        tamper.set_owner(&object.id, None)?;
    }
    std::fs::remove_dir_all(place.state())?;
    expect(&place, 0, &["adopt", "-f", "spec.yaml", "--yes"], &[("KEY", OTHER)])?;
    for key in [TEXT, OTHER] {
        let planned = expect(&place, 2, PLAN, &[("KEY", key)])?.out;
        ensure!(planned.contains("the state does not know its encryption_key"), "{planned}");
        ensure!(!planned.contains("No changes"), "{planned}");
        let drift = expect(&place, 0, &["drift", "vault"], &[("KEY", key)])?.out;
        ensure!(!drift.contains("Nothing of vault was changed"), "{drift}");
    }
    let refused = expect(&place, 1, APPLY, &[("KEY", OTHER)])?;
    let shown = format!("{}{}", refused.out, refused.err);
    ensure!(shown.contains(&format!("--confirm {POOL}")), "{shown}");
    expect(&place, 0, &[APPLY, &["--confirm", POOL]].concat(), &[])?;
    expect(&place, 0, PLAN, &[])?;
    // What another tool made has no tags, and gets none.
    let owned = place.inventory()?.objects.into_iter().filter(|object| object.owner.is_some()).count();
    ensure!(owned == 0, "{owned} objects were tagged");
    Ok(())
}

/// A plan that cannot compare a key does not call it unchanged.
#[test]
fn a_key_that_cannot_be_compared_is_confirmed_by_name() -> Result<()> {
    let place = place("{ env: KEY }")?;
    expect(&place, 0, APPLY, &[])?;
    std::fs::remove_dir_all(place.state().join("vault/secrets"))?;
    let verified = expect(&place, 1, &["state", "verify"], &[])?;
    ensure!(verified.out.contains("the key of its fingerprints is missing"), "{}", verified.out);
    for key in [TEXT, OTHER] {
        let refused = expect(&place, 1, APPLY, &[("KEY", key)])?;
        let names =
            ["the state does not know its encryption_key", "--confirm sim_machine_pool.control-plane"];
        let shown = format!("{}{}", refused.out, refused.err);
        ensure!(names.iter().all(|name| shown.contains(name)), "{shown}");
    }
    // Another change of the pool does not bring another key along.
    place.write("spec.yaml", &vault("{ env: KEY }").replace("sim.medium", "sim.large"))?;
    let refused = expect(&place, 1, APPLY, &[("KEY", OTHER)])?;
    ensure!(refused.out.contains("the state does not know its encryption_key"), "{}", refused.out);
    place.write("spec.yaml", &vault("{ env: KEY }"))?;
    // A saved plan is held against the state as it was compared when it was made.
    expect(&place, 2, &[PLAN, &["--out", "a.plan"]].concat(), &[])?;
    expect(&place, 0, &["apply", "a.plan", "--yes", "--confirm", POOL], &[])?;
    expect(&place, 0, PLAN, &[])?;
    expect(&place, 0, &["state", "verify"], &[])?;
    let refused = expect(&place, 1, PLAN, &[("KEY", OTHER)])?;
    ensure!(refused.err.contains("PLAN0021"), "{}", refused.err);
    Ok(())
}

/// Objects that one encryption provider encrypted cannot be read by another one, or when their kind is not
/// encrypted any more.
#[test]
fn settings_of_encryption_at_rest_cannot_change() -> Result<()> {
    let place = place("{ env: KEY }")?;
    expect(&place, 0, APPLY, &[])?;
    for settings in ["provider: aescbc, key: { env: KEY }", "key: { env: KEY }, resources: [configmaps]"] {
        let changed = vault("X").replace("key: X", settings);
        place.write("spec.yaml", &changed)?;
        for arguments in [PLAN, APPLY, &[APPLY, &["--replace", POOL, "--confirm", POOL]].concat()] {
            let refused = expect(&place, 1, arguments, &[])?;
            let names = [
                "PLAN0021",
                "encryption_at_rest, which cannot be replaced",
                "(encryption.atRest",
                "spec.yaml:9:",
            ];
            ensure!(names.iter().all(|name| refused.err.contains(name)), "{}", refused.err);
        }
    }
    Ok(())
}

#[test]
fn a_key_that_no_api_server_takes_is_refused_while_planning() -> Result<()> {
    let place = place("{ env: KEY }")?;
    for (key, problem) in [("another text", "not in base64"), ("c2hvcnQ=", "it has 5 bytes, not 32")] {
        for arguments in [PLAN, APPLY] {
            let refused = expect(&place, 1, arguments, &[("KEY", key)])?;
            let names = ["SPEC0064", problem, "openssl rand -base64 32", "spec.yaml:9"];
            ensure!(names.iter().all(|name| refused.err.contains(name)), "{}", refused.err);
            ensure!(!refused.err.contains(key), "{}", refused.err);
        }
    }
    let aes = vault("X").replace("key: X", "provider: aescbc, key: { env: KEY }");
    place.write("spec.yaml", &aes)?;
    expect(&place, 0, APPLY, &[("KEY", "MTYtYnl0ZXMtb2Yta2V5IQ==")]).map(|_| ())
}

#[test]
fn a_swapped_envelope_is_refused() -> Result<()> {
    let place = place("{ env: KEY }")?;
    expect(&place, 0, APPLY, &[])?;
    let folder = place.state().join("vault/secrets/fingerprint-key");
    let own = files(&folder)?.pop().context("the key")?;
    let other = own.with_file_name("000000000001-00000000000000000000000000000000");
    std::fs::rename(&own, &other)?;
    let refused = expect(&place, 1, PLAN, &[])?;
    ensure!(refused.err.contains("SECRET0005"), "{}", refused.err);
    Ok(())
}

#[test]
fn secrets_come_from_files_of_sops() -> Result<()> {
    let place = place("{ sops: \"secrets.yaml#etcd.encryption_key\" }")?;
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/sops");
    std::fs::copy(fixtures.join("secrets.yaml"), place.path().join("secrets.yaml"))?;
    let identity = fixtures.join("identity.txt");
    let identity = ("SOPS_AGE_KEY_FILE", identity.to_str().context("a path")?);
    expect(&place, 0, APPLY, &[identity])?;
    expect(&place, 0, PLAN, &[identity])?;
    let planned = expect(&place, 1, PLAN, &[])?;
    ensure!(planned.out.contains("SOPS_AGE_KEY_FILE"), "{}", planned.out);
    Ok(())
}

#[test]
fn a_key_service_of_a_provider_seals_and_opens() -> Result<()> {
    let place = place("{ env: KEY }")?;
    let cloud = place.path().join("keys");
    let config = format!(
        "[[encryption.key-services]]\nprovider = \"sim\"\nkey = \"key/state\"\nconfig = {{ directory = \"{}\" }}\n",
        cloud.display()
    );
    place.write("config/slipway/config.toml", &config)?;
    expect(&place, 0, APPLY, &[])?;
    ensure!(stored(&place)?.contains("\"id\":\"sim:key/state\"") && !stored(&place)?.contains("age1"));
    expect(&place, 0, PLAN, &[])?;
    std::fs::rename(cloud.join("key/state"), cloud.join("key/elsewhere"))?;
    let planned = expect(&place, 1, PLAN, &[])?;
    ensure!(planned.out.contains("cannot unwrap a key"), "{}", planned.out);
    Ok(())
}
