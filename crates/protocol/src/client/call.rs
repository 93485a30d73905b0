//! One call: its deadline, its failure, its pages.

use std::future::Future;
use std::time::Duration;

use prost::Message;
use slipway_limits::size;
use slipway_resource::{ErrorClass, ProviderError};
use tonic::{Code, Response, Status, Streaming};

use super::Connection;
use crate::convert::Malformed;
use crate::{Answer, Life};

/// How long the end of a process may take to be noticed after its socket has closed.
const PATIENCE: Duration = Duration::from_secs(2);

impl Connection {
    /// A call with one answer.
    pub(super) async fn unary<A: Answer>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<Response<A>, Status>>,
    ) -> Result<A, ProviderError> {
        let answer = match self.alive(tokio::time::timeout(limit, call)).await? {
            Ok(Ok(response)) => response.into_inner(),
            Ok(Err(status)) => return Err(self.failure(&status).await),
            Err(_) => return Err(late(&self.life, limit)),
        };
        self.checked(answer)
    }

    /// A call whose answer comes in pages; each is handed over as it comes.
    ///
    /// All pages together are bounded: a provider that never ends its answer is stopped before memory is used up.
    pub(super) async fn pages<A: Answer + Message>(
        &self,
        limit: Duration,
        call: impl Future<Output = Result<Response<Streaming<A>>, Status>>,
        mut take: impl FnMut(A) -> Result<(), ProviderError>,
    ) -> Result<(), ProviderError> {
        let collect = async {
            let mut stream = match call.await {
                Ok(response) => response.into_inner(),
                Err(status) => return Err(self.failure(&status).await),
            };
            let mut bytes = 0_usize;
            loop {
                // A provider that sends without end must not keep the deadline from ending the call.
                tokio::task::coop::consume_budget().await;
                match stream.message().await {
                    Ok(Some(page)) => {
                        // A page with nothing in it takes memory too.
                        bytes = bytes.saturating_add(page.encoded_len()).saturating_add(size_of::<A>());
                        if bytes > size::PROVIDER_ANSWER.in_memory() {
                            return Err(self.too_much());
                        }
                        take(self.checked(page)?)?;
                    }
                    Ok(None) => return Ok(()),
                    Err(status) => return Err(self.failure(&status).await),
                }
            }
        };
        match self.alive(tokio::time::timeout(limit, collect)).await? {
            Ok(outcome) => outcome,
            Err(_) => Err(late(&self.life, limit)),
        }
    }

    fn too_much(&self) -> ProviderError {
        let text = format!(
            "provider {} broke the contract: its answer has more than {}",
            self.life.name(),
            size::PROVIDER_ANSWER
        );
        ProviderError::new(ErrorClass::Permanent, text)
    }

    /// An answer, if it is not a failure.
    pub(super) fn checked<A: Answer>(&self, answer: A) -> Result<A, ProviderError> {
        checked(&self.life, answer)
    }

    /// The error of a status, for a call without side effects.
    pub(super) async fn failure(&self, status: &Status) -> ProviderError {
        let name = self.life.name();
        let is_broken =
            matches!(status.code(), Code::Unavailable | Code::Unknown | Code::Internal | Code::Cancelled);
        if is_broken && let Some(text) = self.life.obituary(PATIENCE).await {
            return ProviderError::new(ErrorClass::Permanent, text);
        }
        let message = status.message();
        match status.code() {
            Code::Unavailable | Code::DeadlineExceeded => ProviderError::new(
                ErrorClass::Transient,
                format!("provider {name} cannot be reached: {message}"),
            ),
            Code::OutOfRange | Code::ResourceExhausted => ProviderError::new(
                ErrorClass::Permanent,
                format!("provider {name}: a message exceeds 64 MiB: {message}"),
            )
            .with_hint("a single object is that large; move its data elsewhere and refer to it"),
            Code::Unimplemented => ProviderError::new(
                ErrorClass::Permanent,
                format!("provider {name} does not have this call: {message}"),
            ),
            code => ProviderError::new(
                ErrorClass::Permanent,
                format!("provider {name} broke the contract: {code:?}: {message}"),
            ),
        }
    }
}

/// An answer of a provider, if it is not a failure.
pub(super) fn checked<A: Answer>(life: &Life, mut answer: A) -> Result<A, ProviderError> {
    match answer.take_error() {
        None => Ok(answer),
        Some(error) => Err(match ProviderError::try_from(error) {
            Ok(error) => error,
            Err(error) => malformed(life, &error),
        }),
    }
}

pub(super) fn malformed(life: &Life, error: &Malformed) -> ProviderError {
    ProviderError::new(ErrorClass::Permanent, format!("provider {} broke the contract: {error}", life.name()))
}

/// A call that takes longer than any may. It is not worth another: that would take as long.
pub(super) fn late(life: &Life, limit: Duration) -> ProviderError {
    ProviderError::new(
        ErrorClass::Permanent,
        format!("provider {} did not answer within {} s", life.name(), limit.as_secs()),
    )
}
