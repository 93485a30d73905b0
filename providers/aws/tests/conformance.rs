//! The provider keeps the contract, in front of moto.

#![allow(missing_docs, reason = "a test")]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use slipway_provider_conformance::{Limits, Scenario, Suite};
use slipway_testkit::Moto;

#[path = "support/mended.rs"]
mod mended;

#[tokio::test(flavor = "multi_thread")]
async fn the_contract_is_kept() {
    let moto = Moto::start_mended(mended::MENDED).unwrap();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance.json");
    let scenario = Scenario::read(&file).unwrap();
    let mut arguments: Vec<OsString> =
        moto.environment().iter().map(|(name, value)| format!("{name}={value}").into()).collect();
    arguments.push(env!("CARGO_BIN_EXE_slipway-provider-aws").into());
    let limits = Limits { start: Duration::from_secs(30), ..Limits::default() };
    let suite = Suite::new("aws", PathBuf::from("/usr/bin/env"), scenario)
        .with_arguments(arguments)
        .with_limits(limits);
    let report = suite.run(&[]).await;
    assert!(report.conforms(), "{}", report.to_text());
}
