//! An API that did not answer: for a while, reads from it fail at once.
//!
//! A plan reads many objects. If the machine behind the API is off or drops packets, each request would wait
//! for the connect timeout. So only one request in a while tries a silent API.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use slipway_resource::{ErrorClass, ProviderError};

/// How long an API that did not answer is taken to be silent.
const SILENT: Duration = Duration::from_secs(15);

/// A failure within this time counts as an answer: a refused connection may be accepted a moment later.
const PROMPT: Duration = Duration::from_secs(2);

/// The endpoint that did not answer last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Silence(Arc<Mutex<Option<Silent>>>);

#[derive(Debug)]
struct Silent {
    endpoint: Arc<str>,
    since: Instant,
    error: ProviderError,
    /// Whether another way was looked for since, and not found.
    has_no_other_way: bool,
}

impl Silence {
    fn lock(&self) -> MutexGuard<'_, Option<Silent>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a request that began then got no answer. Returns whether it waited long enough to count.
    /// Later reads get the error as `transient`: a read can always be repeated, whatever the result of this
    /// request.
    pub(super) fn note(&self, endpoint: &Arc<str>, begun: Instant, error: &ProviderError) -> bool {
        if begun.elapsed() < PROMPT {
            return false;
        }
        let endpoint = Arc::clone(endpoint);
        let error = ProviderError { class: ErrorClass::Transient, ..error.clone() };
        let mut silent = self.lock();
        let has_no_other_way =
            silent.as_ref().is_some_and(|known| known.has_no_other_way && known.endpoint == endpoint);
        *silent = Some(Silent { endpoint, since: Instant::now(), error, has_no_other_way });
        true
    }

    /// Notes an answer.
    pub(super) fn end(&self, endpoint: &Arc<str>) {
        let mut silent = self.lock();
        if silent.as_ref().is_some_and(|silent| silent.endpoint == *endpoint) {
            *silent = None;
        }
    }

    /// Why an endpoint did not answer a moment ago.
    pub(super) fn of(&self, endpoint: &Arc<str>) -> Option<ProviderError> {
        let silent = self.lock();
        let silent = silent.as_ref()?;
        (silent.endpoint == *endpoint && silent.since.elapsed() < SILENT).then(|| silent.error.clone())
    }

    /// Notes that asking for the kubeconfig again led to this endpoint.
    pub(super) fn looked(&self, endpoint: &Arc<str>) {
        if let Some(silent) = self.lock().as_mut().filter(|silent| silent.endpoint == *endpoint) {
            silent.has_no_other_way = true;
        }
    }

    /// Whether asking for the kubeconfig again led to the same endpoint a moment ago.
    pub(super) fn is_the_only_way(&self, endpoint: &Arc<str>) -> bool {
        self.lock().as_ref().is_some_and(|silent| {
            silent.has_no_other_way && silent.endpoint == *endpoint && silent.since.elapsed() < SILENT
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_waited_for_is_silent_and_until_it_answers() {
        let (one, other): (Arc<str>, Arc<str>) =
            ("https://10.0.0.1:6443".into(), "https://10.0.0.2:6443".into());
        let error = ProviderError::new(ErrorClass::Transient, "no answer");
        let silence = Silence::default();
        assert!(!silence.note(&one, Instant::now(), &error), "a refusal is prompt");
        assert_eq!(silence.of(&one), None);
        let before = Instant::now().checked_sub(PROMPT).unwrap();
        assert!(silence.note(&one, before, &error));
        assert_eq!(silence.of(&one), Some(error.clone()));
        assert_eq!(silence.of(&other), None, "another server may answer");
        assert!(!silence.is_the_only_way(&one));
        silence.looked(&other);
        assert!(!silence.is_the_only_way(&one));
        silence.looked(&one);
        assert!(silence.is_the_only_way(&one));
        silence.note(&one, before, &error);
        assert!(silence.is_the_only_way(&one), "it is not looked for again each time");
        let change = ProviderError::new(ErrorClass::OutcomeUnknown, "no answer");
        silence.note(&one, before, &change);
        assert_eq!(
            silence.of(&one),
            Some(error),
            "what became of a change is not known; a read changes nothing"
        );
        silence.end(&other);
        assert!(silence.of(&one).is_some());
        silence.end(&one);
        assert!(silence.of(&one).is_none() && !silence.is_the_only_way(&one));
    }
}
