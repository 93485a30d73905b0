//! Checks right before a step that its object is still as the plan read it: batched reads, none older than ten
//! seconds.

mod reader;

use std::collections::BTreeMap;
use std::time::Duration;

use slipway_plan::precondition::Precondition;
use slipway_plan::render::{TextOptions, change_lines};
use slipway_resource::diff::Change;
use slipway_resource::{Address, ErrorClass, Identity, Observation, Path, ProviderError, Value};
use tokio::time::Instant;

pub(crate) use self::reader::Reader;

/// How old the read may be by which a step checks its object.
pub const READ_AGE: Duration = Duration::from_secs(10);

/// The expected state of an object when the next step on it begins.
#[derive(Clone, Debug)]
pub(crate) struct Expectation {
    /// The precondition.
    pub precondition: Precondition,
    /// When it was last seen to hold.
    pub seen: Option<Instant>,
}

/// The verdict on an object.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It is as expected.
    Holds,
    /// It is gone.
    Gone,
}

/// Checks an expectation, with a new read if the last one is too old. `before` are the attributes that the
/// plan read, if they are available.
///
/// # Errors
/// `precondition-failed` with the differences, or the reason why the object could not be read.
pub(crate) async fn check(
    reader: &Reader,
    address: &Address,
    identity: &Identity,
    expectation: &Expectation,
    before: Option<&Value>,
) -> Result<Verdict, ProviderError> {
    let Precondition::Unchanged { .. } = expectation.precondition else { return Ok(Verdict::Holds) };
    if expectation.seen.is_some_and(|seen| seen.elapsed() < reader.age()) {
        return Ok(Verdict::Holds);
    }
    match reader.read(address, identity).await {
        Observation::Absent => Ok(Verdict::Gone),
        Observation::Unreadable(error) => Err(error.with_address(address)),
        Observation::Present(attributes) if expectation.precondition.holds(&attributes) => Ok(Verdict::Holds),
        Observation::Present(attributes) => {
            let changed = expectation.precondition.changed_fields(&attributes);
            let text = format!(
                "{address} ({identity}) was changed since the plan was made: {}",
                if changed.is_empty() {
                    "its managed fields differ".to_owned()
                } else {
                    difference(&changed, before, &attributes)
                }
            );
            Err(ProviderError::new(ErrorClass::PreconditionFailed, text)
                .with_address(address)
                .with_hint("run `slipway plan` again and review what changed"))
        }
    }
}

/// The fields that differ, with their earlier and present values. Hidden attributes have no expectation.
fn difference(fields: &[String], before: Option<&Value>, now: &Value) -> String {
    let Some(before) = before else { return fields.join(", ") };
    let value = |attributes: &Value, field: &String| attributes.get(field).cloned().unwrap_or_default();
    let changes: Vec<Change> = fields
        .iter()
        .map(|field| Change {
            path: Path::key(field.as_str()),
            before: value(before, field),
            after: value(now, field),
            replaces: false,
            sensitive: false,
        })
        .collect();
    let text = change_lines(&changes, &[], &TextOptions::default());
    match text.trim_end().split_once('\n') {
        None => text.trim_end().to_owned(),
        Some(_) => text.trim_end().lines().map(|line| format!("\n  {line}")).collect(),
    }
}

/// The expectations of a run by address.
#[derive(Debug, Default)]
pub(crate) struct Expectations(BTreeMap<Address, Expectation>);

impl Expectations {
    pub fn insert(&mut self, address: &Address, expectation: Expectation) {
        self.0.insert(address.clone(), expectation);
    }

    pub fn get(&self, address: &Address) -> Option<Expectation> {
        self.0.get(address).cloned()
    }

    /// After a step of the run's own the object is expected to be as that step left it.
    pub fn carry_forward(&mut self, address: &Address, attributes: &slipway_resource::Value) {
        if let Some(expectation) = self.0.get_mut(address) {
            expectation.precondition = expectation.precondition.carried_forward(attributes);
            expectation.seen = Some(Instant::now());
        }
    }
}
