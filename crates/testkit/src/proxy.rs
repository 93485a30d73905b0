//! A proxy between a client and a server of a test: it counts, and does to requests and answers what the test says.
//!
//! Each request has a connection of its own on both sides, so that what happens to one touches no other.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};

/// A request on its way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The verb.
    pub method: String,
    /// The path with its query.
    pub target: String,
    /// The headers in their order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Request {
    /// The value of a header, whatever the case of its name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Takes a header away.
    pub fn remove_header(&mut self, name: &str) {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    }
}

/// The treatment of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// It is passed on, and so is the answer.
    #[default]
    Pass,
    /// The proxy answers; the server never sees it.
    Answer {
        /// The status.
        status: u16,
        /// Headers beside the length.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// The server sees it and answers; the client gets this status instead, without a body.
    AnswerAfter(u16),
    /// The connection is closed, and the server never sees it.
    DropBefore,
    /// The server sees it and answers; the client's connection is closed instead.
    DropAfter,
    /// The server never sees it, and the connection stays open without an answer for so long.
    Silence(Duration),
    /// The server sees it and answers; the client's connection stays open without an answer for so long.
    SilenceAfter(Duration),
    /// It is passed on after this time.
    Delay(Duration),
}

impl Verdict {
    /// An answer without a body.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Answer { status, headers: Vec::new(), body: Vec::new() }
    }
}

/// Looks at a request, may change it, and says what becomes of it.
pub type Judge = dyn Fn(&mut Request) -> Verdict + Send + Sync;

/// A running proxy. It accepts no more connections after it is dropped.
pub struct Proxy {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    upstream: u16,
    judge: Box<Judge>,
    seen: Mutex<Vec<Request>>,
    is_over: AtomicBool,
}

impl Proxy {
    /// Starts one in front of a server on a loopback port.
    ///
    /// # Errors
    /// When there is no free port.
    pub fn start(
        upstream: u16,
        judge: impl Fn(&mut Request) -> Verdict + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared {
            upstream,
            judge: Box::new(judge),
            seen: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let server = shared.clone();
        thread::spawn(move || {
            for client in listener.incoming() {
                if server.is_over.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(client), server) = (client, server.clone()) else { continue };
                // The client sees every failure as a closed connection.
                thread::spawn(move || server.serve(&client));
            }
        });
        Ok(Self { port, shared })
    }

    /// The port on the loopback interface.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address: `http://127.0.0.1:<port>`.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All requests so far, as they came, without their bodies.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.seen().clone()
    }

    /// Forgets the requests so far, and says how many there were.
    pub fn reset(&self) -> usize {
        std::mem::take(&mut *self.shared.seen()).len()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that listens.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Vec<Request>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, client: &TcpStream) -> Result<()> {
        let mut request = read_request(client)?;
        self.seen().push(Request { body: Vec::new(), ..request.clone() });
        let answer = match (self.judge)(&mut request) {
            Verdict::Pass => self.forward(&request)?,
            Verdict::Delay(time) => {
                thread::sleep(time);
                self.forward(&request)?
            }
            Verdict::Answer { status, headers, body } => answer(status, &headers, &body),
            Verdict::AnswerAfter(status) => {
                self.forward(&request)?;
                answer(status, &[], &[])
            }
            Verdict::DropBefore => Vec::new(),
            Verdict::DropAfter => {
                self.forward(&request)?;
                Vec::new()
            }
            Verdict::Silence(time) => {
                thread::sleep(time);
                Vec::new()
            }
            Verdict::SilenceAfter(time) => {
                self.forward(&request)?;
                thread::sleep(time);
                Vec::new()
            }
        };
        let mut writer = client;
        writer.write_all(&answer)?;
        client.shutdown(Shutdown::Both)?;
        Ok(())
    }

    /// Sends a request to the server, and reads its answer to the end of the connection.
    fn forward(&self, request: &Request) -> Result<Vec<u8>> {
        let mut server = TcpStream::connect(("127.0.0.1", self.upstream))?;
        let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.target);
        for (name, value) in &request.headers {
            if !name.eq_ignore_ascii_case("connection") {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        head.push_str("Connection: close\r\n\r\n");
        server.write_all(head.as_bytes())?;
        server.write_all(&request.body)?;
        let mut answer = Vec::new();
        server.read_to_end(&mut answer)?;
        Ok(answer)
    }
}

pub(crate) fn read_request(client: &TcpStream) -> Result<Request> {
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut parts = line.split_whitespace().map(str::to_owned);
    let (method, target) = (parts.next().context("no verb")?, parts.next().context("no path")?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut request = Request { method, target, headers, body: Vec::new() };
    let length = request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(request)
}

fn answer(status: u16, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} As told\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\nConnection: close\r\n\r\n", body.len()));
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http;

    #[test]
    fn requests_are_counted_and_answered_as_told() {
        let server = Proxy::start(0, |request| Verdict::Answer {
            status: 200,
            headers: Vec::new(),
            body: request.header("x-mark").unwrap_or("unmarked").as_bytes().to_vec(),
        })
        .unwrap();
        let proxy = Proxy::start(server.port(), |request| match request.target.as_str() {
            "/refused" => Verdict::status(503),
            "/lost" => Verdict::DropAfter,
            _ => {
                request.remove_header("X-MARK");
                Verdict::Pass
            }
        })
        .unwrap();
        let get = |path: &str| http::request("GET", proxy.port(), path, &[("x-mark", "yes")], b"body");
        assert_eq!(get("/a").unwrap().body, b"unmarked");
        assert_eq!(get("/refused").unwrap().status, 503);
        assert!(get("/lost").is_err());
        assert_eq!(proxy.requests().len(), 3);
        assert_eq!(server.requests().len(), 2, "what was refused did not come through, what was lost did");
        assert_eq!((proxy.reset(), proxy.requests().len()), (3, 0));
    }
}
