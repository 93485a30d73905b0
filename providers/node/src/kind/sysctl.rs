//! A setting of the kernel.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Attribute, Form, Path, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::{Access, Disk};
use crate::error::{invalid, not_found, of_path};
use crate::ledger::Found;

/// A setting of the kernel, now and after a restart. On an image only the latter.
pub(crate) struct Sysctl;

/// How it was before.
#[derive(Serialize, Deserialize)]
struct Memory {
    before: Option<String>,
}

#[async_trait]
impl Kind for Sysctl {
    fn resource_type(&self) -> ResourceType {
        form::resource_type(
            "A setting of the kernel.",
            2,
            [
                (
                    "name",
                    Attribute::required(Type::String)
                        .immutable()
                        .describe("Its name, as net.ipv4.ip_forward; a slash in a name stands as it is."),
                ),
                ("value", Attribute::required(Type::String).forms([Form::Space]).describe("Its value.")),
            ],
        )
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        let name = desired.text("name")?;
        let is_plain = !name.is_empty()
            && name.split(['.', '/']).all(|part| {
                !part.is_empty()
                    && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
            });
        if is_plain {
            Ok(name.to_owned())
        } else {
            Err(invalid(format!("`{name}` is not a name of a setting")))
        }
    }

    fn plan(&self, _: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        if let Some(Value::String(text)) = planned.normalised.get("value") {
            let text = normal(text);
            planned.normalised.set(&Path::key("value"), text.into());
        }
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        // Kernel settings have no owner; the old value is recorded.
        Ok(Found::Nothing)
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let before = match recall::<Memory>(work.place.memory()) {
                Some(memory) => memory.before,
                None => current(&work.host().disk, work.identity())?,
            };
            memorise(&Memory { before })
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let (name, value) = (work.identity(), normal(work.wanted().text("value")?));
            let line = format!("{name} = {value}\n");
            disk.write(&file(name), line.as_bytes(), Access::mode(0o644))?;
            match current(disk, name)? {
                Some(now) if now == value => {}
                Some(_) => set(disk, name, &value)?,
                None if disk.root().is_machine() => {
                    let text = format!("the kernel has no setting {name}");
                    return Err(not_found(text).with_hint("a kernel module that brings it may be missing"));
                }
                None => {}
            }
            Ok(work.place.memory().clone())
        })
        .await
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let name = work.identity();
            let wanted = work.place.wanted().text("value").map(normal).unwrap_or_default();
            let before = recall::<Memory>(work.place.memory()).and_then(|memory| memory.before);
            // If the value was changed since, it is not reset.
            if let Some(before) = before
                && current(disk, name)? == Some(wanted)
            {
                set(disk, name, &before)?;
            }
            disk.remove(&file(name)).map(drop)
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let identity = place.identity.clone();
        place
            .host
            .blocking(move |host| {
                let name = identity.as_str();
                let kept = host.disk.read_text(&file(name))?;
                let kept = kept.as_deref().and_then(|line| line.trim().split_once(" = "));
                let kept = kept.map(|(_, value)| normal(value));
                let Some(kept) = kept else { return Ok(None) };
                // The value in effect is shown; another value after the next restart is a difference, too.
                let now = current(&host.disk, name)?.unwrap_or_else(|| kept.clone());
                let value = if now == kept { now } else { format!("{now} (after a restart {kept})") };
                Ok(Some(Value::map([("name", name), ("value", value.as_str())])))
            })
            .await
    }
}

/// Blanks between the numbers of a setting count once.
fn normal(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The file that sets it when the machine starts (sysctl.d(5)).
fn file(name: &str) -> String {
    format!("/etc/sysctl.d/90-slipway-{}.conf", name.replace('/', "-"))
}

/// Where the kernel shows it: dots and slashes are exchanged when the first separator is a dot (sysctl(8)).
fn kernel_file(name: &str) -> String {
    let swaps = name.find(['.', '/']).is_none_or(|at| name.as_bytes().get(at) == Some(&b'.'));
    let swap = |letter| match letter {
        '.' if swaps => '/',
        '/' if swaps => '.',
        other => other,
    };
    format!("/proc/sys/{}", name.chars().map(swap).collect::<String>())
}

fn current(disk: &Disk, name: &str) -> Result<Option<String>, ProviderError> {
    Ok(disk.read_text(&kernel_file(name))?.map(|value| normal(&value)))
}

fn set(disk: &Disk, name: &str, value: &str) -> Result<(), ProviderError> {
    let place = disk.target(&kernel_file(name))?;
    disk.at("set");
    std::fs::write(&place, value).map_err(|error| of_path(&place, &format!("set {value}"), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_files_of_the_kernel() {
        assert_eq!(kernel_file("net.ipv4.ip_forward"), "/proc/sys/net/ipv4/ip_forward");
        assert_eq!(kernel_file("net.ipv4.conf.eth0/1.rp_filter"), "/proc/sys/net/ipv4/conf/eth0.1/rp_filter");
        assert_eq!(kernel_file("net/ipv4/conf/eth0.1/rp_filter"), "/proc/sys/net/ipv4/conf/eth0.1/rp_filter");
        assert_eq!(normal("4096\t16384  4194304\n"), "4096 16384 4194304");
    }
}
