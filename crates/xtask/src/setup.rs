//! Installs ahead what the tests would install for themselves.

use std::process::Command;

use anyhow::Context;
use slipway_testkit::{Azurite, FakeGcs, age, cache};

use crate::output::say;

/// Installs what the tests start into the user's cache folder.
///
/// Tests do that themselves when something is missing; done ahead, no test has to wait for it. Azurite comes through npm,
/// fake-gcs-server and age are built with Go, moto has to be there for `python3`.
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
        say(&format!("age is in {}", age::install()?.display()));
        cache::run(Command::new("python3").args(["-c", "import moto.server"]))
            .context("moto is missing: pip install 'moto[server]'")?;
        say("moto is there");
        Ok(())
    }
}
