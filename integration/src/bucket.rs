//! Buckets of a real S3 API over HTTP, one for each place that keeps its state in one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context as _, Result};
use slipway_state_store::{Backend, Prefix, Settings, open_with};
use slipway_testkit::Moto;

/// One server for all places of this process; it ends with the process.
static SERVER: Mutex<Option<Arc<Moto>>> = Mutex::new(None);

/// How many buckets there are.
static BUCKETS: AtomicUsize = AtomicUsize::new(0);

/// A bucket of its own.
#[derive(Clone, Debug)]
pub struct Bucket {
    server: Arc<Moto>,
    name: String,
}

impl Bucket {
    /// Makes one, and starts the server for the first.
    ///
    /// # Errors
    /// When the server does not start.
    pub fn new() -> Result<Self> {
        let mut running = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
        let server = match &*running {
            Some(server) => server.clone(),
            None => running.insert(Arc::new(Moto::start()?)).clone(),
        };
        drop(running);
        let name = format!("place-{}", BUCKETS.fetch_add(1, Ordering::SeqCst));
        server.create_bucket(&name)?;
        Ok(Self { server, name })
    }

    /// The address of the state in it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("s3://{}/state", self.name)
    }

    /// The server's port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// The environment variables with which the program reaches the bucket.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        self.server.environment()
    }

    /// The state in it.
    ///
    /// # Errors
    /// When the address is not understood.
    pub fn backend(&self) -> Result<Arc<dyn Backend>> {
        Ok(open_with(&self.url(), &Settings::new(self.environment()))?)
    }

    /// Copies all objects from another bucket.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn copy_from(&self, other: &Self) -> Result<()> {
        let (from, to) = (other.backend()?, self.backend()?);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            for key in from.list(&Prefix::root()).await? {
                let (bytes, _) = from.get(&key).await?.context("what was listed")?;
                match to.create(&key, bytes).await {
                    // The store's own marker: writing anything makes it first.
                    Err(slipway_state_store::backend::Error::AlreadyExists { .. }) => {}
                    written => drop(written?),
                }
            }
            Ok(())
        })
    }
}
