//! The program as users and shells meet it: help, completions, colour, logs, exit codes, and files that it
//! must not change.

mod help;
mod providers;

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::executables::{self, root};
use slipway_integration::place::{Ended, Place};
use slipway_provider_sim::inspect::Tamper;
use slipway_resource::Digest;

use crate::{APPLY, PLAN, PROGRAM, SMALL};

fn place() -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    Ok(place)
}

fn run_with(place: &Place, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Ended> {
    Ended::of(place.command(arguments).envs(variables.iter().copied()).output()?)
}

#[test]
fn help_of_every_command() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let mut pages = Vec::new();
    let mut left = vec![Vec::new()];
    while let Some(path) = left.pop() {
        let mut command = slipway::command();
        for name in &path {
            command = command.find_subcommand(name).context("a command")?.clone();
        }
        let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
        let names = shown.map(|command| command.get_name().to_owned());
        left.extend(names.map(|name| [path.clone(), vec![name]].concat()));
        pages.push(path);
    }
    pages.sort();
    let mut text = String::new();
    for path in pages {
        let mut arguments: Vec<&str> = path.iter().map(String::as_str).collect();
        arguments.push("--help");
        let ended = Ended::of(place.command(&arguments).arg0("slipway").env("COLUMNS", "100").output()?)?;
        ensure!(ended.code == Some(0) && ended.err.is_empty(), "{ended:?}");
        text.push_str(&format!("$ slipway {}\n{}\n", arguments.join(" "), ended.out));
    }
    insta::assert_snapshot!("help", text);
    Ok(())
}

#[test]
fn colour_only_where_it_is_wanted() -> Result<()> {
    let place = place()?;
    let colourful = |ended: &Ended| (ended.out.contains('\u{1b}'), ended.err.contains('\u{1b}'));
    ensure!(colourful(&place.expect(2, PLAN)?) == (false, false), "colour in a pipe");
    let always = [PLAN, &["--color", "always"]].concat();
    ensure!(colourful(&place.expect(2, &always)?).0, "no colour when it is wanted");
    ensure!(colourful(&run_with(&place, &always, &[("NO_COLOR", "1")])?).0, "the option counts more");
    ensure!(colourful(&run_with(&place, PLAN, &[("CLICOLOR_FORCE", "1")])?).0, "CLICOLOR_FORCE");
    let both = run_with(&place, PLAN, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")])?;
    ensure!(colourful(&both) == (false, false), "NO_COLOR counts more");
    let never = run_with(&place, &[PLAN, &["--color", "never"]].concat(), &[("CLICOLOR_FORCE", "1")])?;
    ensure!(colourful(&never) == (false, false), "colour although never");
    // Errors too.
    let missing = ["delete", "nothing", "--yes"];
    ensure!(
        colourful(&place.expect(1, &[&missing[..], &["--color", "always"]].concat())?).1,
        "a plain error"
    );
    ensure!(!colourful(&place.expect(1, &missing)?).1, "a colourful error");
    Ok(())
}

#[test]
fn results_and_logs_do_not_mix() -> Result<()> {
    let place = place()?;
    let quiet = place.expect(2, &[PLAN, &["-o", "json"]].concat())?;
    ensure!(quiet.err.is_empty(), "{}", quiet.err);
    let loud = place.expect(2, &[PLAN, &["-o", "json", "-vvv"]].concat())?;
    ensure!(loud.out == quiet.out, "the result is another one with logs");
    ensure!(loud.err.contains("planned"), "no logs: {}", loud.err);
    let logs = place.expect(2, &[PLAN, &["-o", "json", "-vvv", "--log-format", "json"]].concat())?;
    ensure!(logs.out == quiet.out && !logs.err.is_empty());
    for line in logs.err.lines() {
        let record: Json = serde_json::from_str(line).with_context(|| line.to_owned())?;
        ensure!(record["level"].is_string() && record["fields"]["message"].is_string(), "{record}");
    }
    let filtered = run_with(&place, PLAN, &[("SLIPWAY_LOG", "info")])?;
    ensure!(filtered.err.contains("planned"), "SLIPWAY_LOG: {}", filtered.err);
    let applied = place.expect(0, APPLY)?;
    ensure!(!applied.out.contains("[1/") && applied.err.contains("[1/"), "progress is no result");
    Ok(())
}

#[test]
fn exit_codes() -> Result<()> {
    let place = place()?;
    let delete = ["delete", "line", "--dry-run"];
    let roll = ["roll", "-f", "spec.yaml", "--dry-run"];
    place.expect(1, &["drift", "line"])?;
    place.expect(1, &delete)?;
    place.expect(0, &["delete", "-f", "spec.yaml", "--dry-run"])?;
    place.expect(2, PLAN)?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    place.expect(0, &["drift", "line"])?;
    place.expect(2, &roll)?;
    place.expect(1, &[&roll[..], &["--pool", "workers"]].concat())?;
    place.expect(2, &delete)?;
    let network = place.inventory()?.of_type("sim_network").next().context("a network")?.id.clone();
    Tamper::open(place.cloud()).set(&network, &"tags.by".parse()?, "hand".into())?;
    place.expect(2, &["drift", "line"])?;
    place.write(".slipway/sim/faults.json", r#"[{ "type": "sim_network", "kind": "unreadable" }]"#)?;
    place.expect(1, PLAN)?;
    place.expect(1, &["drift", "line"])?;
    place.expect(1, &delete)?;
    std::fs::remove_file(place.cloud().join("faults.json"))?;
    // Without a terminal and without `--yes`, the command does nothing.
    let unasked = place.expect(1, &["apply", "-f", "spec.yaml"])?;
    ensure!(unasked.err.contains("CLI0014"), "{}", unasked.err);
    place.expect(0, APPLY)?;
    place.expect(0, &["delete", "line", "--yes", "--confirm", "line", "--delete-backups"])?;
    place.expect(1, &delete)?;
    let usage = place.expect(1, &["plan"])?;
    ensure!(usage.out.is_empty() && usage.err.contains("--file"), "{usage:?}");
    place.expect(0, &["--version"])?;
    Ok(())
}

/// Every file below a folder, with its digest; folders too.
fn tree(folder: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.insert(path.clone(), "folder".to_owned());
            found.extend(tree(&path)?);
        } else {
            let digest = Digest::of_bytes(&std::fs::read(&path)?);
            found.insert(path, digest.to_string());
        }
    }
    Ok(found)
}

#[test]
fn looking_writes_nothing() -> Result<()> {
    let place = place()?;
    let home = place.path().join("home");
    std::fs::create_dir(&home)?;
    let home = home.display().to_string();
    let looks: &[&[&str]] = &[
        PLAN,
        &["plan", "-f", "spec.yaml", "-o", "json"],
        &["plan", "-f", "spec.yaml", "--offline"],
        &["delete", "-f", "spec.yaml", "--dry-run"],
        &["roll", "-f", "spec.yaml", "--dry-run"],
        &["upgrade", "-f", "spec.yaml", "--to", "1.36.0", "--dry-run"],
        &["drift", "line"],
        &["spec", "check", "-f", "spec.yaml"],
        &["spec", "show", "-f", "spec.yaml", "--full"],
        &["provider", "list"],
        &["provider", "info", "sim"],
        &["explain", "cluster.spec"],
    ];
    let look = |what: &str| -> Result<()> {
        for arguments in looks {
            let before = tree(place.path())?;
            run_with(&place, arguments, &[("HOME", &home)])?;
            let after = tree(place.path())?;
            ensure!(before == after, "{what}: {arguments:?} wrote something");
        }
        Ok(())
    };
    look("at first use")?;
    place.expect(0, APPLY)?;
    look("after apply")?;
    place.expect(0, &["delete", "line", "--yes", "--confirm", "line"])?;
    look("after deletion")
}

#[test]
fn every_problem_of_a_bad_spec_in_one_run() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let mut cases = 0;
    for entry in std::fs::read_dir(root().join("fixtures/bad-specs"))? {
        let case = entry?.path();
        let Ok(text) = std::fs::read_to_string(case.join("expected.json")) else { continue };
        let expected: Vec<Json> = serde_json::from_str(&text)?;
        let folder = case.display().to_string();
        // The expectations are no spec.
        let files: Vec<String> = std::fs::read_dir(&case)?
            .map(|entry| Ok(entry?.path().display().to_string()))
            .filter(|path: &Result<String>| path.as_ref().is_ok_and(|path| !path.ends_with("expected.json")))
            .collect::<Result<_>>()?;
        let mut arguments = vec!["plan", "-f"];
        arguments.extend(files.iter().map(String::as_str));
        let ended = place.expect(1, &arguments)?;
        ensure!(ended.out.is_empty(), "{folder}: {}", ended.out);
        for problem in &expected {
            let code = problem["code"].as_str().unwrap_or_default();
            let place = format!(
                "{}:{}:",
                problem["file"].as_str().unwrap_or_default(),
                problem["line"].as_u64().unwrap_or_default()
            );
            ensure!(ended.err.contains(code), "{folder}: no {code}\n{}", ended.err);
            ensure!(ended.err.contains(&place), "{folder}: nothing at {place}\n{}", ended.err);
        }
        cases += 1;
    }
    ensure!(cases > 50, "{cases} cases");
    Ok(())
}

#[test]
fn what_init_writes_can_be_applied() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.expect(0, &["init", "first"])?;
    let text = std::fs::read_to_string(place.path().join("cluster.yaml"))?;
    let refused = place.expect(1, &["init", "second"])?;
    ensure!(refused.err.contains("hint:"), "{}", refused.err);
    ensure!(std::fs::read_to_string(place.path().join("cluster.yaml"))? == text, "it was overwritten");
    ensure!(
        place.expect(0, &["init", "first", "--out", "-"])?.out == text,
        "another text on standard output"
    );
    place.expect(0, &["init", "second", "--shape", "ha", "--out", "ha.yaml"])?;
    for file in ["cluster.yaml", "ha.yaml"] {
        place.expect(0, &["spec", "check", "-f", file])?;
        place.expect(0, &["apply", "-f", file, "--yes"])?;
        place.expect(0, &["plan", "-f", file])?;
    }
    Ok(())
}

#[test]
fn a_spec_is_read_from_standard_input() -> Result<()> {
    let place = place()?;
    // The digest covers where a field is written.
    let changes = |ended: &Ended| ended.out.split("Digest:").next().unwrap_or_default().to_owned();
    let from_file = changes(&place.expect(2, PLAN)?);
    let piped = |arguments: &[&str]| -> Result<Ended> {
        let spec = std::fs::File::open(place.path().join("spec.yaml"))?;
        Ended::of(place.command(arguments).stdin(spec).output()?)
    };
    let plan = piped(&["plan", "-f", "-"])?;
    ensure!(plan.code == Some(2) && changes(&plan) == from_file, "{plan:?}");
    ensure!(piped(&["plan", "--untrusted", "-f", "-"])?.code == Some(2));
    ensure!(piped(&["apply", "-f", "-", "--yes"])?.code == Some(0));
    ensure!(piped(&["plan", "-f", "-", "-f", "spec.yaml"])?.err.contains("two clusters named `line`"));
    let upgrade = ["upgrade", "-f", "-", "--to", "1.36.0", "--yes"];
    let refused = piped(&upgrade)?;
    ensure!(refused.code == Some(1) && refused.err.contains("CLI0093"), "{refused:?}");
    ensure!(piped(&[&upgrade[..], &["--keep-spec"]].concat())?.code == Some(0));
    place.write("spec.yaml", "kind: [")?;
    let bad = piped(&["plan", "-f", "-"])?;
    ensure!(bad.code == Some(1) && bad.err.contains("<stdin>:1:"), "{bad:?}");
    Ok(())
}

#[test]
fn frequent_mistakes_in_arguments_name_the_way_out() -> Result<()> {
    let place = place()?;
    for (arguments, hint) in [
        (&["plan", "spec.yaml"][..], "`slipway plan -f spec.yaml`"),
        (&["apply", "spec.yaml"], "`slipway apply -f spec.yaml`"),
        (&["apply"], "`slipway apply -f cluster.yaml`"),
        (&["apply", "missing.plan"], "`slipway plan -f SPEC --out missing.plan`"),
        (&["apply", "."], "`slipway apply -f .`"),
        (&["plan"], "`slipway plan -f clusters/prod`"),
        (&["kubeconfig", "--cluster", "nope"], "`slipway kubeconfig nope`"),
        (&["explain", "NOPE"], "`slipway explain SPEC0042`"),
        (&["plan", "-f", "spec.yaml", "--cluster", "lime"], "did you mean `line`?"),
        (&["plan", "-f", "spec.yaml", "--cluster", "nope"], "the clusters of the specs are: line"),
        (&["explain", "SPEC042"], "did you mean `SPEC0042`?"),
    ] {
        let ended = place.expect(1, arguments)?;
        ensure!(ended.err.contains(hint), "{arguments:?}: {}", ended.err);
    }
    Ok(())
}

#[test]
fn a_log_is_followed() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let log = place.write("root/var/log/slipway/kubelet.log", "one\ntwo\n")?;
    let mut program = place
        .command(&["node", "logs", "--rootfs", "root", "-n", "1", "-f"])
        .stdout(Stdio::piped())
        .spawn()?;
    let mut lines = BufReader::new(program.stdout.take().context("no standard output")?).lines();
    let last = lines.next().transpose()?;
    std::fs::File::options().append(true).open(log)?.write_all(b"three\n")?;
    let added = lines.next().transpose()?;
    program.kill()?;
    program.wait()?;
    ensure!(last.as_deref() == Some("two") && added.as_deref() == Some("three"), "{last:?} {added:?}");
    Ok(())
}

#[test]
fn errors_are_json_where_results_are() -> Result<()> {
    let place = place()?;
    for (arguments, code, message, hint) in [
        (&["state", "list", "nope", "-o", "json"][..], Some("CLI0009"), "nope", ""),
        (&["plan", "-f", "spec.yaml", "--cluster", "lime", "-o", "json"], Some("CLI0004"), "lime", "`line`"),
        (&["get", "clusters", "--bogus", "-o", "json"], None, "unexpected argument '--bogus' found", ""),
        (&["plan", "spec.yaml", "--output=json"], None, "spec.yaml", "`slipway plan -f spec.yaml`"),
    ] {
        let ended = place.expect(1, arguments)?;
        let report: Json = serde_json::from_str(&ended.out).with_context(|| format!("{ended:?}"))?;
        let problem = &report["diagnostics"][0];
        ensure!(problem["code"].as_str() == code && problem["severity"] == "error", "{report}");
        ensure!(problem["message"].as_str().is_some_and(|text| text.contains(message)), "{report}");
        ensure!(problem["hints"].to_string().contains(hint), "{report}");
        // People read the same on standard error.
        ensure!(ended.err.contains(message), "{}", ended.err);
    }
    // Text has no JSON.
    ensure!(place.expect(1, &["state", "list", "nope"])?.out.is_empty());
    Ok(())
}

#[test]
fn an_option_that_would_have_no_effect_is_refused() -> Result<()> {
    let place = place()?;
    place.expect(0, APPLY)?;
    place.expect(0, &[PLAN, &["--out", "a.plan"]].concat())?;
    let scope =
        ["--cluster=line", "--provider=sim", "--target=sim_network.main", "--replace=sim_network.main"];
    for option in scope.into_iter().chain(["--no-preflight"]) {
        let refused = place.expect(1, &["apply", "a.plan", "--yes", option])?;
        ensure!(refused.err.contains("cannot be used with"), "{option}: {}", refused.err);
    }
    for verb in ["delete", "drift", "validate"] {
        let refused = place.expect(1, &[verb, "line", "--cluster=other"])?;
        ensure!(refused.err.contains("cannot be used with"), "{verb}: {}", refused.err);
    }
    let refused = place.expect(1, &["delete", "line", "--infrastructure-only"])?;
    ensure!(refused.err.contains("unexpected argument"), "{}", refused.err);
    place.expect(0, PLAN)?;
    Ok(())
}

#[test]
fn quiet_leaves_results_and_errors() -> Result<()> {
    let place = place()?;
    let applied = place.expect(0, &[APPLY, &["--quiet"]].concat())?;
    ensure!(applied.err.is_empty() && applied.out.contains("Done: "), "{applied:?}");
    let failed = place.expect(1, &["-q", "delete", "nothing", "--yes"])?;
    ensure!(failed.err.contains("error[CLI0009]"), "{failed:?}");
    place.expect(0, &["state", "verify", "-q"])?;
    ensure!(place.expect(0, &["drift", "-f", "spec.yaml", "-q"])?.err.is_empty());
    // Notes are no results: here that a deletion will be refused.
    place.write(
        "spec.yaml",
        &SMALL.replace("spec:\n  provider", "spec:\n  deletionProtection: true\n  provider"),
    )?;
    place.expect(0, APPLY)?;
    let delete: &[&str] = &["delete", "-f", "spec.yaml", "--dry-run"];
    let told = place.run(delete)?;
    ensure!(told.out.contains("\nNotes") || told.out.starts_with("Notes"), "{told:?}");
    let quiet = place.run(&[delete, &["-q"]].concat())?;
    ensure!(quiet.code == told.code && quiet.err.is_empty() && !quiet.out.contains("Notes"), "{quiet:?}");
    Ok(())
}

#[test]
fn a_spec_with_all_defaults_is_the_same_cluster() -> Result<()> {
    for example in ["minimal", "ha-private", "ipv6", "spot", "single-host"] {
        let place = Place::new(PROGRAM)?;
        let folder = root().join("specs").join(example).display().to_string();
        let key = [("HA_PRIVATE_ENCRYPTION_KEY", "a key of thirty-two bytes, or so")];
        let expect = |code: i32, arguments: &[&str]| -> Result<Ended> {
            let ended = run_with(&place, arguments, &key)?;
            ensure!(ended.code == Some(code), "{example}: {arguments:?}: {}{}", ended.out, ended.err);
            Ok(ended)
        };
        expect(0, &["apply", "-f", &folder, "--yes"])?;
        let full = expect(0, &["spec", "show", "--full", "-f", &folder])?.out;
        ensure!(full.contains("# default"), "{full}");
        place.write("full.yaml", &full)?;
        expect(0, &["spec", "check", "-f", "full.yaml"])?;
        let plan = expect(0, &["plan", "-f", "full.yaml"])?;
        ensure!(plan.out.contains("No changes"), "{example}: {}", plan.out);
    }
    Ok(())
}

/// The simulated cloud's own executable, in a folder with its manifest.
pub(crate) fn provider(place: &Place) -> Result<String> {
    executables::build("slipway-provider-sim")?;
    let built = Path::new(PROGRAM).with_file_name("slipway-provider-sim");
    let manifest: String = std::fs::read_to_string(root().join("providers/sim/provider.toml"))?
        .lines()
        .map(|line| match line.starts_with("executable") {
            true => "executable = \"slipway-provider-sim\"\n".to_owned(),
            false => format!("{line}\n"),
        })
        .collect();
    place.write("providers/provider.toml", &manifest)?;
    std::fs::copy(built, place.path().join("providers/slipway-provider-sim"))?;
    Ok(place.path().join("providers").display().to_string())
}
