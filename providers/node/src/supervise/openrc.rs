//! Services of OpenRC, by `rc-service` and `rc-update`.

use slipway_resource::ProviderError;

use super::{Definition, State};
use crate::disk::Access;
use crate::error::permanent;
use crate::host::Host;
use crate::kind::Work;
use crate::ledger::Found;
use crate::program;

fn script(name: &str) -> String {
    format!("/etc/init.d/{name}")
}

pub(super) async fn state(host: &Host, name: &str) -> Result<Option<State>, ProviderError> {
    let Some(text) = host.disk.read_text(&script(name))? else { return Ok(None) };
    let status = program::run(host, "rc-service", &[name, "status"]).await?;
    let enabled = host.disk.root().resolve(&format!("/etc/runlevels/default/{name}"))?.is_symlink();
    Ok(Some(State { running: status.success, enabled, unit: Some(text), pid: None }))
}

pub(super) fn define(work: &Work, definition: &Definition) -> Result<bool, ProviderError> {
    let Some(text) = &definition.unit else { return Ok(false) };
    let disk = &work.host().disk;
    let path = script(work.identity());
    if disk.read_text(&path)?.as_deref() == Some(text) {
        return Ok(false);
    }
    disk.write(&path, text.as_bytes(), Access::mode(0o755))?;
    Ok(true)
}

pub(super) async fn enable(work: &Work, enabled: bool) -> Result<(), ProviderError> {
    let known = state(work.host(), work.identity()).await?;
    if known.is_none_or(|state| state.enabled == enabled) {
        return Ok(());
    }
    let verb = if enabled { "add" } else { "delete" };
    call(work, "rc-update", &[verb, work.identity(), "default"]).await
}

pub(super) async fn switch(work: &Work, verb: &str) -> Result<(), ProviderError> {
    call(work, "rc-service", &[work.identity(), verb]).await
}

/// Another service that runs.
pub(super) async fn bounce(work: &Work, name: &str) -> Result<(), ProviderError> {
    call(work, "rc-service", &["--ifstarted", name, "restart"]).await
}

pub(super) fn forget(work: &Work, had_unit: bool) -> Result<(), ProviderError> {
    let is_ours = work.place.entry.as_ref().is_some_and(|entry| entry.found != Found::Kept);
    if is_ours && had_unit {
        work.host().disk.remove(&script(work.identity()))?;
    }
    Ok(())
}

async fn call(work: &Work, name: &str, arguments: &[&str]) -> Result<(), ProviderError> {
    let output = program::run(work.host(), name, arguments).await?;
    if output.success {
        return Ok(());
    }
    Err(permanent(format!("{name} {}: {}", arguments.join(" "), output.text)))
}
