//! The balancer in front of the API servers, on each node.

use std::net::SocketAddr;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{Disruption, PlanItem, Planned};
use slipway_resource::{Attribute, Digest, Path, ProviderError, ResourceType, Type, Value};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::api_balancer::Settings;
use crate::attributes::Attributes;
use crate::disk::{Access, Disk};
use crate::error::{conflict, invalid, permanent};
use crate::ledger::Found;
use crate::own_program::OwnService;
use crate::{purge, supervise};

/// The service that forwards connections, with its settings and the members that it remembers.
pub(crate) struct ApiBalancer;

/// The service. It starts before the kubelet, and starts again at once: every client of the node depends on it.
const SERVICE: OwnService = OwnService {
    name: "slipway-api-balancer",
    description: "Slipway: node-local balancer of the Kubernetes API",
    verb: "api-balancer",
    restart_seconds: 1,
    unit: "After=network.target\nBefore=kubelet.service\nStartLimitIntervalSec=0\n",
    service: "UMask=0077\n",
    depend: "\tneed net\n\tbefore kubelet\n",
};

const SETTINGS: &str = "/etc/slipway/api-balancer.json";

/// The folder of the members that the cluster listed last.
const FOLDER: &str = "/var/lib/slipway/api-balancer";
const KNOWN: &str = "/var/lib/slipway/api-balancer/members.json";

/// How long the service has until it accepts connections.
const ACCEPTS: Duration = Duration::from_secs(10);

/// The settings that the service was started with, except for those that it takes over while it runs.
#[derive(Default, Serialize, Deserialize)]
struct Memory {
    started_with: String,
}

#[async_trait]
impl Kind for ApiBalancer {
    fn resource_type(&self) -> ResourceType {
        let text = |text: &str| Attribute::required(Type::String).describe(text);
        form::resource_type(
            "A balancer on a node: clients reach any healthy API server through a loopback address. It forwards TCP connections and \
             does not end TLS.",
            1_000,
            [
                ("listen", text("The loopback address and port that clients connect to, as 127.0.0.1:6444.")),
                (
                    "members",
                    Attribute::required(Type::set(Type::String)).describe(
                        "The API servers of the control planes, as 10.0.0.1:6443. Others that the cluster lists are used too.",
                    ),
                ),
                (
                    "own",
                    Attribute::optional(Type::String)
                        .describe("The API server of this node, which is used as long as it is ready."),
                ),
                (
                    "endpoint",
                    text("The URL of the API for clients outside. It is recorded for `slipway state rebuild`."),
                ),
                ("ca_path", text("The CA of the API servers.")),
                ("client_path", text("The client certificate of the node with its key, in one file.")),
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
        for name in ["ca_path", "client_path"] {
            form::plan_path(planned, name)?;
        }
        let listen = listen(Attributes(&planned.normalised))?;
        members(Attributes(&planned.normalised))?;
        let changes = |name: &str| {
            item.observed.as_ref().is_some_and(|observed| observed.get(name) != planned.normalised.get(name))
        };
        if ["listen", "ca_path", "client_path", "running"].into_iter().any(changes) {
            planned.disruption = Disruption::Brief;
            planned.reasons.push(format!("it is restarted: clients of {listen} connect again"));
        }
        Ok(())
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        let listen = listen(work.wanted())?;
        if supervise::of(work.host()).runs(work.host()) && TcpStream::connect(listen).await.is_ok() {
            let text = format!("another program listens on {listen} already");
            let port = listen.port();
            return Err(conflict(text)
                .with_hint(format!("stop it: `ss -ltnp 'sport = :{port}'` on the node shows it")));
        }
        Ok(Found::Nothing)
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let memory: Memory = recall(work.place.memory()).unwrap_or_default();
        let settings = wanted_settings(&work.host().disk, work.wanted())?;
        let text = serde_json::to_string_pretty(&settings).map_err(|error| permanent(error.to_string()))?;
        let supervisor = supervise::of(work.host());
        let definition = SERVICE.definition(supervisor, &work.host().disk.target(SETTINGS)?)?;
        let with =
            Digest::of(&(&settings.fixed(), &definition)).map_err(|error| invalid(error.to_string()))?;
        work.blocking(move |work| work.host().disk.write(SETTINGS, text.as_bytes(), Access::mode(0o600)))
            .await?;
        SERVICE.run(work, &definition, memory.started_with != with.as_str()).await?;
        if supervisor.runs(work.host()) {
            accepts(work, settings.listen).await?;
        }
        memorise(&Memory { started_with: with.as_str().to_owned() })
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        SERVICE.remove(work).await?;
        work.blocking(|work| {
            let disk = &work.host().disk;
            purge::folder(disk, FOLDER)?;
            disk.remove(SETTINGS).map(drop)
        })
        .await
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
            ("listen", Value::from(settings.listen.to_string())),
            ("members", Value::list(settings.members.iter().map(ToString::to_string))),
            ("endpoint", settings.endpoint.as_str().into()),
            ("running", is_running.into()),
        ]);
        value.set(&Path::key("own"), settings.own.map(|own| own.to_string()).into());
        // Paths on the node, and not those of this process, if the file has the desired values.
        for (name, there) in [("ca_path", &settings.ca_path), ("client_path", &settings.client_path)] {
            let asked = wanted.optional_text(name).ok().flatten().filter(|_| is_wanted);
            let there = there.to_string_lossy().into_owned();
            value.set(&Path::key(name), asked.map_or(there, str::to_owned).into());
        }
        Ok(Some(value))
    }
}

/// Waits until the service accepts connections.
async fn accepts(work: &Work, listen: SocketAddr) -> Result<(), ProviderError> {
    let until = Instant::now() + ACCEPTS;
    while let Err(error) = TcpStream::connect(listen).await {
        if Instant::now() >= until {
            let seconds = ACCEPTS.as_secs();
            let text =
                format!("{} accepts no connection at {listen} within {seconds} s: {error}", SERVICE.name);
            return Err(permanent(text).with_hint(format!(
                "another program may use the port (`ss -ltnp` on the node); else see `journalctl -u {}`",
                SERVICE.name
            )));
        }
        work.pause(Duration::from_millis(50)).await?;
    }
    Ok(())
}

fn listen(wanted: Attributes<'_>) -> Result<SocketAddr, ProviderError> {
    let text = wanted.text("listen")?;
    let address = text.parse::<SocketAddr>().ok().filter(|address| address.ip().is_loopback());
    address.ok_or_else(|| invalid(format!("listen: `{text}` is not a loopback address with a port")))
}

fn members(wanted: Attributes<'_>) -> Result<Vec<SocketAddr>, ProviderError> {
    let parsed = wanted.texts("members").into_iter().map(|text| address("members", &text));
    let mut members = parsed.collect::<Result<Vec<SocketAddr>, _>>()?;
    if members.is_empty() {
        return Err(invalid("members: at least one API server is needed"));
    }
    members.sort_unstable();
    Ok(members)
}

fn address(name: &str, text: &str) -> Result<SocketAddr, ProviderError> {
    text.parse()
        .map_err(|_| invalid(format!("{name}: `{text}` is not an address with a port, as 10.0.0.1:6443")))
}

/// The settings that attributes ask for, with paths of this process.
fn wanted_settings(disk: &Disk, wanted: Attributes<'_>) -> Result<Settings, ProviderError> {
    Ok(Settings {
        listen: listen(wanted)?,
        members: members(wanted)?,
        own: wanted.optional_text("own")?.map(|text| address("own", text)).transpose()?,
        endpoint: wanted.text("endpoint")?.to_owned(),
        ca_path: disk.place(wanted.text("ca_path")?)?,
        client_path: disk.place(wanted.text("client_path")?)?,
        known_path: disk.target(KNOWN)?,
    })
}
