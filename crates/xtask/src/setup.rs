//! Installs ahead what the tests would install for themselves.

use slipway_testkit::{Azurite, FakeGcs, Moto, age};

use crate::output::say;

/// Installs what the tests start into the user's cache folder.
///
/// Tests do that themselves when something is missing; done ahead, no test has to wait for it. Azurite comes through npm,
/// fake-gcs-server and age are built with Go, moto comes through pip unless `python3` has it.
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
        say(&format!("moto is in {}", Moto::install()?.display()));
        Ok(())
    }
}
