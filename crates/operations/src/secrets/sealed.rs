//! The texts of secrets inside a plan file: sealed when it is written, opened when it is applied.

use std::collections::{BTreeMap, BTreeSet};

use slipway_engine::SecretSource;
use slipway_plan::Plan;
use slipway_resource::{SecretText, Value};
use slipway_secrets::{Context as Binding, Error as SealError, Expected, Keyring};
use zeroize::{Zeroize as _, Zeroizing};

use crate::error::Error;

/// An envelope with the texts of a plan's secrets; `None` when it has none, when none can be read here, or
/// when there is no key yet, since a plan makes none. Texts outside the envelope are read again when the plan
/// is applied.
pub(crate) async fn seal(
    keyring: &Keyring,
    plan: &Plan,
    source: &dyn SecretSource,
) -> Result<Option<serde_json::Value>, Error> {
    let mut sources = BTreeSet::new();
    for change in &plan.changes {
        gather(&change.after, &mut sources);
        gather(&change.record.applied, &mut sources);
    }
    let texts = sources.into_iter().filter_map(|name| Some((name.to_owned(), source.text(name).ok()?)));
    let texts: BTreeMap<String, SecretText> = texts.collect();
    if texts.is_empty() || !keyring.is_ready().await? {
        return Ok(None);
    }
    let exposed: BTreeMap<&str, &str> =
        texts.iter().map(|(name, text)| (name.as_str(), text.expose())).collect();
    let plain = serde_json::to_vec(&exposed).map(Zeroizing::new);
    let plain = plain.map_err(|error| Error::internal("secrets cannot be written as JSON", error))?;
    let sealed = keyring.seal(binding(plan)?, &plain).await?;
    let sealed = serde_json::from_slice(&sealed);
    sealed.map(Some).map_err(|error| Error::internal("an envelope is not JSON", error))
}

/// The texts that a plan file has. Without a key that opens them there are none, and why is in the answer.
pub(crate) async fn open(
    keyring: &Keyring,
    plan: &Plan,
    sealed: &serde_json::Value,
) -> Result<Result<BTreeMap<String, SecretText>, SealError>, Error> {
    let binding = binding(plan)?;
    let expected =
        Expected { path: &binding.path, uid: binding.uid.as_deref(), generation: Some(binding.generation) };
    let opened = match keyring.open(&expected, sealed.to_string().as_bytes()).await {
        Ok(opened) => opened,
        Err(
            error @ (SealError::NoKey { .. } | SealError::WrongKey { .. } | SealError::KeyService { .. }),
        ) => {
            return Ok(Err(error));
        }
        Err(error) => return Err(error.into()),
    };
    let mut texts: BTreeMap<String, String> = serde_json::from_slice(&opened.plain)
        .map_err(|error| Error::internal("the plan's secrets are no JSON", error))?;
    let wrap = |(name, text): (&String, &mut String)| {
        let wrapped = SecretText::new(text.as_str());
        text.zeroize();
        (name.clone(), wrapped)
    };
    Ok(Ok(texts.iter_mut().map(wrap).collect()))
}

fn binding(plan: &Plan) -> Result<Binding, Error> {
    Ok(Binding {
        path: format!("plan/{}", plan.digest()?),
        cluster: plan.cluster.clone(),
        uid: plan.binding.uid.as_ref().map(|uid| uid.as_str().to_owned()),
        generation: plan.binding.generation.unwrap_or(0),
    })
}

fn gather<'a>(value: &'a Value, sources: &mut BTreeSet<&'a str>) {
    match value {
        Value::Secret(secret) => {
            sources.insert(&secret.source);
        }
        Value::List(items) => items.iter().for_each(|item| gather(item, sources)),
        Value::Map(entries) => entries.values().for_each(|value| gather(value, sources)),
        _ => {}
    }
}
