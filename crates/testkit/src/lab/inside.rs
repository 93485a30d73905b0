//! Threads of the test in the network of its machines.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result, anyhow};
use nix::sched::{CloneFlags, setns};

use crate::Network;

/// The way into a network. A socket that a thread makes there stays there, whichever thread uses it later.
#[derive(Clone, Debug)]
pub struct Inside {
    namespace: Arc<File>,
}

impl Inside {
    /// The way into this network.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn of(network: &Network) -> Result<Self> {
        let path = format!("/proc/{}/ns/net", network.switch());
        Ok(Self { namespace: Arc::new(File::open(&path).context(path)?) })
    }

    /// Starts a thread there. Threads that it starts are there too.
    ///
    /// # Errors
    /// When there is no thread.
    pub fn spawn<T: Send + 'static>(
        &self,
        name: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<JoinHandle<Result<T>>> {
        let namespace = self.namespace.clone();
        let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
            setns(namespace.as_fd(), CloneFlags::CLONE_NEWNET).context("the network cannot be entered")?;
            Ok(work())
        });
        thread.context("no thread")
    }

    /// Does something there, and waits for it.
    ///
    /// # Errors
    /// When the network cannot be entered.
    pub fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let thread = self.spawn("inside", work)?;
        thread.join().map_err(|_| anyhow!("what was to be done in the network failed"))?
    }
}
