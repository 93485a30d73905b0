//! A change of a service's program or settings: the service must run well with it, otherwise the previous
//! version is restored.

use jiff::Timestamp;
use slipway_resource::{ErrorClass, ProviderError};

use super::seen;
use crate::kind::Work;
use crate::ledger::{Found, Stage};
use crate::previous;
use crate::steady::{self, Steady};
use crate::supervise::{self, Definition};

/// The parts of a service that a change has touched.
pub(super) struct Changed {
    pub(super) steady: Steady,
    /// The unit's file, where it has one of ours.
    pub(super) unit: Option<String>,
    /// The definition before the change.
    pub(super) before: Option<Definition>,
}

/// Whether a step changes a service that was there, and is not about to make it.
pub(super) fn is_change(work: &Work) -> bool {
    let is_change = |stage, found| stage == Stage::Changing || found == Found::TakenOver;
    work.place.entry.as_ref().is_some_and(|entry| is_change(entry.stage, entry.found))
}

impl Changed {
    /// Waits until a restarted service runs well for a while. If it does not, its previous files are restored
    /// and it is started with them; the step fails all the same.
    pub(super) async fn runs_well(
        &self,
        work: &Work,
        begun: Timestamp,
        with_node: bool,
    ) -> Result<(), ProviderError> {
        let Err(why) = self.steady.hold(work, begun, with_node).await? else { return Ok(()) };
        let name = work.identity();
        let said = supervise::of(work.host()).said(work.host(), name, begun.as_second()).await;
        let said = match steady::last_errors(&said) {
            text if text.is_empty() => String::new(),
            text => format!(". It said: {text}"),
        };
        let came_back = self.put_back(work, with_node).await?;
        let text = format!("{name} does not run well with its new settings: {why}{said}. {came_back}");
        Err(ProviderError::new(ErrorClass::Permanent, text).with_hint(
            "correct the setting in the spec and apply it again; machines behind this one were not changed",
        ))
    }

    /// Puts back what was there before; says how that went.
    async fn put_back(&self, work: &Work, with_node: bool) -> Result<String, ProviderError> {
        let paths: Vec<String> = self.paths(work).collect();
        let back = work.blocking(move |work| {
            let mut back = Vec::new();
            for path in paths {
                if previous::put_back(&work.host().disk, &path)? {
                    back.push(path);
                }
            }
            Ok(back)
        });
        let back = back.await?;
        let supervisor = supervise::of(work.host());
        let before = self.before.clone().filter(|_| supervisor.is_ours());
        if back.is_empty() && before.is_none() {
            return Ok("What it ran with before is not known, so that nothing was put back".to_owned());
        }
        let what = if back.is_empty() { "its command".to_owned() } else { back.join(" and ") };
        work.tell(format!("{what} comes back as it was, and {} is started with that", work.identity()));
        let begun = Timestamp::now();
        let definition = before.map_or_else(|| super::definition(work.wanted()), Ok)?;
        supervisor.restart(work, &definition).await?;
        Ok(match self.steady.of_any_version().hold(work, begun, with_node).await? {
            Ok(()) => format!("{what} was put back as it was, and {} runs well with that", work.identity()),
            Err(why) => format!(
                "{what} was put back as it was, and {} does not run well with that either: {why}",
                work.identity()
            ),
        })
    }

    /// Drops the previous files, which are not needed any more.
    pub(super) async fn is_done(&self, work: &Work) -> Result<(), ProviderError> {
        let paths: Vec<String> = self.paths(work).collect();
        work.blocking(move |work| paths.iter().try_for_each(|path| previous::forget(&work.host().disk, path)))
            .await
    }

    /// The files that the service reads, and its own.
    fn paths(&self, work: &Work) -> impl Iterator<Item = String> {
        seen::paths(work.wanted()).into_keys().chain(self.unit.clone())
    }
}
