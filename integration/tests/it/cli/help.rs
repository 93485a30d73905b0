//! Completion, manual pages, and the pages of errors.

use std::process::Command;

use super::*;

#[test]
fn completions_and_manual_pages() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    for shell in ["bash", "zsh", "fish"] {
        let script = place.expect(0, &["completions", shell])?.out;
        ensure!(script.contains("slipway") && script.contains(" complete -- "), "{shell}: {script}");
        let file = place.write(&format!("script.{shell}"), &script)?;
        // The other shells check theirs where they are installed.
        let Ok(checked) = Command::new(shell).arg("-n").arg(&file).output() else {
            ensure!(shell != "bash", "there is no bash");
            continue;
        };
        ensure!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr));
    }
    place.expect(0, &["man", "pages"])?;
    for page in ["slipway.1", "slipway-plan.1", "slipway-provider-lock.1"] {
        let text = std::fs::read_to_string(place.path().join("pages").join(page)).context(page)?;
        ensure!(text.contains(".TH"), "{page}: {text}");
    }
    Ok(())
}

#[test]
fn a_shell_completes_commands_and_names() -> Result<()> {
    let place = place()?;
    place.expect(0, APPLY)?;
    let script = place.expect(0, &["completions", "bash"])?.out;
    place.write("script.bash", &script)?;
    // The last word is the one at the cursor.
    let completed = |words: &[&str]| -> Result<Vec<String>> {
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let call = format!(
            "source script.bash; COMP_WORDS=('{PROGRAM}' {}); COMP_CWORD={}; _slipway '{PROGRAM}'; printf '%s\\n' \
             \"${{COMPREPLY[@]}}\"",
            quoted.join(" "),
            words.len()
        );
        let output = Command::new("bash").args(["-c", &call]).current_dir(place.path()).output()?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
    };
    let state = place.state().display().to_string();
    ensure!(completed(&["upg"])? == ["upgrade"]);
    ensure!(completed(&["drift", "--state", &state, ""])? == ["line"], "a cluster of the state");
    ensure!(completed(&["plan", "-f", "spec.yaml", "--cluster", "l"])? == ["line"], "a cluster of a spec");
    let pools = completed(&["roll", "-f", "spec.yaml", "--pool", ""])?;
    ensure!(!pools.is_empty() && SMALL.contains(&format!("name: {}", pools[0])), "{pools:?}");
    let none = completed(&["drift", "--state", &state, "nothing"])?;
    ensure!(none.concat().is_empty(), "{none:?}");
    // A word without names lets the shell complete files.
    ensure!(completed(&["plan", "-f", "spec"])?.concat().is_empty());
    Ok(())
}

#[test]
fn the_version_has_the_versions_of_formats() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let version: Json = serde_json::from_str(&place.expect(0, &["version", "-o", "json"])?.out)?;
    ensure!(version["specApiVersion"] == "slipway.dev/v1alpha1", "{version}");
    let text = place.expect(0, &["version"])?.out;
    ensure!(
        text.starts_with(&format!("slipway {}", version["version"].as_str().unwrap_or_default())),
        "{text}"
    );
    Ok(())
}

#[test]
fn every_error_page_is_in_the_program() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let mut pages = 0;
    for entry in std::fs::read_dir(root().join("docs/errors"))? {
        let path = entry?.path();
        let Some(code) = path.file_stem().and_then(|stem| stem.to_str()) else { continue };
        if pages % 20 == 0 {
            let shown = place.expect(0, &["explain", &code.to_lowercase()])?.out;
            ensure!(shown.trim() == std::fs::read_to_string(&path)?.trim(), "{code}: {shown}");
        }
        pages += 1;
    }
    ensure!(pages > 200, "{pages} pages");
    Ok(())
}

#[test]
fn explanations() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let text = place.expect(0, &["explain", "cluster.spec.network"])?.out;
    ensure!(text.contains("cidr"), "{text}");
    let near = place.expect(1, &["explain", "cluster.spec.netwrok"])?;
    ensure!(near.err.contains("did you mean `network`"), "{}", near.err);
    for leaf in slipway_spec::leaves() {
        let path = format!("{}.{}", leaf.document.to_lowercase(), leaf.path.replace("[]", ""));
        let explained = slipway_spec::explain(&path);
        ensure!(explained.is_ok(), "{path}: {explained:?}");
    }
    Ok(())
}
