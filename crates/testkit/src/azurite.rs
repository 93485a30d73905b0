//! Azure Blob Storage, as Azurite has it: in memory, in a process of its own.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use crate::cache;
use crate::http;
use crate::server::Server;

/// The version that is installed.
const VERSION: &str = "3.37.0";

/// The account and its key that every Azurite has; they are in its documentation.
const ACCOUNT: &str = "devstoreaccount1";
const KEY: &str = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

/// A running Azurite.
#[derive(Debug)]
pub struct Azurite {
    server: Server,
}

impl Azurite {
    /// Installs it if need be, and gives the script that starts its blob service.
    ///
    /// # Errors
    /// When there is no Node.js with npm, or it cannot be installed.
    pub fn install() -> Result<PathBuf> {
        let folder = cache::installed("azurite", VERSION, |folder| {
            let mut npm = Command::new("npm");
            npm.args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix"]).arg(folder);
            cache::run(npm.arg(format!("azurite@{VERSION}")))
        })?;
        Ok(folder.join("node_modules/azurite/dist/src/blob/main.js"))
    }

    /// Starts one on a free port.
    ///
    /// # Errors
    /// When it cannot be installed or started.
    pub fn start() -> Result<Self> {
        let mut command = Command::new("node");
        command.arg(Self::install()?).args([
            "--blobHost",
            "127.0.0.1",
            "--blobPort",
            "0",
            "--inMemoryPersistence",
            "--silent",
            "--skipApiVersionCheck",
            "--disableTelemetry",
        ]);
        Ok(Self { server: Server::start(&command)? })
    }

    /// The port on the loopback interface.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// The environment of a client that connects to it.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let endpoint = format!("{}/{ACCOUNT}", self.server.endpoint());
        let pairs = [
            ("AZURE_STORAGE_ACCOUNT_NAME", ACCOUNT),
            ("AZURE_STORAGE_ACCOUNT_KEY", KEY),
            ("AZURE_STORAGE_ENDPOINT", endpoint.as_str()),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    /// Makes a container.
    ///
    /// # Errors
    /// When Azurite refuses.
    pub fn create_container(&self, name: &str) -> Result<()> {
        let authorization = format!("SharedKey {ACCOUNT}:{}", sign(name)?);
        let headers = [("x-ms-date", DATE), ("x-ms-version", API), ("Authorization", authorization.as_str())];
        let path = format!("/{ACCOUNT}/{name}?restype=container");
        let answer = http::request("PUT", self.port(), &path, &headers, b"")?;
        if answer.status != 201 {
            bail!("the container {name} cannot be made: {}", String::from_utf8_lossy(&answer.body));
        }
        Ok(())
    }
}

/// Azurite takes any date.
const DATE: &str = "Sun, 01 Jan 2026 00:00:00 GMT";
const API: &str = "2021-08-06";

/// The signature of the request that makes a container: the verb, eleven empty headers, the headers of Azure, and the
/// resource with its query. The path of the resource begins with the account, as does the canonical name.
fn sign(container: &str) -> Result<String> {
    let text = format!(
        "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:{DATE}\nx-ms-version:{API}\n/{ACCOUNT}/{ACCOUNT}/{container}\nrestype:container"
    );
    let key = hmac::Key::new(hmac::HMAC_SHA256, &BASE64_STANDARD.decode(KEY).map_err(anyhow::Error::msg)?);
    Ok(BASE64_STANDARD.encode(hmac::sign(&key, text.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_can_be_made() {
        let azurite = Azurite::start().unwrap();
        azurite.create_container("state").unwrap();
        let twice = azurite.create_container("state").unwrap_err().to_string();
        assert!(twice.contains("ContainerAlreadyExists"), "{twice}");
    }
}
