//! The provider for a node keeps every rule.
//!
//! This executable has two roles: started by the suite, it serves the provider; started otherwise, it runs
//! the suite.

#![allow(missing_docs, reason = "a test")]

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use slipway_protocol::handshake::NONCE;
use slipway_provider_conformance::{Scenario, Suite};
use slipway_provider_node::Node;
use slipway_provider_sdk::{ServeOptions, serve};

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    if std::env::var_os(NONCE).is_some() {
        serve(Arc::new(Node::new()), ServeOptions::from_environment()?).await?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance.json");
    let suite = Suite::new("node", std::env::current_exe()?, Scenario::read(&file)?);
    let report = suite.run(&[]).await;
    std::io::stdout().lock().write_all(report.to_text().as_bytes())?;
    Ok(if report.conforms() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
