//! An answer that comes line by line, as etcd's JSON gateway streams its messages.

use std::time::Duration;

use http::Response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use slipway_resource::with_causes;

use super::Failure;

/// No line is longer. etcd sends at most 32 KiB in one message, a third more in base64.
const LONGEST: usize = 4 << 20;

/// The lines of an answer.
pub(crate) struct Lines {
    pub(crate) status: u16,
    body: Incoming,
    /// Received bytes that are no complete line yet.
    rest: Vec<u8>,
    /// How far `rest` was searched for the end of a line.
    searched: usize,
    limit: Duration,
}

impl Lines {
    pub(super) fn new(answer: Response<Incoming>, limit: Duration) -> Self {
        let status = answer.status().as_u16();
        Self { status, body: answer.into_body(), rest: Vec::new(), searched: 0, limit }
    }

    /// The next line, without its end; none at the end of the answer.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        loop {
            let unsearched = self.rest.get(self.searched..).unwrap_or_default();
            if let Some(end) = unsearched.iter().position(|byte| *byte == b'\n') {
                let rest = self.rest.split_off(self.searched + end + 1);
                let mut line = std::mem::replace(&mut self.rest, rest);
                self.searched = 0;
                line.pop();
                if line.is_empty() {
                    continue;
                }
                return Ok(Some(line));
            }
            self.searched = self.rest.len();
            if self.rest.len() > LONGEST {
                return Err(Failure(format!("a line of the answer has more than {LONGEST} bytes")));
            }
            let frame = tokio::time::timeout(self.limit, self.body.frame()).await;
            let frame = frame.map_err(|_| Failure(format!("nothing came for {} s", self.limit.as_secs())))?;
            match frame {
                None if self.rest.is_empty() => return Ok(None),
                None => {
                    self.searched = 0;
                    return Ok(Some(std::mem::take(&mut self.rest)));
                }
                Some(Err(error)) => return Err(Failure(with_causes(&error))),
                Some(Ok(frame)) => self.rest.extend(frame.into_data().unwrap_or_default()),
            }
        }
    }
}
