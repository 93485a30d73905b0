//! AWS over HTTP, as `moto` has it: S3, EC2, STS and others, in one process that forgets when it ends.
//!
//! Requests are answered one at a time, since moto's stores are not safe for concurrent ones: tests race
//! their callers, not moto's threads.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::cache;
use crate::http;
use crate::server::Server;

mod mended;

pub use mended::MENDED;

/// The version that is installed when there is none.
const VERSION: &str = "5.2.1";

/// The Python that has moto: that of the machine, or one of the cache folder's own.
fn python() -> Result<PathBuf> {
    cache::check_available("moto")?;
    let look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('moto') is None)";
    let has_moto = Command::new("python3").args(["-c", look]).status();
    if has_moto.context("there is no python3")?.success() {
        return Ok(PathBuf::from("python3"));
    }
    let folder = cache::installed("moto", VERSION, |folder| {
        // Its own path is written into a virtual environment: pip's packages move, scripts do not.
        let packages = folder.join("packages");
        cache::run(
            Command::new("python3")
                .args(["-m", "pip", "install", "--quiet", "--target"])
                .arg(&packages)
                .arg(format!("moto[server]=={VERSION}")),
        )?;
        let start = "#!/bin/sh\nPYTHONPATH=$(dirname \"$0\")/packages exec python3 \"$@\"\n";
        let script = folder.join("python");
        std::fs::write(&script, start)?;
        std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
        Ok(())
    })?;
    Ok(folder.join("python"))
}

/// A running moto server.
#[derive(Debug)]
pub struct Moto {
    server: Server,
}

impl Moto {
    /// Installs it if need be, and gives the Python that has it.
    ///
    /// # Errors
    /// When there is no Python, or moto cannot be installed.
    pub fn install() -> Result<PathBuf> {
        python()
    }

    /// Starts one on a free port.
    ///
    /// # Errors
    /// When there is no Python, or moto cannot be installed.
    pub fn start() -> Result<Self> {
        Self::start_mended("")
    }

    /// Starts one after a Python module of the caller's, which may mend what moto does otherwise than AWS. A function
    /// `mend_application` in it may put something around moto's WSGI application.
    ///
    /// # Errors
    /// When there is no Python, moto cannot be installed, or the module fails.
    pub fn start_mended(module: &str) -> Result<Self> {
        Self::start_mended_with(module, &[])
    }

    /// Starts one as [`Moto::start_mended`] does, with these variables for the module.
    ///
    /// # Errors
    /// When there is no Python, moto cannot be installed, or the module fails.
    pub fn start_mended_with(module: &str, variables: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(python()?);
        command.args(["-u", "-c", &format!("{module}\n{}", include_str!("moto/server.py"))]);
        for name in ["AWS_ENDPOINT_URL", "AWS_PROFILE", "MOTO_PORT"] {
            command.env_remove(name);
        }
        command.envs(variables.iter().copied());
        let server = Server::start(&command).context("moto does not start")?;
        Ok(Self { server })
    }

    /// The port on the loopback interface.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// The address: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        self.server.endpoint()
    }

    /// The last of what it said, for messages.
    #[must_use]
    pub fn log(&self) -> String {
        self.server.log()
    }

    /// The environment of a client that connects to it.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        let pairs = [
            ("AWS_ENDPOINT_URL", self.endpoint().as_str()),
            ("AWS_ACCESS_KEY_ID", "testing"),
            ("AWS_SECRET_ACCESS_KEY", "testing"),
            ("AWS_REGION", "us-east-1"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        pairs.into()
    }

    /// Makes a bucket.
    ///
    /// # Errors
    /// When moto refuses.
    pub fn create_bucket(&self, name: &str) -> Result<()> {
        let answer = http::request("PUT", self.port(), &format!("/{name}"), &[SIGNED], b"")?;
        if answer.status != 200 {
            bail!("the bucket {name} cannot be made: {}", String::from_utf8_lossy(&answer.body));
        }
        Ok(())
    }

    /// Writes an object, whatever is there.
    ///
    /// # Errors
    /// When moto refuses.
    pub fn put_object(&self, bucket: &str, key: &str, body: &[u8]) -> Result<()> {
        let answer = http::request("PUT", self.port(), &format!("/{bucket}/{key}"), &[SIGNED], body)?;
        if answer.status != 200 {
            bail!("{key} cannot be written: {}", String::from_utf8_lossy(&answer.body));
        }
        Ok(())
    }
}

/// Moto finds the service in the scope of the signature, and does not check the signature itself.
const SIGNED: (&str, &str) = (
    "Authorization",
    "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_can_be_made() {
        let moto = Moto::start().unwrap();
        moto.create_bucket("a-bucket").unwrap();
        let answer = http::request("GET", moto.port(), "/a-bucket?list-type=2", &[SIGNED], b"").unwrap();
        assert_eq!(answer.status, 200);
        assert!(String::from_utf8_lossy(&answer.body).contains("<Name>a-bucket</Name>"));
    }
}
