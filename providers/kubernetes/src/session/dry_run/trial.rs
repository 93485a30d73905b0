//! One dry run, and the result of its answer.

use std::sync::PoisonError;

use serde_json::Value as Json;
use slipway_resource::provider::{DryRun, PlanItem, PreflightFinding};
use slipway_resource::{ErrorClass, Path, ProviderError, Value};

use super::secrets;
use super::with_manifest;
use crate::api::{Answer, Connection, Refusal, Request, Resource, Taken};
use crate::fields;
use crate::manifest;
use crate::marks::{self, MANAGER, Marks};
use crate::object::{ObjectKey, map_at};
use crate::path;
use crate::session::KubernetesSession;
use crate::session::allocation::{Allocation, Holder, held, refused_allocations};
use crate::session::read::attribute;

/// An object to try.
pub(super) struct Trial<'a> {
    pub session: &'a KubernetesSession,
    pub connection: &'a Connection,
    pub item: &'a PlanItem,
    pub desired: &'a Value,
    pub manifest: &'a Value,
    pub resource: Resource,
    pub key: ObjectKey,
}

/// The result of a dry run.
#[derive(Default)]
pub(super) struct Outcome {
    pub dry_run: DryRun,
    pub refusal: Option<PreflightFinding>,
}

impl Trial<'_> {
    pub(super) async fn run(&self) -> Result<Outcome, ProviderError> {
        // An object that Slipway does not manage yet may exist all the same.
        let live = match &self.item.observed {
            Some(_) => self.session.live(self.connection, &self.key).await?,
            None => None,
        };
        let body = self.body(live.as_ref())?;
        let forced = attribute(self.desired, "force_conflicts").as_bool().unwrap_or_default();
        let answer = self.send(&self.key.name, &body, forced).await?;
        let live = match (live, &answer) {
            (None, Answer::Done { created: false, .. }) => {
                self.session.live(self.connection, &self.key).await?
            }
            (None, Answer::Refused(refusal)) if !refusal.taken().is_empty() => {
                self.session.live(self.connection, &self.key).await?
            }
            (live, _) => live,
        };
        let live = live.filter(|live| self.item.observed.is_some() || !self.has_come_meanwhile(live));
        if let (None, Some(owner)) = (&self.item.observed, live.as_ref().and_then(owner)) {
            let text = format!("it belongs to {owner}; two cannot keep one object");
            return Ok(self
                .refused(ProviderError::new(ErrorClass::Conflict, text).with_hint(
                    "name where it comes from in `moved`, or take it out of the other spec first",
                )));
        }
        match answer {
            Answer::Done { body, .. } => {
                // Fields taken by force are reported, too.
                let taken = match &live {
                    Some(live) if forced => self.taken_anyway(live, &body).await?,
                    _ => Vec::new(),
                };
                Ok(self.outcome(live.as_ref(), &body, &taken))
            }
            Answer::Refused(refusal) if !refusal.taken().is_empty() => {
                self.conflict(&body, &refusal, live.as_ref()).await
            }
            Answer::Refused(refusal) if !refused_allocations(&refusal, &body).is_empty() => {
                self.not_free(&refused_allocations(&refusal, &body)).await
            }
            Answer::Refused(refusal) if refusal.status == 422 && live.is_some() => {
                self.perhaps_immutable(&body, refusal, live.as_ref()).await
            }
            Answer::Refused(refusal) if refusal.is_not_found() && self.item.observed.is_none() => {
                let reason = format!("{}: it is planned as it is written", refusal.message);
                let dry_run = DryRun { reasons: vec![reason], ..DryRun::default() };
                Ok(Outcome { dry_run, refusal: None })
            }
            Answer::Refused(refusal) => Ok(self.refused(refusal.into_error())),
        }
    }

    /// Whether the live object is the one of this address, created after the cluster was observed: a killed
    /// run had requested it.
    fn has_come_meanwhile(&self, live: &Json) -> bool {
        let marks = Marks::read(live);
        let known = self.session.cluster.lock().unwrap_or_else(PoisonError::into_inner);
        marks.address.as_ref() == Some(&self.item.address)
            && known.as_ref().is_some_and(|uid| marks.uid == uid.as_str())
    }

    fn body(&self, live: Option<&Json>) -> Result<Json, ProviderError> {
        let mut body = manifest::outgoing(self.manifest, &|_, _| Some(secrets::PLACEHOLDER.to_owned()))?;
        if self.resource.namespaced
            && let Some(metadata) = map_at(&mut body, &["metadata"])
        {
            metadata.insert("namespace".to_owned(), self.key.namespace.as_str().into());
        }
        if manifest::is_secret_manifest(self.manifest) {
            secrets::fill_known(&mut body, self.manifest, self.last_manifest(), live);
        }
        Ok(body)
    }

    fn last_manifest(&self) -> Option<&Value> {
        self.item.last_applied.as_ref()?.get("manifest")
    }

    async fn send(&self, name: &str, body: &Json, force: bool) -> Result<Answer, ProviderError> {
        let path = self.resource.object(&self.key.kind, &self.key.namespace, name);
        let path = format!("{path}?dryRun=All&fieldManager={MANAGER}&fieldValidation=Strict&force={force}");
        self.connection.ask(&Request::apply(path, body)).await
    }

    /// Compares the object after the dry run with the live one, in the new fields and in those that Slipway
    /// owns now.
    fn outcome(&self, live: Option<&Json>, tried: &Json, taken: &[Taken]) -> Outcome {
        let set = |object: &Json| fields::applied_by(object, MANAGER).map(|applied| applied.fields);
        let after = set(tried).unwrap_or_default();
        let mut reasons = Vec::new();
        let mut desired = with_manifest(self.desired, &manifest::part(tried, &after).manifest);
        let mut observed = None;
        if let Some(live) = live {
            let both = set(live).unwrap_or_default().union(&after);
            let mut seen = manifest::part(live, &both).manifest;
            if manifest::is_secret_manifest(self.manifest) {
                secrets::show(&mut seen, self.manifest, self.last_manifest(), Some(live));
            }
            if let Some(attributes) = &self.item.observed {
                observed = Some(with_manifest(attributes, &seen));
            } else {
                reasons.push(format!(
                    "it exists already, written by {}: it is taken over, and stays when it leaves the spec",
                    marks::managers(live)
                ));
                desired.set(&Path::key("found"), Value::Bool(true));
            }
        }
        if manifest::is_secret_manifest(self.manifest) {
            let mut wish = attribute(&desired, "manifest").clone();
            secrets::wish(&mut wish, self.manifest);
            desired.set(&Path::key("manifest"), wish);
        }
        if !taken.is_empty() {
            let since = |manager: &str| {
                let time = live.and_then(|live| fields::written_at(live, manager));
                time.map(|time| format!(" ({manager} last wrote at {time})")).unwrap_or_default()
            };
            reasons.extend(taken.iter().map(|taken| {
                let Taken { field, manager } = taken;
                format!("{field} is held by {manager}: it is taken back{}", since(manager))
            }));
            desired.set(&Path::key("take_over"), Value::list(taken.iter().map(Taken::to_string)));
        }
        let dry_run = DryRun { desired: Some(desired), observed, reasons, replace_paths: Vec::new() };
        Outcome { dry_run, refusal: None }
    }

    /// The fields that a forced apply would take from other managers.
    async fn taken_anyway(&self, live: &Json, tried: &Json) -> Result<Vec<Taken>, ProviderError> {
        let set = |object: &Json| {
            fields::applied_by(object, MANAGER).map(|applied| applied.fields).unwrap_or_default()
        };
        if fields::writers_of(live, &set(tried), MANAGER).is_empty() {
            return Ok(Vec::new());
        }
        match self.send(&self.key.name, &self.body(Some(live))?, false).await? {
            Answer::Refused(refusal) => Ok(refusal.taken()),
            Answer::Done { .. } => Ok(Vec::new()),
        }
    }

    /// Handles a conflict with other field managers. A field of Slipway that another client changed is drift,
    /// and is corrected. A field that another applier owns, or that Slipway never owned, is a finding for the
    /// user.
    async fn conflict(
        &self,
        body: &Json,
        refusal: &Refusal,
        live: Option<&Json>,
    ) -> Result<Outcome, ProviderError> {
        let taken = refusal.taken();
        let contested: Vec<&Taken> = taken.iter().filter(|taken| !self.is_drift(taken, live)).collect();
        let finding = contested.first().map(|_| {
            let fields: Vec<String> = contested
                .iter()
                .map(|taken| format!("{} is held by {}", taken.field, taken.manager))
                .collect();
            PreflightFinding {
                address: None,
                class: ErrorClass::Conflict,
                message: format!("{}: {}", self.key, fields.join("; ")),
                hint: Some(
                    "leave the fields out of the manifest, or take them over with force_conflicts".to_owned(),
                ),
            }
        });
        // The plan shows the object as a forced apply would make it.
        match self.send(&self.key.name, body, true).await? {
            Answer::Done { body, .. } => {
                let mut outcome = self.outcome(live, &body, &taken);
                if finding.is_some()
                    && let Some(Value::Map(desired)) = &mut outcome.dry_run.desired
                {
                    // Nothing is taken without leave.
                    desired.remove("take_over");
                }
                Ok(Outcome { refusal: finding, ..outcome })
            }
            Answer::Refused(refusal) => Ok(self.refused(refusal.into_error())),
        }
    }

    fn is_drift(&self, taken: &Taken, live: Option<&Json>) -> bool {
        if taken.manager == MANAGER {
            return true;
        }
        let had = |field: &str| self.last_manifest().is_some_and(|last| path::find(last, field).1);
        // A field written as `stringData` is stored as `data`.
        let was_ours = had(&taken.field)
            || (manifest::is_secret_manifest(self.manifest)
                && had(&taken.field.replacen(".data.", ".stringData.", 1)));
        was_ours && !live.is_some_and(|live| fields::is_applier(live, &taken.manager))
    }

    /// Handles an address or a port that is not free. If no object holds it, the API server releases it, and
    /// the step waits for that.
    async fn not_free(&self, allocations: &[Allocation]) -> Result<Outcome, ProviderError> {
        let mut reasons = Vec::new();
        for allocation in allocations {
            match self.session.holder(self.connection, allocation, &self.key).await? {
                Holder::Other(holder) => return Ok(self.refused(held(&self.key, allocation, &holder))),
                Holder::Itself => {}
                Holder::Nobody => reasons.push(format!(
                    "the API still reserves {allocation}, which no object uses; the plan waits until it is released"
                )),
            }
        }
        Ok(Outcome { dry_run: DryRun { reasons, ..DryRun::default() }, refusal: None })
    }

    /// A refused update may concern an immutable field. Then a dry run of the same object under another name
    /// succeeds.
    async fn perhaps_immutable(
        &self,
        body: &Json,
        refusal: Refusal,
        live: Option<&Json>,
    ) -> Result<Outcome, ProviderError> {
        let name: String = self.key.name.chars().take(40).collect();
        let name = format!("{}-slipway-trial", name.trim_end_matches(['-', '.']));
        let mut other = body.clone();
        if let Some(metadata) = map_at(&mut other, &["metadata"]) {
            metadata.insert("name".to_owned(), name.as_str().into());
        }
        let Answer::Done { body: mut tried, .. } = self.send(&name, &other, false).await? else {
            return Ok(self.refused(refusal.into_error()));
        };
        if let Some(metadata) = map_at(&mut tried, &["metadata"]) {
            metadata.insert("name".to_owned(), self.key.name.as_str().into());
        }
        let mut outcome = self.outcome(live, &tried, &[]);
        let wish = outcome.dry_run.desired.as_ref().map(|desired| attribute(desired, "manifest").clone());
        let place = |field: &str| {
            let (found, _) = path::find(wish.as_ref().unwrap_or(self.manifest), field);
            let mut segments = Path::key("manifest").segments().to_vec();
            segments.extend_from_slice(found.segments());
            Path::from(segments)
        };
        let mut paths: Vec<Path> = refusal.causes.iter().map(|cause| place(&cause.field)).collect();
        if paths.is_empty() {
            paths.push(Path::key("manifest"));
        }
        outcome.dry_run.replace_paths = paths;
        let causes: Vec<String> =
            refusal.causes.iter().map(|cause| format!("{}: {}", cause.field, cause.message)).collect();
        let why = if causes.is_empty() { refusal.message } else { causes.join("; ") };
        outcome.dry_run.reasons.push(format!("the API does not change it in place: {why}"));
        Ok(outcome)
    }

    /// The outcome of a refusal: the plan shows the desired object, and preflight has the error.
    fn refused(&self, error: ProviderError) -> Outcome {
        let name = self.key.to_string();
        let message = if error.message.starts_with(&name) {
            error.message
        } else {
            format!("{name}: {}", error.message)
        };
        let refusal = PreflightFinding { address: None, class: error.class, message, hint: error.hint };
        Outcome { dry_run: DryRun::default(), refusal: Some(refusal) }
    }
}

/// To which address of which cluster an object belongs, when Slipway has made it.
fn owner(live: &Json) -> Option<String> {
    let marks = Marks::read(live);
    Some(format!("{} of cluster {} ({})", marks.address?, marks.cluster, marks.uid))
}
