//! Allowed dependencies of the library, direct or not: it uses neither a terminal nor arguments.

use std::error::Error;
use std::process::Command;

/// Crates that read arguments, print or draw.
const TERMINAL: [&str; 7] =
    ["anstream", "clap", "clap_builder", "console", "dialoguer", "indicatif", "terminal_size"];

/// The names of the packages that a package is built from.
fn built_from(package: &str) -> Result<Vec<String>, Box<dyn Error>> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let output = Command::new(cargo)
        .args(["tree", "--offline", "--locked", "--prefix", "none", "--format", "{p}"])
        .args(["--edges", "normal", "--package", package])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

#[test]
fn the_library_knows_no_terminal() {
    let packages = built_from("slipway-operations").unwrap();
    assert!(packages.iter().any(|package| package == "slipway-engine"), "{packages:?}");
    let found: Vec<&str> =
        TERMINAL.into_iter().filter(|terminal| packages.iter().any(|package| package == terminal)).collect();
    assert!(found.is_empty(), "slipway-operations is built from {found:?}");
    // The program is, so that the names above are those of crates that exist.
    assert!(built_from("slipway").unwrap().iter().any(|package| package == "clap"));
}
