//! The provider keeps the contract, in front of moto.

#![allow(missing_docs, reason = "a test")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slipway_provider_conformance::{Limits, Scenario, Suite, Verdict};
use slipway_testkit::Moto;

#[path = "support/mended.rs"]
mod mended;

/// The suite in front of an emulator.
#[allow(clippy::unwrap_used, reason = "a test")]
fn suite(moto: &Moto, scenario: &str, limits: Limits) -> Suite {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(scenario);
    let mut arguments: Vec<OsString> =
        moto.environment().iter().map(|(name, value)| format!("{name}={value}").into()).collect();
    arguments.push(env!("CARGO_BIN_EXE_slipway-provider-aws").into());
    Suite::new("aws", PathBuf::from("/usr/bin/env"), Scenario::read(&file).unwrap())
        .with_arguments(arguments)
        .with_limits(limits)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_is_kept() {
    let moto = Moto::start_mended(mended::MENDED).unwrap();
    let limits = Limits { start: Duration::from_secs(30), ..Limits::default() };
    let report = suite(&moto, "conformance.json", limits).run(&[]).await;
    assert!(report.conforms(), "{}", report.to_text());
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_have_instances_load_balancers_and_routes() {
    let moto =
        Moto::start_mended(&format!("{}{}", mended::MENDED, include_str!("support/blind.py"))).unwrap();
    // The first instances of two networks have the same private name: the rules take turns.
    let limits = Limits { start: Duration::from_secs(30), parallel: 1, ..Limits::default() };
    let rules = [
        "instances",
        "instances-never-guessed",
        "load-balancers",
        "load-balancers-never-guessed",
        "routes",
        "routes-never-guessed",
    ];
    let report = suite(&moto, "conformance-machines.json", limits).run(&rules.map(str::to_owned)).await;
    assert_eq!(report.with(&Verdict::Pass), rules, "{}", report.to_text());
}
