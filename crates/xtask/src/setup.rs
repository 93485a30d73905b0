//! Installs ahead what the tests would install for themselves.

use std::process::Command;

use anyhow::Context;
use slipway_testkit::{Azurite, FakeGcs, cache};

use crate::output::say;

/// Installs what the tests start into the user's cache folder.
///
/// Tests do that themselves when something is missing; done ahead, no test has to wait for it. Azurite comes through npm,
/// fake-gcs-server is built with Go, moto has to be there for `python3`.
#[derive(clap::Args)]
pub struct Setup;

impl Setup {
    /// Runs the task.
    ///
    /// # Errors
    /// When something cannot be installed.
    pub fn run(&self) -> anyhow::Result<()> {
        say(&format!("Azurite is at {}", Azurite::install()?.display()));
        say(&format!("fake-gcs-server is at {}", FakeGcs::install()?.display()));
        cache::run(Command::new("python3").args(["-c", "import moto.server"]))
            .context("moto is missing: pip install 'moto[server]'")?;
        say("moto is there");
        Ok(())
    }
}
