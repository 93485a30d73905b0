//! Asks providers what changes mean.
//!
//! A provider may refuse a change, as to make a disk smaller. A plan ends with the refusal. A report of drift carries nothing
//! out: it shows the difference, and the refusal beside it.

use slipway_resource::diff;
use slipway_resource::normalised::altered;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Address, ErrorClass, ProviderError, Value};

use super::{Planner, Prepared};
use crate::decide::sensitive_paths;
use crate::error::Error;
use crate::file::Mode;
use crate::providers::ask;
use crate::reason::Located;

/// Whether a provider refused a change, and not the question: a question that failed has no answer that could be shown.
fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Provider { source, .. } if source.class == ErrorClass::Invalid)
}

impl Planner<'_> {
    /// Asks the providers what the changes mean; one answer for each, in their order.
    pub(super) async fn ask(&self, prepared: &mut [Prepared<'_>]) -> Result<Vec<Planned>, Error> {
        let items: Vec<PlanItem> = prepared.iter().map(|prepared| self.item(prepared)).collect();
        let mut planned = match ask(self.inputs.providers, items).await {
            Err(error) if is_refusal(&error) => match self.inputs.mode {
                Mode::Drift => self.ask_one_by_one(prepared).await?,
                _ => return Err(self.explained(prepared, error)),
            },
            planned => planned?,
        };
        let prepared = &*prepared;
        for (prepared, planned) in prepared.iter().zip(&planned) {
            self.is_as_wanted(prepared, planned)?;
        }
        for (prepared, planned) in prepared.iter().zip(&mut planned) {
            planned.reasons.extend(prepared.dry_run.reasons.iter().cloned());
            planned.replace_paths.extend(prepared.dry_run.replace_paths.iter().cloned());
        }
        Ok(planned)
    }

    /// Holds normalised values against the wanted ones.
    fn is_as_wanted(&self, prepared: &Prepared<'_>, planned: &Planned) -> Result<(), Error> {
        let address = &prepared.desired.address;
        let Some((provider, _, kind)) = self.inputs.providers.of_type(address.kind()) else { return Ok(()) };
        let wanted = prepared.dry_run.desired.as_ref().unwrap_or(&prepared.resolved);
        let Some(altered) = altered(kind, wanted, &planned.normalised, prepared.observed()) else {
            return Ok(());
        };
        let is_hidden = sensitive_paths(&kind.attributes).iter().any(|path| altered.path.starts_with(path));
        let text = |value: &Value| {
            if is_hidden { "(hidden)".to_owned() } else { value.to_json().to_string() }
        };
        Err(Error::Altered {
            provider: provider.to_owned(),
            address: address.clone(),
            wanted: text(&altered.wanted),
            given: text(&altered.given),
            path: altered.path,
        })
    }

    /// Asks for each resource alone. A resource whose change is refused is compared as it was applied, and keeps the refusal.
    async fn ask_one_by_one(&self, prepared: &mut [Prepared<'_>]) -> Result<Vec<Planned>, Error> {
        let mut all = Vec::with_capacity(prepared.len());
        for prepared in prepared {
            let item = self.item(prepared);
            let normalised = item.desired.clone().unwrap_or_default();
            match ask(self.inputs.providers, vec![item]).await {
                Ok(planned) => all.extend(planned),
                Err(Error::Provider { source, .. }) if source.class == ErrorClass::Invalid => {
                    prepared.refusal = Some(self.refusal(prepared, &source));
                    all.push(Planned { normalised, ..Planned::default() });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// The error of an apply of the spec, as a sentence.
    fn refusal(&self, prepared: &Prepared<'_>, source: &ProviderError) -> String {
        let mut text = format!("an apply of the spec as it is would be refused: {source}");
        if let Some(hint) = self.hint(prepared, source.hint.as_deref()) {
            text.push_str("; ");
            text.push_str(&hint);
        }
        text
    }

    /// The refusal with the lines of the spec that ask for the change.
    fn explained(&self, prepared: &[Prepared<'_>], error: Error) -> Error {
        let Error::Provider { provider, mut source } = error else { return error };
        let is_refused =
            |prepared: &&Prepared<'_>| Some(&prepared.desired.address) == source.address.as_ref();
        if let Some(refused) = prepared.iter().find(is_refused) {
            source.hint = self.hint(refused, source.hint.as_deref());
        }
        Error::Provider { provider, source }
    }

    /// A hint that names where the spec asks for what is refused.
    fn hint(&self, prepared: &Prepared<'_>, hint: Option<&str>) -> Option<String> {
        let hint = hint?;
        let places = self.places(prepared);
        Some(if places.is_empty() { hint.to_owned() } else { format!("{hint} ({})", places.join(", ")) })
    }

    /// Where the spec asks for attributes that the existing object has otherwise.
    fn places(&self, prepared: &Prepared<'_>) -> Vec<String> {
        let address: &Address = &prepared.desired.address;
        let (Some(observed), Some((_, _, kind))) =
            (prepared.observed(), self.inputs.providers.of_type(address.kind()))
        else {
            return Vec::new();
        };
        let applied = self.records.get(address).and_then(|record| record.applied.as_ref());
        let changes = diff::diff(kind, observed, &prepared.resolved, applied);
        let mut places = Vec::new();
        for change in changes.iter().filter(|change| !change.after.is_null()) {
            let Some(field) = prepared.desired.origin(&change.path) else { continue };
            let place = match (self.inputs.locate)(field) {
                Some(Located { shown, .. }) => shown,
                None => field.to_owned(),
            };
            if !places.contains(&place) {
                places.push(place);
            }
        }
        places
    }
}
