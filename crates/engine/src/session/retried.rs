//! Retries of reads whose answers have failures in them: only the failed parts are read again.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use slipway_resource::provider::{DiscoverRequest, Discovery, ReadRequest, Unlisted};
use slipway_resource::{ErrorClass, Observation, Observed, ProviderError, Value};
use tokio::time::Instant;

use super::{Classes, WatchedSession, bounded};

/// A transient failure of a part of an answer is retried only when the answer came within this time. A slower
/// one comes from something that does not answer, such as a host that is down, and the rest of the plan does
/// not wait for it.
const QUICK: Duration = Duration::from_secs(5);

/// Maximum number of attempts for a part of an answer with a transient failure.
const ATTEMPTS: u32 = 3;

impl WatchedSession {
    /// Lists what a cluster owns. Types that could not be listed are listed again; earlier results are kept.
    pub(super) async fn listed(&self, request: DiscoverRequest) -> Result<Discovery, ProviderError> {
        const WHAT: &str = "list what the cluster owns";
        let begun = Instant::now();
        let mut attempt = 1;
        let mut asked = Instant::now();
        let mut whole = self.desk.ask(WHAT, &Classes::All, || self.inner.discover(request.clone())).await?;
        loop {
            let errors = whole.unlisted.iter().map(|unlisted| &unlisted.error);
            let Some((error, delay)) = self.worth_another(errors, attempt, begun, asked) else { break };
            self.desk.pause(WHAT, error, delay).await;
            attempt += 1;
            asked = Instant::now();
            match self.desk.answer(WHAT, self.inner.discover(request.clone())).await {
                Ok(again) => whole = merged(whole, again),
                Err(error) if error.class.is_retryable() => {}
                Err(error) => return Err(error),
            }
        }
        self.complete(&mut whole).await?;
        whole.observed.iter().try_for_each(|observed| self.sound(observed))?;
        for unlisted in &mut whole.unlisted {
            unlisted.error = bounded(unlisted.error.clone());
        }
        whole.observed.iter_mut().for_each(in_bounds);
        Ok(whole)
    }

    /// Whether an object that was listed can be one.
    fn sound(&self, observed: &Observed) -> Result<(), ProviderError> {
        let Observed { address, identity, observation, .. } = observed;
        let defect = match observation {
            _ if !self.schema.types.contains_key(address.kind()) => "which is of no type that it has",
            _ if identity.as_str().is_empty() => "without an identity",
            Observation::Present(attributes) if !is_known(attributes) => "with values that are not known",
            _ => return Ok(()),
        };
        let text =
            format!("provider {} broke the contract: Discover names {address}, {defect}", self.desk.provider);
        Err(ProviderError::new(ErrorClass::Permanent, text).with_address(address))
    }

    /// Reads by identity the objects that a discovery found and could not read because of throttling.
    async fn complete(&self, whole: &mut Discovery) -> Result<(), ProviderError> {
        let (mut places, mut requests) = (Vec::new(), Vec::new());
        for (place, observed) in whole.observed.iter().enumerate() {
            if let Observation::Unreadable(error) = &observed.observation
                && is_throttled(error)
            {
                places.push(place);
                let (address, identity) = (observed.address.clone(), observed.identity.clone());
                requests.push(ReadRequest { address, identity });
            }
        }
        if requests.is_empty() {
            return Ok(());
        }
        for (place, answer) in places.into_iter().zip(self.found(requests).await?) {
            if let Some(observed) = whole.observed.get_mut(place) {
                observed.observation = answer.observation;
            }
        }
        Ok(())
    }

    /// Reads objects by identity, and reads those again that failed for a transient reason.
    pub(super) async fn found(&self, requests: Vec<ReadRequest>) -> Result<Vec<Observed>, ProviderError> {
        const WHAT: &str = "read what the cluster owns";
        let classes = self.classes(requests.iter().map(|request| &request.address));
        let begun = Instant::now();
        let mut attempt = 1;
        let mut asked = Instant::now();
        let mut found = self.desk.ask(WHAT, &classes, || self.inner.read(requests.clone())).await?;
        loop {
            let failures = found.iter().filter_map(|observed| match &observed.observation {
                Observation::Unreadable(error) => Some(error),
                _ => None,
            });
            let Some((error, delay)) = self.worth_another(failures, attempt, begun, asked) else {
                found.iter_mut().for_each(in_bounds);
                return Ok(found);
            };
            let failed = |observed: &Observed| matches!(&observed.observation, Observation::Unreadable(error) if error.class.is_retryable());
            let places: Vec<usize> =
                found.iter().enumerate().filter(|(_, one)| failed(one)).map(|(place, _)| place).collect();
            let again: Vec<ReadRequest> =
                places.iter().filter_map(|place| requests.get(*place).cloned()).collect();
            self.desk.pause(WHAT, error, delay).await;
            attempt += 1;
            asked = Instant::now();
            match self.desk.answer(WHAT, self.inner.read(again)).await {
                Ok(answers) => {
                    for (place, answer) in places.into_iter().zip(answers) {
                        if let Some(known) = found.get_mut(place) {
                            *known = answer;
                        }
                    }
                }
                Err(error) if error.class.is_retryable() => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Whether the failed parts of an answer are worth another call; if so, the failure to report and the
    /// delay.
    fn worth_another<'a>(
        &self,
        failures: impl Iterator<Item = &'a ProviderError>,
        attempt: u32,
        begun: Instant,
        asked: Instant,
    ) -> Option<(ProviderError, Duration)> {
        let took = asked.elapsed();
        let worth: Vec<(&ProviderError, Duration)> = failures
            .filter(|error| is_throttled(error) || (took < QUICK && attempt < ATTEMPTS))
            .filter_map(|error| {
                let delay = self.desk.watch.patience.delay(attempt, error, begun.elapsed())?;
                Some((error, delay))
            })
            .collect();
        let (longest, delay) = worth.iter().max_by_key(|(_, delay)| *delay)?;
        let message = all_messages(worth.iter().map(|(error, _)| error.message.as_str()));
        Some((bounded(ProviderError { message, ..(*longest).clone() }), *delay))
    }
}

/// Maximum number of different failures in one report of a wait.
const NAMED: usize = 12;

/// Every message once, so that the report names each host that does not answer.
fn all_messages<'a>(messages: impl Iterator<Item = &'a str>) -> String {
    let distinct: BTreeSet<&str> = messages.collect();
    let named: Vec<&str> = distinct.iter().take(NAMED).copied().collect();
    let text = named.join("; ");
    match distinct.len().saturating_sub(NAMED) {
        0 => text,
        more => format!("{text}; and {more} more"),
    }
}

fn in_bounds(observed: &mut Observed) {
    if let Observation::Unreadable(error) = &mut observed.observation {
        *error = bounded(error.clone());
    }
}

fn is_known(value: &Value) -> bool {
    match value {
        Value::Unknown | Value::Reference(_) | Value::Template(_) => false,
        Value::Map(entries) => entries.values().all(is_known),
        Value::List(items) => items.iter().all(is_known),
        _ => true,
    }
}

fn is_throttled(error: &ProviderError) -> bool {
    matches!(error.class, ErrorClass::Throttled { .. })
}

/// A discovery, completed with the results of a later one.
fn merged(first: Discovery, again: Discovery) -> Discovery {
    let still: BTreeMap<&str, &ProviderError> =
        again.unlisted.iter().map(|unlisted| (unlisted.kind.as_str(), &unlisted.error)).collect();
    let listed_now: BTreeSet<&str> = first
        .unlisted
        .iter()
        .map(|unlisted| unlisted.kind.as_str())
        .filter(|kind| !still.contains_key(kind))
        .collect();
    let is_listed_now = |observed: &Observed| listed_now.contains(observed.address.kind());
    let mut observed: Vec<Observed> =
        first.observed.into_iter().filter(|observed| !is_listed_now(observed)).collect();
    observed.extend(again.observed.iter().filter(|observed| is_listed_now(observed)).cloned());
    observed.sort_by(|one, other| (&one.address, &one.identity).cmp(&(&other.address, &other.identity)));
    let unlisted = first
        .unlisted
        .iter()
        .filter_map(|unlisted| {
            let error = (*still.get(unlisted.kind.as_str())?).clone();
            Some(Unlisted { kind: unlisted.kind.clone(), error })
        })
        .collect();
    Discovery { observed, unlisted, uid: first.uid.or(again.uid) }
}

#[cfg(test)]
mod tests {
    use super::all_messages;

    #[test]
    fn every_failure_is_named_once_and_not_without_end() {
        let two = ["b is off", "a is off", "b is off"];
        assert_eq!(all_messages(two.into_iter()), "a is off; b is off");
        let many: Vec<String> = (10..40).map(|number| format!("h{number}")).collect();
        let text = all_messages(many.iter().map(String::as_str));
        assert!(text.starts_with("h10; h11; ") && text.ends_with("; h21; and 18 more"), "{text}");
    }
}
