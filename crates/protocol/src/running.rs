//! Providers for the CLI: found, verified, started and queried.

use std::sync::Arc;

use slipway_resource::provider::Info;
use slipway_resource::{Provider, Schema};

use crate::lock::{LockFile, Locked};
use crate::manifest::Installed;
use crate::process::{Launch, Process};
use crate::search::SearchPath;
use crate::{Client, Deadlines, Error};

/// A provider's process and its client.
#[derive(Debug)]
pub struct Running {
    client: Client,
    process: Process,
}

impl Running {
    /// Finds a provider, verifies it against the lock file, and starts it.
    ///
    /// # Errors
    /// When it is not installed, is not the locked one, or does not start.
    pub async fn locked(name: &str, search: &SearchPath, lock: &LockFile) -> Result<Self, Error> {
        let installed = search.find(name)?;
        let locked = lock.verify(&installed)?;
        let mut running = Self::launch(&installed.launch(&installed.executable)).await?;
        let announced = running.process.announcement().schema_digest.clone();
        if announced != locked.schema_digest {
            running.process.kill().await;
            return Err(Error::SchemaChanged {
                name: name.to_owned(),
                found: announced,
                locked: locked.schema_digest.clone(),
            });
        }
        Ok(running)
    }

    /// Starts an executable that the caller trusts without a lock file.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn launch(launch: &Launch) -> Result<Self, Error> {
        let mut process = Process::start(launch).await?;
        let socket = process.announcement().address.clone();
        match Client::connect(&socket, process.life().clone(), Deadlines::default()).await {
            Ok(client) => Ok(Self { client, process }),
            Err(source) => {
                process.kill().await;
                Err(Error::Ask { provider: launch.name.clone(), source: Box::new(source) })
            }
        }
    }

    /// The provider.
    #[must_use]
    pub fn provider(&self) -> Arc<dyn Provider> {
        Arc::new(self.client.clone())
    }

    /// The client.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The process.
    #[must_use]
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Lets the process finish. Returns whether it ended by itself.
    pub async fn end(self) -> bool {
        let Self { client, mut process } = self;
        if client.is_silent() {
            // The process would not notice that its standard input closes.
            process.kill().await;
            return false;
        }
        drop(client);
        process.end().await
    }

    /// Kills the process.
    pub async fn kill(mut self) {
        self.process.kill().await;
    }
}

/// The description of a provider.
#[derive(Clone, Debug)]
pub struct Description {
    /// The installed provider.
    pub installed: Installed,
    /// The entry for the lock file.
    pub locked: Locked,
    /// Name, version, limits.
    pub info: Info,
    /// Its resource types.
    pub schema: Arc<Schema>,
}

/// Starts an installed provider and queries it. The caller has decided to trust it: `slipway provider info`
/// and `slipway provider lock` do so on a user's command, never for a spec.
///
/// # Errors
/// When it does not start or a query fails.
pub async fn describe(installed: &Installed) -> Result<Description, Error> {
    let digest = installed.digest()?;
    let running = Running::launch(&installed.launch(&installed.executable)).await?;
    let failed = |source| Error::Ask { provider: installed.name().to_owned(), source: Box::new(source) };
    let asked = async {
        let info = running.client.info().await.map_err(failed)?;
        let schema = running.client.schema().await.map_err(failed)?;
        Ok((info, schema))
    }
    .await;
    let announcement = running.process.announcement().clone();
    running.end().await;
    let (info, schema) = asked?;
    Ok(Description {
        installed: installed.clone(),
        locked: Locked {
            name: announcement.name,
            version: announcement.version,
            digest,
            schema_digest: announcement.schema_digest,
        },
        info,
        schema,
    })
}

/// Trusts an installed provider in its present version: queries it and writes its entry into the lock file.
///
/// # Errors
/// When it does not start, or the file cannot be written.
pub async fn lock(installed: &Installed, file: &mut LockFile) -> Result<Locked, Error> {
    let description = describe(installed).await?;
    file.insert(description.locked.clone());
    file.write()?;
    Ok(description.locked)
}
