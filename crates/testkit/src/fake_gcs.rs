//! Google Cloud Storage, simulated by fake-gcs-server: in memory, in a separate process.
//!
//! Of Google's XML interface, fake-gcs-server supports reading, listing and deleting, but not plain uploads.
//! [`FakeGcs::front`] is a proxy that turns each plain upload into one through the JSON interface, including
//! its condition.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::http;
use crate::proxy::{Proxy, Request, Verdict};
use crate::server::Server;
use crate::{cache, go};

/// The version that is built.
const VERSION: &str = "1.56.1";

/// A running fake-gcs-server.
#[derive(Debug)]
pub struct FakeGcs {
    server: Server,
}

impl FakeGcs {
    /// Builds it if need be, and returns the executable.
    ///
    /// # Errors
    /// When there is no Go, or it cannot be built.
    pub fn install() -> Result<PathBuf> {
        let folder = cache::installed("fake-gcs-server", VERSION, |folder| {
            go::install("github.com/fsouza/fake-gcs-server", VERSION, folder)
        })?;
        Ok(folder.join("fake-gcs-server"))
    }

    /// Starts one on a free port.
    ///
    /// # Errors
    /// When it cannot be installed or started.
    pub fn start() -> Result<Self> {
        let program = Self::install()?;
        let mut attempt = 1;
        loop {
            // The server must know its port at the start, because its URL contains it. Another process may
            // take the port in between.
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            let mut command = Command::new(&program);
            command.args(["-scheme", "http", "-host", "127.0.0.1", "-backend", "memory"]);
            command.args(["-port", &port.to_string(), "-public-host", &format!("127.0.0.1:{port}")]);
            match Server::start(&command) {
                Ok(server) => return Ok(Self { server }),
                Err(_) if attempt < 5 => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The port on the loopback interface.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// The environment of a client that connects to it directly.
    #[must_use]
    pub fn environment(&self) -> Vec<(String, String)> {
        vec![("STORAGE_EMULATOR_HOST".to_owned(), self.server.endpoint())]
    }

    /// Starts a proxy that accepts uploads through the XML interface.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn front(&self, uploads: Uploads) -> Result<Proxy> {
        let upstream = self.server.port();
        Proxy::start(upstream, move |request| {
            // The server finds the bucket by the host that it knows as its own.
            request.remove_header("host");
            request.headers.push(("Host".to_owned(), format!("127.0.0.1:{upstream}")));
            if request.method != "PUT" {
                return Verdict::Pass;
            }
            if uploads == Uploads::Unconditional {
                request.remove_header(CONDITION);
            }
            upload(upstream, request).unwrap_or_else(|_| Verdict::status(500))
        })
    }

    /// Makes a bucket.
    ///
    /// # Errors
    /// When it refuses.
    pub fn create_bucket(&self, name: &str) -> Result<()> {
        let (json, body) = (("Content-Type", "application/json"), format!(r#"{{"name":"{name}"}}"#));
        let answer = http::request("POST", self.port(), "/storage/v1/b", &[json], body.as_bytes())?;
        if answer.status != 200 {
            bail!("the bucket {name} cannot be made: {}", String::from_utf8_lossy(&answer.body));
        }
        Ok(())
    }
}

/// How the proxy treats uploads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uploads {
    /// It passes their condition on.
    Conditional,
    /// It drops their condition, like a gateway that does not support it.
    Unconditional,
}

const CONDITION: &str = "x-goog-if-generation-match";

fn upload(upstream: u16, request: &Request) -> Result<Verdict> {
    let (bucket, name) = request.target.trim_start_matches('/').split_once('/').context("no object")?;
    let condition = request.header(CONDITION);
    let condition = condition.map(|value| format!("&ifGenerationMatch={value}")).unwrap_or_default();
    let target = format!("/upload/storage/v1/b/{bucket}/o?uploadType=media&name={name}{condition}");
    let headers = [("Content-Type", "application/octet-stream")];
    let answer = http::request("POST", upstream, &target, &headers, &request.body)?;
    let text = String::from_utf8_lossy(&answer.body);
    let headers = match (answer.status, member(&text, "generation"), member(&text, "etag")) {
        (200, Some(generation), Some(etag)) => {
            vec![("x-goog-generation".to_owned(), generation), ("ETag".to_owned(), format!("{etag:?}"))]
        }
        _ => Vec::new(),
    };
    Ok(Verdict::Answer { status: answer.status, headers, body: Vec::new() })
}

/// The text of a member of a flat JSON document.
fn member(document: &str, name: &str) -> Option<String> {
    let (_, rest) = document.split_once(&format!("\"{name}\":"))?;
    Some(rest.trim_start().strip_prefix('"')?.split_once('"')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_can_be_made() {
        let server = FakeGcs::start().unwrap();
        server.create_bucket("state").unwrap();
        assert!(server.create_bucket("state").is_err(), "there is one already");
    }
}
