//! Waits for a provider, reported to the user.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use slipway_resource::ProviderError;

/// A wait for a provider.
#[derive(Clone, Debug)]
pub enum Wait {
    /// A call has had no answer for a while.
    Answer {
        /// The provider.
        provider: String,
        /// The request, as `list what the cluster owns`.
        what: &'static str,
        /// Time since the request.
        since: Duration,
    },
    /// A call failed for a transient reason, and is retried.
    Again {
        /// The provider.
        provider: String,
        /// The request.
        what: &'static str,
        /// Why it failed.
        error: ProviderError,
        /// Delay before the retry.
        delay: Duration,
    },
}

impl Wait {
    /// The wait as text. A failure that is the same as `last`, the failure before it, is not repeated.
    #[must_use]
    pub fn after(&self, last: &mut Option<String>) -> String {
        let Self::Again { provider, what, error, delay } = self else { return self.to_string() };
        if last.as_ref() == Some(&error.message) {
            let seconds = delay.as_secs_f64();
            return format!(
                "provider {provider} could not {what}, for the same reason; trying again in {seconds:.1} s"
            );
        }
        *last = Some(error.message.clone());
        self.to_string()
    }
}

impl fmt::Display for Wait {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer { provider, what, since } => {
                write!(formatter, "provider {provider}: waiting for it to {what} ({} s)", since.as_secs())
            }
            Self::Again { provider, what, error, delay } => {
                let seconds = delay.as_secs_f64();
                let class = &error.class;
                write!(
                    formatter,
                    "provider {provider} could not {what}: {error} ({class}); trying again in {seconds:.1} s"
                )
            }
        }
    }
}

/// Receives the name of a provider and whether a call of it succeeded.
type EndOfCall = dyn Fn(&str, bool) + Send + Sync;

/// Receives waits, and the ends of calls; never blocks.
#[derive(Clone)]
pub struct WaitHandler {
    waits: Arc<dyn Fn(Wait) + Send + Sync>,
    calls: Option<Arc<EndOfCall>>,
}

impl WaitHandler {
    /// A handler that calls a function.
    pub fn new(take: impl Fn(Wait) + Send + Sync + 'static) -> Self {
        Self { waits: Arc::new(take), calls: None }
    }

    /// The same handler, which also calls a function at the end of each call: with the name of the provider, and whether the call
    /// succeeded.
    #[must_use]
    pub fn with_calls(self, take: impl Fn(&str, bool) + Send + Sync + 'static) -> Self {
        Self { calls: Some(Arc::new(take)), ..self }
    }

    /// A handler that discards waits.
    #[must_use]
    pub fn discard() -> Self {
        Self::new(|_| {})
    }

    /// Reports a wait.
    pub fn send(&self, wait: Wait) {
        (self.waits)(wait);
    }

    /// Reports the end of a call.
    pub(crate) fn called(&self, provider: &str, is_done: bool) {
        if let Some(take) = &self.calls {
            take(provider, is_done);
        }
    }
}

impl fmt::Debug for WaitHandler {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("WaitHandler")
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::ErrorClass;

    use super::*;

    #[test]
    fn a_reason_is_said_once() {
        let again = |reason: &str| Wait::Again {
            provider: "cloud".to_owned(),
            what: "list",
            error: ProviderError::new(ErrorClass::Transient, reason),
            delay: Duration::from_millis(200),
        };
        let mut last = None;
        assert!(again("no route").after(&mut last).contains("no route"));
        assert!(!again("no route").after(&mut last).contains("no route"));
        assert!(again("no name").after(&mut last).contains("no name"));
    }
}
