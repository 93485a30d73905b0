//! Snapshots of etcd that a control plane takes by itself.

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::provider::{Applied, PlanItem, Planned};
use slipway_resource::schema::Operation;
use slipway_resource::{Attribute, Digest, Path, ProviderError, ResourceType, Type, Value, with_causes};
use slipway_state_store::backend::url::Location;

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work, etcd_restore};
use crate::attributes::Attributes;
use crate::disk::{Access, Disk};
use crate::error::{invalid, permanent};
use crate::etcd_backup::{self, Attempt, Listed, MANIFEST, Manifest, Settings};
use crate::ledger::Found;
use crate::own_program::OwnService;
use crate::{purge, supervise};

/// The service that takes snapshots, with its settings and the folder for a snapshot that is under way.
pub(crate) struct EtcdBackup;

/// The service.
const SERVICE: OwnService = OwnService {
    name: "slipway-etcd-backup",
    description: "Slipway: snapshots of etcd",
    verb: "etcd-backup",
    restart_seconds: 10,
    unit: "Wants=network-online.target\nAfter=network-online.target\n",
    service: "Nice=10\nUMask=0077\n",
    depend: "\tneed net\n",
};

/// The settings of the service.
pub(super) const SETTINGS: &str = "/etc/slipway/etcd-backup.json";

/// Variables for the store, such as the credentials of a bucket. Users write this file.
const ENVIRONMENT: &str = "/etc/slipway/etcd-backup.env";

const SPOOL: &str = "/var/lib/slipway/etcd-backup";

/// Where snapshots are kept unless the spec names a store.
const STORE: &str = "/var/backups/slipway";

/// Lists the snapshots that this machine sees.
const LIST: &str = "snapshots";

/// One stage of a restore.
const RESTORE: &str = "restore";

/// Reads and writes an object of a snapshot as it is stored, to copy it from one node to another.
const READ: &str = "read-object";
const WRITE: &str = "write-object";

/// Takes a snapshot now.
const SNAPSHOT: &str = "snapshot";

/// The attributes that are paths on the node.
const PATHS: [&str; 4] = ["ca_path", "cert_path", "key_path", "authority_key_path"];

/// The attribute with the paths of former keys.
const FORMER: &str = "former_key_paths";

/// The definition with which the service was started in the last step.
#[derive(Default, Serialize, Deserialize)]
struct Memory {
    started_with: String,
}

#[async_trait]
impl Kind for EtcdBackup {
    fn resource_type(&self) -> ResourceType {
        let text = |text: &str| Attribute::required(Type::String).describe(text);
        let seconds = |text: &str| Attribute::required(Type::Integer).describe(text);
        let mut kind = form::resource_type(
            "Snapshots of etcd that the node takes by itself, on a schedule, while its member leads etcd. They are sealed with a key \
             that is derived from the private key of etcd's authority, and read back after they were saved.",
            2_000,
            [
                ("cluster", text("The cluster; its snapshots are below this name in the store.").immutable()),
                ("member", text("The member of etcd on this node.")),
                ("endpoint", text("The URL of this member.")),
                ("ca_path", text("The CA that etcd is trusted by.")),
                ("cert_path", text("The client certificate with which etcd is asked.")),
                ("key_path", text("Its key.")),
                ("authority_key_path", text("The private key of etcd's authority.")),
                (
                    FORMER,
                    Attribute::optional(Type::list(Type::String))
                        .describe("Private keys of former authorities of etcd, which open older snapshots."),
                ),
                (
                    "store",
                    Attribute::optional(Type::String).default_to(STORE).describe(
                        "Where snapshots are kept: a folder of the node, or the URL of a bucket. Credentials for a bucket are \
                         those of the machine, or variables in /etc/slipway/etcd-backup.env.",
                    ),
                ),
                ("interval_seconds", seconds("The time between two snapshots.")),
                (
                    "retention_seconds",
                    seconds(
                        "How long snapshots are kept: all of the last 24 hours, then the last one of each day. The newest one \
                         is always kept.",
                    ),
                ),
                (
                    "keep_on_delete",
                    Attribute::optional(Type::Bool)
                        .write_only()
                        .describe("Whether the snapshots stay when the cluster is deleted, as they do by default."),
                ),
                (
                    "running",
                    Attribute::optional(Type::Bool)
                        .default_to(true)
                        .describe("Whether the service runs as it was defined. Not to be set."),
                ),
            ],
        );
        let operation = |description: &str, duration_ms, read_only| Operation {
            description: description.to_owned(),
            duration_ms,
            read_only,
        };
        kind.operations.insert(
            LIST.to_owned(),
            operation("Lists the snapshots in the store, as this node sees it.", 1_000, true),
        );
        kind.operations.insert(
            READ.to_owned(),
            operation("Reads an object of a snapshot, sealed as it is stored.", 100, true),
        );
        kind.operations.insert(
            WRITE.to_owned(),
            operation("Stores an object of a snapshot that another node has.", 100, false),
        );
        kind.operations.insert(
            RESTORE.to_owned(),
            operation("Runs one stage of a restore: argument stage, and those of the stage.", 60_000, false),
        );
        kind.operations.insert(
            SNAPSHOT.to_owned(),
            operation("Takes a snapshot now, saves and verifies it.", 20_000, false),
        );
        kind
    }

    fn identity(&self, _: Attributes<'_>) -> Result<String, ProviderError> {
        Ok(SERVICE.name.to_owned())
    }

    fn plan(&self, _: &PlanItem, planned: &mut Planned) -> Result<(), ProviderError> {
        for name in PATHS {
            form::plan_path(planned, name)?;
        }
        if let Some(Value::String(store)) = planned.normalised.get("store") {
            folder_of(store)?;
        }
        let wanted = Attributes(&planned.normalised);
        for path in wanted.texts(FORMER) {
            crate::root::check(&path)?;
        }
        for name in ["interval_seconds", "retention_seconds"] {
            if wanted.integer(name).is_some_and(|seconds| seconds < 1) {
                return Err(invalid(format!("{name} must be at least 1")));
            }
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
        let settings_path = work.host().disk.target(SETTINGS)?;
        let definition = SERVICE.definition(supervise::of(work.host()), &settings_path)?;
        let with = Digest::of(&(&text, &definition)).map_err(|error| invalid(error.to_string()))?;
        work.blocking(move |work| {
            let disk = &work.host().disk;
            if let Some(folder) = folder_of(work.wanted().optional_text("store")?.unwrap_or(STORE))?
                && disk.status(&folder)?.is_none()
            {
                disk.make_directory(&folder, Access::mode(0o700))?;
            }
            disk.write(SETTINGS, text.as_bytes(), Access::mode(0o600))
        })
        .await?;
        SERVICE.run(work, &definition, memory.started_with != with.as_str()).await?;
        memorise(&Memory { started_with: with.as_str().to_owned() })
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        SERVICE.remove(work).await?;
        let wanted = work.place.wanted();
        let keeps = wanted.optional_flag("keep_on_delete").unwrap_or(true);
        if work.host().config.leaving && !keeps {
            wanted_settings(&work.host().disk, wanted)?.remove_snapshots().await?;
        }
        work.blocking(|work| {
            let disk = &work.host().disk;
            purge::folder(disk, SPOOL)?;
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
        let seconds = |seconds: u64| Value::Integer(i64::try_from(seconds).unwrap_or(i64::MAX));
        let mut value = Value::map([
            ("cluster", Value::from(settings.cluster.as_str())),
            ("member", settings.member.as_str().into()),
            ("endpoint", settings.endpoint.as_str().into()),
            ("interval_seconds", seconds(settings.interval_seconds)),
            ("retention_seconds", seconds(settings.retention_seconds)),
            ("running", is_running.into()),
        ]);
        // Paths on the node, and not those of this process: in the desired form, if the file has the same
        // values.
        let asked = |name: &str| wanted.optional_text(name).ok().flatten().filter(|_| is_wanted);
        for (name, there) in settings.paths() {
            let otherwise = if name == "store" && is_wanted { STORE.to_owned() } else { there };
            value.set(&Path::key(name), asked(name).map_or(otherwise, str::to_owned).into());
        }
        let former = match is_wanted {
            true => wanted.texts(FORMER),
            false => {
                settings.former_key_paths.iter().map(|path| path.to_string_lossy().into_owned()).collect()
            }
        };
        if !former.is_empty() {
            value.set(&Path::key(FORMER), Value::list(former));
        }
        Ok(Some(value))
    }

    async fn operate(&self, work: &Work, name: &str, arguments: &Value) -> Result<Applied, ProviderError> {
        let settings = Settings::read(&work.host().disk.target(SETTINGS)?)?;
        let answer = match name {
            LIST => list(&settings).await?,
            SNAPSHOT => {
                work.tell("takes a snapshot");
                let (name, manifest) = etcd_backup::take(&settings).await?;
                let mut taken = described(&name, &manifest);
                taken.set(&Path::key("store"), settings.store.as_str().into());
                taken
            }
            RESTORE => etcd_restore::run(work, &settings, arguments).await?,
            READ => read_object(&settings, Attributes(arguments)).await?,
            WRITE => write_object(&settings, Attributes(arguments)).await?,
            _ => return Err(invalid(format!("backups of etcd have no operation {name}"))),
        };
        Ok(Applied::new(work.place.identity.clone(), answer))
    }
}

/// The snapshots that this node knows.
async fn list(settings: &Settings) -> Result<Value, ProviderError> {
    let listed = settings.repository()?.list().await?;
    let snapshots = listed.iter().map(|Listed { name, manifest }| match manifest {
        Ok(manifest) => described(name, manifest),
        Err(why) => Value::map([("name", name.as_str()), ("problem", why.as_str())]),
    });
    let mut answer = Value::map([
        ("store", Value::from(settings.store.as_str())),
        ("is_shared", settings.store_folder().is_none().into()),
        ("snapshots", Value::list(snapshots)),
    ]);
    // A member that does not answer knows its snapshots all the same.
    match etcd_backup::status(settings).await {
        Ok(status) => {
            answer.set(&Path::key("leads"), status.leads.into());
            answer.set(&Path::key("revision"), Value::Integer(status.revision));
        }
        Err(error) => {
            answer.set(&Path::key("member_problem"), error.message.into());
        }
    }
    if let Some(Attempt { at, error: Some(error) }) = Attempt::read(settings) {
        answer.set(&Path::key("failed_at"), at.to_string().into());
        answer.set(&Path::key("failure"), error.into());
    }
    Ok(answer)
}

/// An object of a snapshot in base64; nothing of one that is not there. Of a manifest, also how many parts there are.
async fn read_object(settings: &Settings, arguments: Attributes<'_>) -> Result<Value, ProviderError> {
    let (snapshot, object) = (arguments.text("snapshot")?, arguments.text("object")?);
    let repository = settings.repository()?;
    let Some(bytes) = repository.read_object(snapshot, object).await? else { return Ok(Value::Null) };
    let mut answer = Value::map([("base64", BASE64.encode(bytes))]);
    if object == MANIFEST {
        let parts = repository.parts(snapshot).await?;
        answer.set(&Path::key("parts"), Value::Integer(i64::try_from(parts).unwrap_or(i64::MAX)));
    }
    Ok(answer)
}

async fn write_object(settings: &Settings, arguments: Attributes<'_>) -> Result<Value, ProviderError> {
    let bytes =
        BASE64.decode(arguments.text("base64")?).map_err(|error| invalid(format!("base64: {error}")))?;
    let (snapshot, object) = (arguments.text("snapshot")?, arguments.text("object")?);
    settings.repository()?.write_object(snapshot, object, bytes).await?;
    Ok(Value::Null)
}

fn described(name: &str, manifest: &Manifest) -> Value {
    let size = |size: u64| Value::Integer(i64::try_from(size).unwrap_or(i64::MAX));
    Value::map([
        ("name", Value::from(name)),
        ("taken", manifest.taken.to_string().into()),
        ("revision", Value::Integer(manifest.revision)),
        ("size", size(manifest.size)),
        ("stored", size(manifest.stored())),
        ("member", manifest.member.as_str().into()),
        ("etcd_version", manifest.etcd_version.as_str().into()),
        ("sha256", manifest.sha256.as_str().into()),
        ("verified", manifest.verified.to_string().into()),
    ])
}

/// The folder of a store on the node; none for a bucket.
fn folder_of(store: &str) -> Result<Option<String>, ProviderError> {
    match store.parse::<Location>().map_err(|error| invalid(with_causes(&error)))? {
        Location::Directory(path) => {
            let path = path.to_string_lossy().into_owned();
            crate::root::check(&path)?;
            Ok(Some(path))
        }
        _ => Ok(None),
    }
}

/// The settings that attributes ask for, with paths of this process.
fn wanted_settings(disk: &Disk, wanted: Attributes<'_>) -> Result<Settings, ProviderError> {
    let store = wanted.optional_text("store")?.unwrap_or(STORE);
    let store = match folder_of(store)? {
        Some(folder) => disk.target(&folder)?.to_string_lossy().into_owned(),
        None => store.to_owned(),
    };
    let place = |name: &str| disk.target(wanted.text(name)?);
    let text = |name: &str| wanted.text(name).map(str::to_owned);
    let former = wanted.texts(FORMER).into_iter().map(|path| disk.target(&path));
    Ok(Settings {
        cluster: text("cluster")?,
        member: text("member")?,
        endpoint: text("endpoint")?,
        ca_path: place("ca_path")?,
        cert_path: place("cert_path")?,
        key_path: place("key_path")?,
        authority_key_path: place("authority_key_path")?,
        former_key_paths: former.collect::<Result<_, _>>()?,
        store,
        interval_seconds: wanted.seconds("interval_seconds", 900).as_secs(),
        retention_seconds: wanted.seconds("retention_seconds", 86_400).as_secs(),
        spool_path: disk.target(SPOOL)?,
        environment_path: disk.target(ENVIRONMENT)?,
    })
}
