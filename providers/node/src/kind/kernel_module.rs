//! A module of the kernel.

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, ProviderError, ResourceType, Type, Value};

use super::form;
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::{Access, Disk};
use crate::error::{invalid, permanent};
use crate::ledger::Found;
use crate::program;

/// A kernel module, loaded now and when the machine starts. It is never unloaded, because other programs may
/// need it.
pub(crate) struct KernelModule;

#[async_trait]
impl Kind for KernelModule {
    fn resource_type(&self) -> ResourceType {
        form::resource_type(
            "A module of the kernel.",
            50,
            [
                (
                    "name",
                    Attribute::required(Type::String).immutable().describe("Its name, as br_netfilter."),
                ),
                (
                    "loaded",
                    Attribute::optional(Type::Bool).default_to(true).describe("Whether it is loaded."),
                ),
            ],
        )
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        let name = desired.text("name")?;
        let is_plain = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
        if is_plain {
            Ok(name.to_owned())
        } else {
            Err(invalid(format!("`{name}` is not a name of a module")))
        }
    }

    fn plan(&self, _: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        match planned.normalised.get("loaded") {
            Some(Value::Bool(false)) => Err(invalid("a module that is not wanted loaded is left out")),
            _ => Ok(()),
        }
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let name = work.identity().to_owned();
        let is_loaded = work
            .blocking(move |work| {
                let disk = &work.host().disk;
                disk.write(&file(&name), format!("{name}\n").as_bytes(), Access::mode(0o644))?;
                loaded(disk, &name)
            })
            .await?;
        if !is_loaded && work.host().disk.root().is_machine() {
            let output = program::run(work.host(), "modprobe", &["--", work.identity()]).await?;
            if !output.success {
                let text = format!("module {} cannot be loaded: {}", work.identity(), output.text);
                return Err(permanent(text).with_hint("the kernel that runs may have no such module"));
            }
        }
        Ok(Json::Null)
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        work.blocking(|work| work.host().disk.remove(&file(work.identity())).map(drop)).await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let identity = place.identity.clone();
        place
            .host
            .blocking(move |host| {
                let name = identity.as_str();
                if host.disk.read_text(&file(name))?.is_none() {
                    return Ok(None);
                }
                let is_loaded = !host.disk.root().is_machine() || loaded(&host.disk, name)?;
                Ok(Some(Value::map([("name", Value::from(name)), ("loaded", is_loaded.into())])))
            })
            .await
    }
}

/// The file by which it is loaded when the machine starts (modules-load.d(5)).
fn file(name: &str) -> String {
    format!("/etc/modules-load.d/slipway-{name}.conf")
}

/// Whether the kernel has it, as a module or built in. Names have underscores there.
fn loaded(disk: &Disk, name: &str) -> Result<bool, ProviderError> {
    let name = name.replace('-', "_");
    if disk.status(&format!("/sys/module/{name}"))?.is_some() {
        return Ok(true);
    }
    // A built-in module without parameters is only in the list of the installed kernel.
    let Some(release) = disk.read_text("/proc/sys/kernel/osrelease")? else { return Ok(false) };
    let built_in = disk.read_text(&format!("/lib/modules/{}/modules.builtin", release.trim()))?;
    let names = |line: &str| line.rsplit('/').next().map(|file| file.replace('-', "_"));
    let file = format!("{name}.ko");
    Ok(built_in.is_some_and(|list| list.lines().filter_map(names).any(|known| known == file)))
}
