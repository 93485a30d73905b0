//! The simulated cloud keeps every rule.
//!
//! This executable has two roles: started by the suite, it serves the provider; started otherwise, it runs
//! the suite.

#![allow(missing_docs, reason = "a test")]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use slipway_protocol::handshake::NONCE;
use slipway_provider_conformance::{Scenario, Suite, Verdict};
use slipway_provider_sdk::{ServeOptions, serve};
use slipway_provider_sim::Sim;

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    if std::env::var_os(NONCE).is_some() {
        serve(Arc::new(Sim), ServeOptions::from_environment()?).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/conformance.json");
    let mut scenario = Scenario::read(&file)?;
    if let Some(expand) = &mut scenario.expand {
        // Pools and add-ons are distinguished by name.
        let mut reordered = expand.cluster.clone();
        for list in ["pools", "addons"] {
            if let Some(items) = reordered.get_mut(list).and_then(|list| list.as_array_mut()) {
                items.reverse();
            }
        }
        expand.reordered = Some(reordered);
    }
    let suite = Suite::new("sim", std::env::current_exe()?, scenario);
    let report = suite.run(&[]).await;
    std::io::stdout().lock().write_all(report.to_text().as_bytes())?;
    let is_proved = report.conforms() && report.with(&Verdict::Skip).is_empty();
    Ok(if is_proved { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
