//! A short run of every target, with inputs that are the same every time. `cargo xtask fuzz` runs longer ones.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use slipway_fuzz::{campaign, target, worker::Work};

#[test]
fn no_input_is_too_much() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    let program = Path::new(env!("CARGO_BIN_EXE_slipway-fuzz"));
    let mut found = Vec::new();
    for target in target::ALL {
        let report = campaign::run(program, target, &Work { executions: 500, seed: 1 }, &folder).unwrap();
        println!("{report}");
        if report.outcome.finding.is_some() {
            found.push(report.to_string());
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_panic_too_much_memory_an_endless_loop_and_a_broken_law_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let program = Path::new(env!("CARGO_BIN_EXE_slipway-fuzz"));
    for (name, words) in [
        ("faulty-panic", "a panic"),
        ("faulty-memory", "signal"),
        ("faulty-time", " ms"),
        ("faulty-law", "does not hold"),
    ] {
        let target = target::FAULTY.iter().find(|target| target.name == name).unwrap();
        let report =
            campaign::run(program, target, &Work { executions: 10, seed: 1 }, folder.path()).unwrap();
        let finding = report.outcome.finding.clone().unwrap_or_default();
        assert!(finding.contains(words), "{report}");
        assert_eq!(std::fs::read(report.input.unwrap()).unwrap(), b"input");
    }
}
