//! The reference provider: a cloud of two types in a file, as small as the contract allows.
//!
//! It keeps every rule. With `--defect <rule>` it breaks that one rule and no other, which is how the conformance
//! suite is itself tested.

mod act;
mod cloud;
mod defect;
mod instances;
mod keys;
mod kinds;
mod plan;
mod provider;
mod session;
mod traffic;

use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use slipway_provider_sdk::{ServeOptions, serve};

use defect::Defect;

/// The reference provider of the contract.
#[derive(Parser)]
struct Arguments {
    /// The rule to break.
    #[arg(long)]
    defect: Option<String>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let defect = Defect::new(Arguments::parse().defect);
    let mut options = ServeOptions::from_environment()?;
    if defect.breaks("handshake") {
        options.nonce.push('x');
    }
    let provider = Arc::new(provider::Reference::new(defect.clone()));
    serve(provider, options).await?;
    if defect.breaks("ends-with-stdin") {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
    Ok(())
}
