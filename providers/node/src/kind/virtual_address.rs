//! The virtual address of the API, which one control plane at a time has.

use std::net::IpAddr;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{Disruption, PlanItem, Planned};
use slipway_resource::{Attribute, Digest, Path, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::{Access, Disk};
use crate::error::{invalid, permanent};
use crate::ledger::Found;
use crate::own_program::OwnService;
use crate::supervise;
use crate::virtual_address::Settings;

/// The service that takes part in the election for the address, with its settings.
pub(crate) struct VirtualAddress;

/// The service. It needs two rights of the kernel, and is one of the last processes to be ended when memory runs out.
const SERVICE: OwnService = OwnService {
    name: "slipway-virtual-address",
    description: "Slipway: virtual address of the Kubernetes API",
    verb: "virtual-address",
    restart_seconds: 1,
    unit: "After=network-online.target\nWants=network-online.target\nStartLimitIntervalSec=0\n",
    service: "UMask=0077\nOOMScoreAdjust=-900\nCapabilityBoundingSet=CAP_NET_ADMIN CAP_NET_RAW\nNoNewPrivileges=yes\n",
    depend: "\tneed net\n",
};

const SETTINGS: &str = "/etc/slipway/virtual-address.json";

/// The settings that the service was started with.
#[derive(Default, Serialize, Deserialize)]
struct Memory {
    started_with: String,
}

#[async_trait]
impl Kind for VirtualAddress {
    fn resource_type(&self) -> ResourceType {
        let text = |text: &str| Attribute::required(Type::String).describe(text);
        form::resource_type(
            "The virtual address of the API: the control planes elect the one that has it by a Lease of the cluster.",
            1_000,
            [
                ("address", text("The address, as 10.0.0.40.")),
                (
                    "interface",
                    Attribute::optional(Type::String)
                        .describe("The interface that gets it; else the one with the address of the node."),
                ),
                ("node", text("The name of the node.")),
                ("node_address", text("The address of the node.")),
                ("kubeconfig_path", text("The kubeconfig for the API server of this node.")),
                (
                    "running",
                    Attribute::optional(Type::Bool)
                        .default_to(true)
                        .describe("Whether the service runs as it was defined. Not to be set."),
                ),
            ],
        )
    }

    fn identity(&self, _: Attributes<'_>) -> Result<String, ProviderError> {
        Ok(SERVICE.name.to_owned())
    }

    fn plan(&self, item: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        form::plan_path(planned, "kubeconfig_path")?;
        let wanted = Attributes(&planned.normalised);
        let address = address(wanted, "address")?;
        self::address(wanted, "node_address")?;
        let changes = |name: &str| {
            let part = |value: &Value| value.get(name).filter(|part| !part.is_null()).cloned();
            item.observed.as_ref().is_some_and(|observed| part(observed) != part(&planned.normalised))
        };
        let names = ["address", "interface", "node", "node_address", "kubeconfig_path", "running"];
        if names.into_iter().any(changes) {
            planned.disruption = Disruption::Brief;
            planned.reasons.push(format!("it is restarted: another control plane takes {address} over"));
        }
        Ok(())
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let memory: Memory = recall(work.place.memory()).unwrap_or_default();
        let settings = wanted_settings(&work.host().disk, work.wanted())?;
        let text = serde_json::to_string_pretty(&settings).map_err(|error| permanent(error.to_string()))?;
        let supervisor = supervise::of(work.host());
        let definition = SERVICE.definition(supervisor, &work.host().disk.target(SETTINGS)?)?;
        let with = Digest::of(&(&settings, &definition)).map_err(|error| invalid(error.to_string()))?;
        work.blocking(move |work| work.host().disk.write(SETTINGS, text.as_bytes(), Access::mode(0o600)))
            .await?;
        SERVICE.run(work, &definition, memory.started_with != with.as_str()).await?;
        memorise(&Memory { started_with: with.as_str().to_owned() })
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        SERVICE.remove(work).await?;
        work.blocking(|work| work.host().disk.remove(SETTINGS).map(drop)).await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        let disk = &place.host.disk;
        let Some(text) = disk.read_text(SETTINGS)? else { return Ok(None) };
        let Ok(settings) = serde_json::from_str::<Settings>(&text) else { return Ok(None) };
        let definition = SERVICE.definition(supervise::of(&place.host), &disk.target(SETTINGS)?)?;
        let is_running = SERVICE.is_running(&place.host, &definition).await?;
        let wanted = place.wanted();
        let is_wanted = wanted_settings(disk, wanted).is_ok_and(|wanted| wanted == settings);
        let mut value = Value::map([
            ("address", Value::from(settings.address.to_string())),
            ("node", settings.node.as_str().into()),
            ("node_address", settings.node_address.to_string().into()),
            ("running", is_running.into()),
        ]);
        value.set(&Path::key("interface"), settings.interface.clone().into());
        // The path on the node, and not that of this process, if the file has the desired values.
        let asked = wanted.optional_text("kubeconfig_path").ok().flatten().filter(|_| is_wanted);
        let there = settings.kubeconfig_path.to_string_lossy().into_owned();
        value.set(&Path::key("kubeconfig_path"), asked.map_or(there, str::to_owned).into());
        Ok(Some(value))
    }
}

fn address(wanted: Attributes<'_>, name: &str) -> Result<IpAddr, ProviderError> {
    let text = wanted.text(name)?;
    let address = text.parse::<IpAddr>().ok();
    let usable = address
        .filter(|address| !address.is_loopback() && !address.is_unspecified() && !address.is_multicast());
    usable.ok_or_else(|| invalid(format!("{name}: `{text}` is not an address of a host")))
}

/// The settings that attributes ask for, with paths of this process.
fn wanted_settings(disk: &Disk, wanted: Attributes<'_>) -> Result<Settings, ProviderError> {
    Ok(Settings {
        address: address(wanted, "address")?,
        interface: wanted.optional_text("interface")?.map(str::to_owned),
        node: wanted.text("node")?.to_owned(),
        node_address: address(wanted, "node_address")?,
        kubeconfig_path: disk.place(wanted.text("kubeconfig_path")?)?,
    })
}
