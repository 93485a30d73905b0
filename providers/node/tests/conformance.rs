//! The provider for a node keeps every rule.

#![allow(missing_docs, reason = "a test")]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use slipway_provider_conformance::{Scenario, Suite};

/// The executable of the provider. It is not this one, since units of the node start it with arguments of their own.
const PROVIDER: &str = env!("CARGO_BIN_EXE_slipway-provider-node");

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance.json");
    let suite = Suite::new("node", PROVIDER.into(), Scenario::read(&file)?);
    let report = suite.run(&[]).await;
    std::io::stdout().lock().write_all(report.to_text().as_bytes())?;
    Ok(if report.conforms() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
