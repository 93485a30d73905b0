//! Services of systemd, by `systemctl`.

use slipway_resource::ProviderError;

use super::{Definition, State};
use crate::disk::Access;
use crate::error::permanent;
use crate::host::Host;
use crate::kind::Work;
use crate::ledger::Found;
use crate::program;
use crate::replaced;

/// The path of the administrator's unit of a service; units of packages are elsewhere.
pub(super) fn unit(name: &str) -> String {
    format!("/etc/systemd/system/{name}.service")
}

pub(super) async fn state(host: &Host, name: &str) -> Result<Option<State>, ProviderError> {
    let own = host.disk.read_text(&unit(name))?;
    if !host.disk.root().is_machine() && host.config.path.is_empty() {
        // An image does not run; an enabled unit is a link in it.
        let link = format!("/etc/systemd/system/multi-user.target.wants/{name}.service");
        let enabled = host.disk.root().resolve(&link)?.is_symlink();
        return Ok(own.map(|unit| State { running: true, enabled, unit: Some(unit), pid: None }));
    }
    let arguments = ["show", "--property=LoadState,ActiveState,MainPID,UnitFileState", "--", name];
    let output = program::run(host, "systemctl", &arguments).await?;
    if !output.success {
        return Err(permanent(format!("systemctl show {name}: {}", output.text)));
    }
    let value = |key: &str| {
        let mut lines = output.out.lines().filter_map(|line| line.split_once('='));
        lines.find(|(name, _)| *name == key).map_or("", |(_, value)| value)
    };
    if value("LoadState") == "not-found" && own.is_none() {
        return Ok(None);
    }
    Ok(Some(State {
        running: matches!(value("ActiveState"), "active" | "reloading"),
        enabled: matches!(value("UnitFileState"), "enabled" | "enabled-runtime" | "static" | "alias"),
        unit: own,
        pid: value("MainPID").parse().ok().filter(|pid| *pid != 0),
    }))
}

pub(super) async fn define(work: &Work, definition: &Definition) -> Result<bool, ProviderError> {
    let Some(text) = definition.unit.clone() else { return Ok(false) };
    let written = work
        .blocking(move |work| {
            let disk = &work.host().disk;
            let path = unit(work.identity());
            if disk.read_text(&path)?.as_deref() == Some(&text) {
                return Ok(false);
            }
            if work.place.entry.as_ref().is_some_and(|entry| entry.found == Found::Kept) {
                replaced::keep(disk, &path)?;
            }
            disk.write(&path, text.as_bytes(), Access::mode(0o644))?;
            Ok(true)
        })
        .await?;
    if written {
        reload(work).await?;
    }
    Ok(written)
}

pub(super) async fn said(host: &Host, name: &str, since: i64) -> Option<String> {
    if !host.disk.root().is_machine() {
        return None;
    }
    let since = format!("@{since}");
    let arguments = ["--unit", name, "--no-pager", "--output", "cat", "--since", &since, "--lines", "200"];
    let output = program::run(host, "journalctl", &arguments).await.ok()?;
    output.success.then_some(output.out)
}

async fn reload(work: &Work) -> Result<(), ProviderError> {
    if !work.host().disk.root().is_machine() && work.host().config.path.is_empty() {
        return Ok(());
    }
    call(work, &["daemon-reload"]).await
}

pub(super) async fn enable(work: &Work, enabled: bool) -> Result<(), ProviderError> {
    let verb = if enabled { "enable" } else { "disable" };
    if let Some(state) = state(work.host(), work.identity()).await?
        && state.enabled == enabled
    {
        return Ok(());
    }
    let host = work.host();
    if !host.disk.root().is_machine() && host.config.path.is_empty() {
        let root = format!("--root={}", host.disk.root().path().display());
        return call(work, &[&root, verb, "--", work.identity()]).await;
    }
    call(work, &[verb, "--", work.identity()]).await
}

pub(super) async fn switch(work: &Work, verb: &str) -> Result<(), ProviderError> {
    let host = work.host();
    if !host.disk.root().is_machine() && host.config.path.is_empty() {
        return Ok(());
    }
    if verb != "stop" {
        // Drop-in files beside the unit take effect from now on.
        reload(work).await?;
    }
    call(work, &[verb, "--", work.identity()]).await
}

/// Restarts another service, if it runs.
pub(super) async fn bounce(work: &Work, name: &str) -> Result<(), ProviderError> {
    call(work, &["try-restart", "--", name]).await
}

pub(super) async fn forget(work: &Work, had_unit: bool) -> Result<(), ProviderError> {
    if had_unit {
        let kept = work.place.entry.as_ref().is_some_and(|entry| entry.found == Found::Kept);
        work.blocking(move |work| {
            let path = unit(work.identity());
            let disk = &work.host().disk;
            if !kept {
                return disk.remove(&path).map(drop);
            }
            if replaced::is_kept(disk, &path)? {
                replaced::bring_back(disk, &path)
            } else {
                disk.remove(&path).map(drop)
            }
        })
        .await?;
        reload(work).await?;
    }
    Ok(())
}

async fn call(work: &Work, arguments: &[&str]) -> Result<(), ProviderError> {
    let output = program::run(work.host(), "systemctl", arguments).await?;
    if output.success {
        return Ok(());
    }
    let text = format!("systemctl {}: {}", arguments.join(" "), output.text);
    Err(permanent(text).with_hint(format!("journalctl -u {} on the node", work.identity())))
}
