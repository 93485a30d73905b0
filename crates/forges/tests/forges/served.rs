//! A forge that gives prepared answers.

use std::collections::{HashMap, VecDeque};
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value as Json;
use slipway_forges::{Address, Connection, Forge, Kind, Repository, Token, connect};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The token of all tests.
pub const TOKEN: &str = "hunter2-is-the-token";

/// A request that was received.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The headers, in lower case.
    pub headers: HashMap<String, String>,
    /// The body; null without one.
    pub body: Json,
}

struct Prepared {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

#[derive(Default)]
struct Shared {
    answers: Mutex<HashMap<String, VecDeque<Prepared>>>,
    asked: Mutex<Vec<Asked>>,
}

/// A forge on a loopback port; it ends with the value.
pub struct Served {
    shared: Arc<Shared>,
    port: u16,
    task: JoinHandle<()>,
}

impl Drop for Served {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Served {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let of_task = shared.clone();
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let shared = of_task.clone();
                tokio::spawn(async move {
                    let service = service_fn(move |request| answer(shared.clone(), request));
                    // A client that goes away in the middle is part of some tests.
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { shared, port, task }
    }

    /// Prepares the next answer to a request, as `GET /repos/o/r/pulls/7`.
    pub fn on(&self, line: &str, status: u16, body: &Json) -> &Self {
        self.on_with(line, status, &[], body.to_string().into_bytes())
    }

    pub fn on_with(&self, line: &str, status: u16, headers: &[(&'static str, &str)], body: Vec<u8>) -> &Self {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let prepared = Prepared { status, headers, body };
        self.shared.answers.lock().unwrap().entry(line.to_owned()).or_default().push_back(prepared);
        self
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    pub fn last(&self) -> Asked {
        self.asked().pop().unwrap()
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// A connection to the repository `o/r`, which waits for rate limits as long as it is told.
    pub fn forge(&self, kind: Kind, patience: Duration) -> Box<dyn Forge> {
        connect(Connection {
            kind,
            address: Address::parse(&self.url(), false).unwrap(),
            repository: Repository::parse("o/r").unwrap(),
            token: Some(Token::new(TOKEN).unwrap()),
            user: None,
            patience,
        })
        .unwrap()
    }
}

async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let line = format!("{} {}", request.method(), request.uri());
    let headers = request.headers().iter();
    let headers = headers
        .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let body = serde_json::from_slice(&body).unwrap_or_default();
    shared.asked.lock().unwrap().push(Asked { headers, body });
    let prepared = shared.answers.lock().unwrap().get_mut(&line).and_then(VecDeque::pop_front);
    let prepared = prepared.unwrap_or_else(|| Prepared {
        status: 404,
        headers: Vec::new(),
        body: format!(r#"{{"message":"nothing is prepared for {line}"}}"#).into_bytes(),
    });
    let mut response = Response::builder().status(prepared.status);
    for (name, value) in prepared.headers {
        response = response.header(name, value);
    }
    Ok(response.body(Full::new(Bytes::from(prepared.body))).unwrap())
}
