//! Questions to API servers: whether they are ready, and who else there is.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::members::Finding;
use super::settings::Settings;
use crate::http::{Answer, Client, Trust};

/// How long a member may take to answer.
const ANSWER: Duration = Duration::from_secs(1);

/// How long the client itself waits: the time for an answer is over before.
const CLIENT: Duration = Duration::from_secs(5);

/// Asks API servers as this node, as soon as the node has a certificate, and anonymously before. Connections are kept between
/// questions.
pub(super) struct Asker {
    scheme: &'static str,
    ca_path: PathBuf,
    client_path: PathBuf,
    /// What was read of the files, and the client with it.
    made: Option<(Read, Arc<Client>)>,
}

/// The contents of the files with which members are asked.
#[derive(PartialEq, Eq)]
struct Read {
    authorities: Option<Vec<u8>>,
    client: Option<Vec<u8>>,
}

/// A way to ask, as of now.
#[derive(Clone)]
pub(super) struct Asking {
    scheme: &'static str,
    client: Arc<Client>,
    /// Whether the node is known to the API server.
    pub(super) has_identity: bool,
}

impl Asker {
    pub(super) fn new(settings: &Settings) -> Self {
        Self {
            scheme: "https",
            ca_path: settings.ca_path.clone(),
            client_path: settings.client_path.clone(),
            made: None,
        }
    }

    /// The way to ask with the present files: both are replaced when they are renewed.
    ///
    /// # Errors
    /// When the files cannot be used.
    pub(super) fn now(&mut self) -> Result<Asking, String> {
        let read = Read {
            authorities: std::fs::read(&self.ca_path).ok(),
            client: std::fs::read(&self.client_path).ok(),
        };
        let has_identity = read.client.is_some();
        let is_known = self.made.as_ref().is_some_and(|(before, _)| *before == read);
        if !is_known {
            let client = read.client.clone().map(|both| (both.clone(), both));
            let trust = Trust { authorities: read.authorities.clone(), client };
            let client = Client::new(&trust, CLIENT).map_err(|error| error.to_string())?;
            self.made = Some((read, Arc::new(client)));
        }
        match &self.made {
            Some((_, client)) => Ok(Asking { scheme: self.scheme, client: Arc::clone(client), has_identity }),
            None => Err("there is no client".to_owned()),
        }
    }
}

impl Asking {
    /// Whether a member is ready.
    pub(super) async fn is_ready(&self, member: SocketAddr) -> Finding {
        match self.get(member, "/readyz").await {
            None => Finding::Silent(format!("it does not answer within {} s", ANSWER.as_secs())),
            Some(Err(why)) => Finding::Refused(why),
            Some(Ok(answer)) => match answer.status {
                200 => Finding::Ready,
                // It does not know who asks, and answers nobody else.
                401 if !self.has_identity => Finding::Ready,
                status => Finding::Unready(format!("it answers {status} for /readyz")),
            },
        }
    }

    /// The answer of a member; none when there is none in time.
    pub(super) async fn get(&self, member: SocketAddr, path: &str) -> Option<Result<Answer, String>> {
        let url = format!("{}://{member}{path}", self.scheme);
        let answer = tokio::time::timeout(ANSWER, self.client.get(&url)).await.ok()?;
        Some(answer.map_err(|error| error.to_string()))
    }
}

#[cfg(test)]
impl Asking {
    /// Asks servers of a test, which serve HTTP.
    pub(super) fn plainly() -> Self {
        let trust = Trust { authorities: None, client: None };
        Self { scheme: "http", client: Arc::new(Client::new(&trust, CLIENT).unwrap()), has_identity: false }
    }
}
