//! The names that a spec of the caller may contain. `machine_trust` has the tests for specs of other persons.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use anyhow::Result;
use slipway_integration::executables;
use slipway_integration::place::{Ended, Place};

use crate::{APPLY, PLAN, PROGRAM, SMALL};

fn place() -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    Ok(place)
}

fn all(ended: &Ended) -> String {
    format!("{}{}", ended.out, ended.err)
}

/// A spec for the provider `kubernetes`, and a kubeconfig beside it with this user.
fn with_kubeconfig(place: &Place, user: &str) -> Result<()> {
    let provider = "provider: { name: kubernetes, config: { kubeconfig: kc.conf } }";
    place.write("spec.yaml", &SMALL.replace("provider: { name: sim }", provider))?;
    place.write(
        "kc.conf",
        &format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [ {{ name: a, context: {{ cluster: a, user: a }} }} ]\n\
             clusters: [ {{ name: a, cluster: {{ server: 'https://127.0.0.1:1' }} }} ]\nusers: [ {{ name: a, user: {user} }} ]\n"
        ),
    )?;
    let script = place.write("run-me.sh", "#!/bin/sh\ntouch ran\n")?;
    std::fs::set_permissions(script, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}

#[test]
fn a_kubeconfig_that_a_spec_names_runs_nothing_and_sends_nothing() -> Result<()> {
    let place = place()?;
    let exec = "{ exec: { apiVersion: client.authentication.k8s.io/v1, command: ./run-me.sh, interactiveMode: Never } }";
    for user in [
        exec,
        "{ auth-provider: { name: gcp, config: { cmd-path: ./run-me.sh } } }",
        "{ tokenFile: /etc/hostname }",
    ] {
        with_kubeconfig(&place, user)?;
        let said = all(&place.expect(1, PLAN)?);
        assert!(
            said.contains("TRUST0005")
                && said.contains("spec.yaml:5")
                && said.contains("--trust kubeconfig=kc.conf"),
            "{said}"
        );
        assert!(!place.path().join("ran").exists());
    }
    // The caller may mean it.
    with_kubeconfig(&place, exec)?;
    place.expect(1, &[PLAN, &["--trust", "kubeconfig=kc.conf"]].concat())?;
    assert!(place.path().join("ran").exists(), "the caller's own kubeconfig runs what it says");
    Ok(())
}

#[test]
fn a_kubeconfig_that_is_none_is_not_shown() -> Result<()> {
    let place = place()?;
    with_kubeconfig(&place, "{}")?;
    for text in ["root:x:0:0:hunter2:/root\nmore: [", "users: hunter2", "{ token: hunter2"] {
        place.write("kc.conf", text)?;
        for arguments in [PLAN.to_vec(), [PLAN, &["--trust", "kubeconfig=kc.conf"]].concat()] {
            let said = all(&place.expect(1, &arguments)?);
            assert!(said.contains("kubeconfig") && !said.contains("hunter2"), "{said}");
        }
    }
    Ok(())
}

#[test]
fn a_spec_that_leads_out_of_its_folder_is_not_read() -> Result<()> {
    let (place, elsewhere) = (place()?, tempfile::tempdir()?);
    let secret = elsewhere.path().join("secret.yaml");
    std::fs::write(&secret, "token: hunter2\nmore: [\n")?;
    symlink(&secret, place.path().join("spec.yaml"))?;
    let said = all(&place.expect(1, PLAN)?);
    assert!(said.contains("TRUST0002") && !said.contains("hunter2"), "{said}");
    let root = format!("file-root={}", std::fs::canonicalize(elsewhere.path())?.display());
    let said = all(&place.expect(1, &[PLAN, &["--trust", &root]].concat())?);
    assert!(said.contains("SPEC") && !said.contains("TRUST"), "{said}");
    Ok(())
}

#[test]
fn the_configuration_of_the_user_allows_and_relative_paths_in_it_begin_there() -> Result<()> {
    let (place, elsewhere) = (place()?, tempfile::tempdir()?);
    std::fs::write(elsewhere.path().join("real.yaml"), SMALL)?;
    symlink(elsewhere.path().join("real.yaml"), place.path().join("spec.yaml"))?;
    place.expect(1, PLAN)?;
    let folder = std::fs::canonicalize(elsewhere.path())?;
    place.write(
        "config/slipway/config.toml",
        &format!("[trust]\nfile-roots = [\"{}\"]\n", folder.display()),
    )?;
    place.expect(2, PLAN)?;
    place.write("config/slipway/config.toml", "[trust]\neverything = true\n")?;
    assert!(all(&place.expect(1, PLAN)?).contains("CLI0003"));
    Ok(())
}

#[test]
fn the_configuration_of_the_system_counts_for_all_users_and_theirs_adds_to_it() -> Result<()> {
    let place = place()?;
    let (first, second) = (tempfile::tempdir()?, tempfile::tempdir()?);
    for (root, name) in [(&first, "spec.yaml"), (&second, "other.yaml")] {
        std::fs::write(root.path().join("real.yaml"), SMALL)?;
        symlink(root.path().join("real.yaml"), place.path().join(name))?;
    }
    let other = ["plan", "-f", "other.yaml"];
    let allow = |file: &str, root: &tempfile::TempDir, more: &str| -> Result<()> {
        let folder = std::fs::canonicalize(root.path())?;
        place.write(file, &format!("{more}[trust]\nfile-roots = [\"{}\"]\n", folder.display()))?;
        Ok(())
    };
    place.expect(1, PLAN)?;
    allow("system/config.toml", &first, "require-approval = 2\n")?;
    place.expect(2, PLAN)?;
    place.expect(1, &other)?;
    assert!(all(&place.expect(1, APPLY)?).contains("CLI0035"));
    // The user's file adds folders, and its number counts.
    allow("config/slipway/config.toml", &second, "require-approval = 0\n")?;
    place.expect(2, PLAN)?;
    place.expect(2, &other)?;
    place.expect(0, APPLY)?;
    place.write("system/config.toml", "[trust]\neverything = true\n")?;
    let told = all(&place.expect(1, PLAN)?);
    assert!(told.contains("CLI0003") && told.contains("system/config.toml"), "{told}");
    Ok(())
}

#[test]
fn a_plan_writes_nothing_not_even_the_calls_of_a_simulated_cloud() -> Result<()> {
    let place = place()?;
    place.write("spec.yaml", SMALL)?;
    place.expect(0, APPLY)?;
    let calls = place.cloud().join("calls.jsonl");
    let before = std::fs::read(&calls)?;
    place.expect(0, PLAN)?;
    place.expect(0, &["drift", "-f", "spec.yaml"])?;
    assert_eq!(std::fs::read(&calls)?, before);
    Ok(())
}

#[test]
fn an_untrusted_plan_needs_the_caller_s_word() -> Result<()> {
    let place = place()?;
    place.write("spec.yaml", SMALL)?;
    let untrusted = [PLAN, &["--untrusted"]].concat();
    place.expect(2, &untrusted)?;
    place.expect(0, APPLY)?;
    let said = all(&place.expect(1, &untrusted)?);
    assert!(said.contains("TRUST0013"), "{said}");
    place.expect(0, &[&untrusted[..], &["--state", ".slipway/state"]].concat())?;
    place.expect(2, &[&untrusted[..], &["--offline"]].concat())?;
    let said = all(&place.expect(1, &[PLAN, &["--trust", "everything=yes"]].concat())?);
    assert!(said.contains("TRUST0014"), "{said}");
    Ok(())
}

/// A spec from standard input has no folder: the files of the working directory are not its files.
#[test]
fn a_spec_from_standard_input_opens_no_file() -> Result<()> {
    // The manifest itself is read where the API is known.
    let place = place()?;
    let hostile = executables::root().join("fixtures/hostile/manifest-elsewhere/repo/a.yaml");
    let text = std::fs::read_to_string(hostile)?.replace("'@PLACE@/outside/secret.yaml'", "sec.yaml");
    let spec = place.write("specs/spec.yaml", &text)?;
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { token: hunter2 }\n";
    place.write("sec.yaml", manifest)?;
    let piped = |more: &[&str]| -> Result<Ended> {
        let arguments = [&["plan", "--offline", "-f", "-"][..], more].concat();
        let input = std::fs::File::open(&spec)?;
        Ended::of(place.command(&arguments).stdin(input).output()?)
    };
    for more in [&["--untrusted"][..], &[]] {
        let ended = piped(more)?;
        let said = all(&ended);
        assert!(ended.code == Some(1) && said.contains("TRUST0001"), "{more:?}: {said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
    let file = format!("file-root={}", std::fs::canonicalize(place.path())?.join("sec.yaml").display());
    let said = all(&piped(&["--trust", &file])?);
    assert!(!said.contains("TRUST0001"), "{said}");
    Ok(())
}

/// One run reports each manifest that the policy refuses.
#[test]
fn each_refused_manifest_is_reported() -> Result<()> {
    let place = place()?;
    let hostile = executables::root().join("fixtures/hostile/manifest-elsewhere/repo/a.yaml");
    let text = std::fs::read_to_string(hostile)?;
    let one = "    - name: extra\n      manifest: { file: '@PLACE@/outside/secret.yaml' }\n";
    assert!(text.contains(one), "{text}");
    let more = [
        ("first", "file: /etc/hostname"),
        ("second", "file: ../elsewhere.yaml"),
        ("third", "url: { url: 'https://example.com/a.yaml', sha256: DIGEST }"),
    ];
    let addon =
        |(name, manifest): (&str, &str)| format!("    - name: {name}\n      manifest: {{ {manifest} }}\n");
    let addons: String = more.into_iter().map(addon).collect();
    let text = text.replace(one, &addons.replace("DIGEST", &"0".repeat(64)));
    place.write("specs/spec.yaml", &text)?;
    let said = all(&place.expect(1, &["plan", "--offline", "-f", "specs/spec.yaml", "--untrusted"])?);
    for part in ["`/etc/hostname`", "elsewhere.yaml", "https://example.com/a.yaml", "3 errors"] {
        assert!(said.contains(part), "{part} is not named: {said}");
    }
    Ok(())
}

/// A spec that names the state store, or another folder with files, as its simulated cloud writes nothing there.
#[test]
fn a_folder_of_other_files_is_no_simulated_cloud() -> Result<()> {
    let place = place()?;
    place.write("spec.yaml", SMALL)?;
    place.expect(0, APPLY)?;
    let before = place.expect(0, &["state", "verify", "--state", ".slipway/state"])?;
    for folder in [".slipway/state", ".slipway"] {
        let named = format!("{{\"directory\": \"{folder}\"}}");
        let refused =
            place.expect(1, &[PLAN, &["--provider", "sim", "--provider-config", &named]].concat())?;
        assert!(all(&refused).contains("is not used for a simulated cloud"), "{refused:?}");
    }
    let after = place.expect(0, &["state", "verify", "--state", ".slipway/state"])?;
    assert_eq!(before.out, after.out);
    Ok(())
}

/// The folder of the simulated cloud may come with a checkout: only its regular files are opened, and a plan writes none of them.
#[test]
fn files_of_a_simulated_cloud_are_neither_followed_nor_waited_for() -> Result<()> {
    let (place, elsewhere) = (place()?, tempfile::tempdir()?);
    place.write("spec.yaml", SMALL)?;
    place.expect(0, APPLY)?;
    let untrusted = [PLAN, &["--untrusted", "--state", ".slipway/state"]].concat();
    let (events, faults) = (place.cloud().join("events.jsonl"), place.cloud().join("faults.json"));
    let refused = |what: &str| -> Result<()> {
        for arguments in [&untrusted[..], PLAN] {
            let said = all(&place.expect(1, arguments)?);
            assert!(said.contains(what) && !said.contains("outcome-unknown"), "{what}: {said}");
        }
        Ok(())
    };
    assert!(std::process::Command::new("mkfifo").arg(&faults).status()?.success());
    refused("it is a named pipe")?;
    std::fs::remove_file(&faults)?;
    symlink("/dev/zero", &faults)?;
    refused("it is a symbolic link")?;
    std::fs::remove_file(&faults)?;
    let real = elsewhere.path().join("events");
    std::fs::rename(&events, &real).or_else(|_| std::fs::copy(&events, &real).map(drop))?;
    let _ = std::fs::remove_file(&events);
    symlink(&real, &events)?;
    refused("it is a symbolic link")?;
    std::fs::remove_file(&events)?;
    std::fs::copy(&real, &events)?;
    // Nothing of it is opened for writing.
    std::fs::set_permissions(&events, std::fs::Permissions::from_mode(0o444))?;
    place.expect(0, &untrusted)?;
    let moved = elsewhere.path().join("sim");
    slipway_integration::place::copy(&place.cloud(), &moved)?;
    std::fs::remove_dir_all(place.cloud())?;
    symlink(&moved, place.cloud())?;
    refused(".slipway/sim is a symbolic link")?;
    let named = format!("{{\"directory\": \"{}\"}}", moved.display());
    let ended = place.run(&[&untrusted[..], &["--provider", "sim", "--provider-config", &named]].concat())?;
    assert!(ended.code == Some(0), "{ended:?}");
    Ok(())
}
