//! A provider behind a socket, in a thread of its own: all of the contract but the process.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context as _, Result};
use slipway_protocol::{Client, Deadlines, Life};
use slipway_provider_sdk::{ServeOptions, serve_until};
use slipway_resource::Provider;
use tempfile::TempDir;
use tokio::net::UnixListener;
use tokio::sync::oneshot;

/// A served provider; dropping this value ends it.
pub struct Served {
    directory: TempDir,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Served {
    /// Serves a provider.
    ///
    /// # Errors
    /// When no socket can be made.
    pub fn start(provider: Arc<dyn Provider>) -> Result<Self> {
        let directory = TempDir::new()?;
        let (end, ended) = oneshot::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let folder = directory.path().to_owned();
        let thread = std::thread::spawn(move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
                return;
            };
            runtime.block_on(async {
                let Ok(listener) = UnixListener::bind(folder.join("socket")) else { return };
                // The receiver is gone when the test has failed.
                let _ = ready.send(());
                let options = ServeOptions::new(folder, String::new());
                let _ = serve_until(provider, listener, &options, async {
                    let _ = ended.await;
                })
                .await;
            });
        });
        is_ready.recv().context("the provider does not listen")?;
        Ok(Self { directory, end: Some(end), thread: Some(thread) })
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.path().join("socket")
    }

    /// A client of the provider.
    ///
    /// # Errors
    /// When the provider does not answer.
    pub async fn client(&self) -> Result<Arc<dyn Provider>> {
        Ok(Arc::new(Client::connect(&self.socket(), Life::unattended("sim"), Deadlines::default()).await?))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the provider has failed the test already.
            let _ = thread.join();
        }
    }
}
