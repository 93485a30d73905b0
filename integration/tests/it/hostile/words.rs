//! The built program with a provider whose errors are long or contain escape sequences. Output and stored
//! texts are bounded, and no escape sequence reaches the terminal. The provider is linked in once, and runs
//! as a process once.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::json;
use slipway_integration::place::Place;

use crate::cli::provider;
use crate::{APPLY, PLAN, PROGRAM, SMALL};

/// The most that one command may print, in bytes: a message of 4 KiB for each step that fails, shown twice.
const PRINTED: usize = 256 << 10;

/// The error of a call: a title for the terminal's window, a cleared screen, and many letters.
fn words(mebibytes: usize) -> String {
    format!("hostile words \u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\r{}", "x".repeat(mebibytes << 20))
}

/// Runs a command while a call fails so; the error is shown, and printed in bounds.
fn said(place: &Place, path: &str, call: &str, mebibytes: usize, arguments: &[&str]) -> Result<()> {
    let rule =
        json!([{ "method": call, "kind": "fail-before", "class": "permanent", "message": words(mebibytes) }]);
    let file = place.cloud().join("faults.json");
    place.write(".slipway/sim/faults.json", &rule.to_string())?;
    let output = place.command(arguments).env("SLIPWAY_PROVIDER_PATH", path).output()?;
    fs::remove_file(file)?;
    let printed = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(printed)?;
    let start: String = text.chars().take(2_000).collect();
    ensure!(output.status.code() == Some(1), "{call} {arguments:?}: {:?}: {start}", output.status);
    ensure!(text.contains("hostile words"), "{call} {arguments:?} does not show the error: {start}");
    ensure!(text.len() < PRINTED, "{call} {arguments:?} prints {} bytes: {start}", text.len());
    let raw = text.chars().find(|letter| letter.is_control() && !matches!(letter, '\n' | '\t'));
    ensure!(raw.is_none(), "{call} {arguments:?} prints {raw:?}: {start}");
    Ok(())
}

#[test]
fn a_provider_with_long_words_and_escapes_is_shown_in_bounds() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    let path = provider(&place)?;
    for is_apart in [false, true] {
        if is_apart {
            let locked =
                place.command(&["provider", "lock", "sim"]).env("SLIPWAY_PROVIDER_PATH", &path).output()?;
            ensure!(locked.status.success(), "{}", String::from_utf8_lossy(&locked.stderr));
        }
        said(&place, &path, "discover", 20, PLAN)?;
        // The simulated cloud reads the fault again for each of its calls: the others have less to read.
        said(&place, &path, "discover", 1, &[PLAN, &["-o", "json"]].concat())?;
        said(&place, &path, "preflight", 1, APPLY)?;
        said(&place, &path, "create", 1, APPLY)?;
    }
    // The stored text of the error is bounded, too.
    let mut kept = 0;
    let mut folders = vec![place.state()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => folders.push(entry.path()),
                false => kept += entry.metadata()?.len(),
            }
        }
    }
    ensure!(kept < 4 << 20, "the state has {kept} bytes");
    let recovered = place.command(APPLY).env("SLIPWAY_PROVIDER_PATH", &path).output()?;
    ensure!(recovered.status.success(), "{}", String::from_utf8_lossy(&recovered.stderr));
    Ok(())
}
