//! From what was seen on the wire to the classes that callers act on. No text decides anything here.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use slipway_limits::{size, text::shorten};

use super::exchange::{Answer, Exchange, Outcome};
use crate::backend::error::{Error, describe};

/// The kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Intent {
    Create,
    Update,
    Delete,
    Read,
}

/// A failure of a store, in one line for people, with what a retry wants to know.
#[derive(Debug)]
pub struct Cause {
    text: String,
    retry_after: Option<Duration>,
}

impl Cause {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), retry_after: None }
    }

    /// When the store asks to come again.
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Messages of a server are shown only as far as they are informative.
        formatter.write_str(&shorten(&self.text, size::MESSAGE))
    }
}

impl std::error::Error for Cause {}

/// Codes with which S3, GCS and Azure refuse a credential, not what it wants.
const CREDENTIAL_CODES: &[&str] = &[
    "AuthenticationFailed",
    "AuthenticationRequired",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidAuthenticationInfo",
    "InvalidSecurity",
    "InvalidToken",
    "NoAuthenticationInformation",
    "RequestTimeTooSkewed",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
];

/// Codes that say that there is no such bucket or container.
const NO_BUCKET_CODES: &[&str] = &["NoSuchBucket", "ContainerNotFound", "ContainerBeingDeleted"];

/// Codes that say that the bucket is elsewhere (S3).
const REGION_CODES: &[&str] =
    &["AuthorizationHeaderMalformed", "IllegalLocationConstraintException", "PermanentRedirect"];

/// A call that failed, and what was seen of it.
pub(super) struct Failed<'a> {
    pub key: &'a str,
    pub intent: Intent,
    /// The bucket or container, for messages.
    pub bucket: &'a str,
    /// The host and port of the store itself.
    pub authority: &'a str,
    /// The ways to give the store a credential, for messages.
    pub ways: &'static str,
    pub seen: Option<Exchange>,
    /// The error of the client library; `None` after a timeout.
    pub error: Option<object_store::Error>,
}

impl Failed<'_> {
    pub(super) fn classify(self) -> Error {
        let Some(seen) = &self.seen else {
            // Nothing was sent at all: there is no credential to sign it with.
            return self.credentials(self.said());
        };
        let is_for_store = seen.authority == self.authority;
        match &seen.outcome {
            Outcome::Answered(answer) if is_for_store => self.answered(seen, answer),
            Outcome::Answered(answer) if answer.status >= 500 || answer.status == 429 => {
                Error::Transient { key: self.key(), source: self.cause(answered(seen, answer), answer) }
            }
            Outcome::NotSent(text) if is_for_store => {
                let source = Arc::new(Cause::new(format!("{}: {text}", seen.request)));
                Error::Transient { key: self.key(), source }
            }
            Outcome::Sent | Outcome::Broken(_) if is_for_store => self.lost(seen),
            // Whatever gives credentials was asked, and gave none.
            Outcome::Answered(answer) => self.credentials(answered(seen, answer)),
            Outcome::NotSent(text) | Outcome::Broken(text) => {
                self.credentials(format!("{}: {text}", seen.request))
            }
            Outcome::Sent => self.credentials(format!("{}: no answer in time", seen.request)),
        }
    }

    fn answered(&self, seen: &Exchange, answer: &Answer) -> Error {
        let has_code = |codes: &[&str]| answer.code.as_deref().is_some_and(|code| codes.contains(&code));
        let (key, text) = (self.key(), answered(seen, answer));
        let source = self.cause(text.clone(), answer);
        match answer.status {
            // Part of a batch: the answer has an answer for each object.
            200..=299 if self.intent == Intent::Delete => match &self.error {
                Some(object_store::Error::NotFound { .. }) => Error::NotFound { key },
                Some(object_store::Error::PermissionDenied { .. }) => {
                    Error::Permission { key, source: Arc::new(Cause::new(self.said())) }
                }
                _ => self.unknown(Arc::new(Cause::new(format!("{}: {}", seen.request, self.said())))),
            },
            // The answer itself cannot be used.
            200..=299 => self.unknown(Arc::new(Cause::new(format!("{}: {}", seen.request, self.said())))),
            301 | 307 | 400 if answer.region.is_some() || has_code(REGION_CODES) || answer.status == 301 => {
                Error::WrongRegion { bucket: self.bucket.into(), region: answer.region.clone(), source }
            }
            304 | 412 => self.refused(),
            409 if has_code(&["BlobAlreadyExists"]) => self.refused(),
            404 if has_code(NO_BUCKET_CODES) || self.intent == Intent::Create => {
                Error::NoBucket { bucket: self.bucket.into(), source }
            }
            404 => Error::NotFound { key },
            400 | 401 | 403 if has_code(CREDENTIAL_CODES) => self.credentials(text),
            401 => self.credentials(text),
            403 => Error::Permission { key, source },
            409 | 429 => Error::Transient { key, source },
            // S3 says 400 when the body came too slowly.
            400 if has_code(&["RequestTimeout"]) => Error::Transient { key, source },
            408 | 500 | 502..=504 => self.unknown(source),
            _ => Error::Io { key, source: Arc::new(std::io::Error::other(shorten(&text, size::MESSAGE))) },
        }
    }

    /// The condition did not hold.
    fn refused(&self) -> Error {
        let key = self.key();
        match self.intent {
            Intent::Create => Error::AlreadyExists { key },
            _ => Error::Conflict { key },
        }
    }

    fn lost(&self, seen: &Exchange) -> Error {
        let text = match &seen.outcome {
            Outcome::Broken(text) => text.as_str(),
            _ => "no answer in time",
        };
        self.unknown(Arc::new(Cause::new(format!("{}: {text}", seen.request))))
    }

    /// A write may have happened; a read has no effect.
    fn unknown(&self, source: Arc<Cause>) -> Error {
        let key = self.key();
        match self.intent {
            Intent::Read => Error::Transient { key, source },
            Intent::Create | Intent::Update | Intent::Delete => Error::OutcomeUnknown { key, source },
        }
    }

    fn credentials(&self, text: String) -> Error {
        Error::Credentials { bucket: self.bucket.into(), ways: self.ways, source: Arc::new(Cause::new(text)) }
    }

    fn cause(&self, text: String, answer: &Answer) -> Arc<Cause> {
        Arc::new(Cause { text, retry_after: answer.retry_after })
    }

    fn said(&self) -> String {
        self.error.as_ref().map_or_else(|| "no answer in time".to_owned(), |error| describe(error))
    }

    fn key(&self) -> String {
        self.key.to_owned()
    }
}

fn answered(seen: &Exchange, answer: &Answer) -> String {
    let code = answer.code.as_deref().map(|code| format!(" {code}")).unwrap_or_default();
    let message = answer.message.as_deref().map(|message| format!(" ({message})")).unwrap_or_default();
    format!("{} gives {}{code}{message}", seen.request, answer.status)
}
