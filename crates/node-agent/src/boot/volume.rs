//! The volume with the data of this machine's member of etcd: attached by the cloud, formatted when it is blank, mounted.
//!
//! The volume, and not the machine, is the member. A record on the disk of the machine names the volume, so that a restart
//! mounts it without a request to the cloud.

mod filesystem;
mod record;
mod table;

use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use slipway_bootstrap::boot::{ETCD, ETCD_DATA, ETCD_MOUNT, NodeBootstrap};
use slipway_bootstrap::preflight::EtcdIds;
use slipway_limits::replace::{self, Readers};
use slipway_provider_node::etcd_data::{self, KnownMember};
use slipway_resource::provider::{Action, ApplyRequest, EventSink, executable_name, operation};
use slipway_resource::{Address, ClusterUid, Identity, Ownership, ProviderError, Token, Value};

use self::filesystem::Content;
pub(super) use self::filesystem::run;
use self::record::Record;
use super::Stop;
use crate::code;
use crate::error::Error;
use crate::facts::below;
use crate::identity::Identifier;
use crate::machine::Machine;

/// How long the cloud may take to attach a volume.
const ATTACH: Duration = Duration::from_secs(300);
/// Devices with their serial numbers.
const DEVICES: &str = "/sys/block";

/// The name of the member of etcd whose volume this machine has; `None` where etcd keeps its data on the disk of the machine.
pub(super) fn member(root: &Path) -> Result<Option<String>, Error> {
    Ok(Record::read(root)?.map(|record| record.member))
}

/// Refuses a machine whose volume is not mounted: a plan would create the folder of the data on the disk of the machine, and etcd would
/// begin anew in it.
///
/// # Errors
/// NODE0033 when the machine has a volume for a member of etcd that is not mounted, or when the record of it cannot be read.
pub(super) fn is_there(root: &Path) -> Result<(), Error> {
    let Some(record) = Record::read(root)? else { return Ok(()) };
    if device(root, &record).is_some_and(|device| is_mounted(root, &device)) {
        return Ok(());
    }
    let text = format!(
        "the volume {} of the member {} of etcd is not mounted at {ETCD_MOUNT}",
        record.volume, record.member
    );
    let hint = format!("`mount {ETCD_MOUNT}` mounts it, or says why it cannot be mounted");
    Err(Error::new(code::VOLUME, text).hint(hint))
}

/// The address that the member had on another machine, if it came from one.
pub(super) fn former(root: &Path) -> Result<Option<String>, Error> {
    Ok(Record::read(root)?.and_then(|record| record.former))
}

/// The member whose data is on the volume, and its etcd cluster; `None` when the volume has no data.
pub(super) fn ids(root: &Path) -> Option<EtcdIds> {
    etcd_data::read(&below(root, ETCD_DATA)).and_then(|data| data.ids)
}

/// The id of this etcd cluster in hexadecimal digits.
pub(super) fn cluster(root: &Path) -> Option<String> {
    ids(root).map(|ids| format!("{:x}", ids.cluster))
}

/// The members that the data on the volume knows. The error is the reason.
pub(super) fn members(root: &Path) -> Result<Vec<KnownMember>, String> {
    etcd_data::members(&below(root, ETCD_DATA))
}

/// The address in the URL of a member; `None` when it has a name.
pub(super) fn address_of(url: &str) -> Option<SocketAddr> {
    url.split_once("://")?.1.trim_end_matches('/').parse().ok()
}

/// The number of members with a vote that the data on the volume knows.
pub(super) fn voters(root: &Path) -> Result<usize, Error> {
    etcd_data::voters(&below(root, ETCD_DATA))
        .map_err(|why| Error::new(code::VOLUME, "the data of etcd on the volume cannot be read").cause(why))
}

/// Attaches and mounts the volume of this machine's member. Repeated, it changes nothing.
pub(super) async fn settle(
    document: &NodeBootstrap,
    machine: &Machine,
    provider_id: Option<&str>,
) -> Result<(), Stop> {
    if document.members_on_volumes().is_empty() {
        return Ok(());
    }
    let root = &machine.root;
    let mut record = match Record::read(root)? {
        Some(record) => record,
        None => {
            let record = attach(document, provider_id).await?;
            record.write(root)?;
            record
        }
    };
    let Some(device) = device(root, &record) else {
        // The cloud may have detached it.
        attach(document, provider_id).await?;
        return Err(Stop::Waits(format!("waits for the device of volume {}", record.volume)));
    };
    if !is_mounted(root, &device) {
        let uuid = formatted(root, &device, &mut record).await?;
        mount(root, &device, &uuid).await?;
    }
    Ok(remember_former(&mut record, machine)?)
}

/// Remembers the address of the member on the machine before, as its data has it.
fn remember_former(record: &mut Record, machine: &Machine) -> Result<(), Error> {
    let root = &machine.root;
    let Some(ids) = ids(root).filter(|_| record.former.is_none()) else { return Ok(()) };
    let own = members(root).unwrap_or_default().into_iter().filter(|member| member.id == ids.member);
    let mut addresses = own.flat_map(|member| member.peer_urls).filter_map(|url| address_of(&url));
    let former = addresses.next().map(|address| address.ip());
    match former.filter(|former| *former != machine.detected.address) {
        Some(former) => {
            record.former = Some(former.to_string());
            record.write(root)
        }
        None => Ok(()),
    }
}

/// The UUID of the file system on the device. A blank device gets one; nothing else is ever formatted.
async fn formatted(root: &Path, device: &Path, record: &mut Record) -> Result<String, Stop> {
    for _ in 0..2 {
        let content = filesystem::content(device).map_err(|error| unusable(record, &error))?;
        match content {
            Content::OfEtcd { uuid } => {
                if record.is_formatting {
                    record.is_formatting = false;
                    record.write(root)?;
                }
                return Ok(uuid);
            }
            // Nothing but an interrupted attempt of this machine has written to it.
            Content::Blank => {}
            Content::Unknown if record.is_formatting => {}
            Content::Unknown | Content::Other { .. } => {
                let found = match &content {
                    Content::Other { what } => what.as_str(),
                    _ => "data that is no file system of a member of etcd",
                };
                let text = format!("the volume {} has {found}, and is not formatted", record.volume);
                return Err(Stop::Failed(Error::new(code::VOLUME, text).hint(
                    "a volume of a member of etcd is blank, or has a file system that Slipway has made on it",
                )));
            }
        }
        record.is_formatting = true;
        record.write(root)?;
        filesystem::format(device).await.map_err(|why| unusable(record, &why))?;
    }
    Err(unusable(record, &"it has no file system after it was formatted").into())
}

/// Mounts the volume, now and whenever the machine starts.
async fn mount(root: &Path, device: &Path, uuid: &str) -> Result<(), Stop> {
    let point = below(root, ETCD_MOUNT);
    let failed = |error: &std::io::Error| Error::file("the mount point of etcd's volume", &point, error);
    std::fs::create_dir_all(&point).map_err(|error| failed(&error))?;
    let table = below(root, table::PATH);
    let text = match std::fs::read_to_string(&table) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Error::file("the table of file systems", &table, &error).into()),
    };
    let wanted = table::with_volume(&text, uuid);
    if wanted != text {
        replace::write(&table, wanted.as_bytes(), Readers::AsUsual)
            .map_err(|error| Error::file("the table of file systems", &table, &error))?;
    }
    let (device, point) = (device.display().to_string(), point.display().to_string());
    let mounted = run("mount", &["-t", filesystem::TYPE, &device, &point]).await;
    if is_mounted(root, Path::new(&device)) {
        return Ok(());
    }
    let why = mounted.err().unwrap_or_else(|| "it is not mounted".to_owned());
    Err(Error::new(code::VOLUME, format!("{device} cannot be mounted at {ETCD_MOUNT}")).cause(why).into())
}

/// Whether the file system of a device is the one at the mount point.
fn is_mounted(root: &Path, device: &Path) -> bool {
    let device = std::fs::metadata(device).map(|found| found.rdev());
    let point = std::fs::metadata(below(root, ETCD_MOUNT)).map(|found| found.dev());
    matches!((device, point), (Ok(device), Ok(point)) if device == point)
}

/// The device of a volume: by the paths that the provider names, or by its serial number.
fn device(root: &Path, record: &Record) -> Option<PathBuf> {
    let is_device =
        |path: &PathBuf| std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device());
    let named = record.devices.iter().map(|path| below(root, path)).find(is_device);
    named.or_else(|| {
        let devices = std::fs::read_dir(below(root, DEVICES)).ok()?.flatten();
        let mut by_serial = devices.filter(|entry| {
            ["device/serial", "serial"].iter().any(|file| {
                let text = std::fs::read_to_string(entry.path().join(file)).unwrap_or_default();
                !record.serial.is_empty() && text.trim() == record.serial
            })
        });
        let name = by_serial.next()?.file_name();
        Some(below(root, "/dev").join(name)).filter(is_device)
    })
}

/// Has the cloud attach the volume of a member that this machine's pool runs.
async fn attach(document: &NodeBootstrap, provider_id: Option<&str>) -> Result<Record, Stop> {
    let provider = document.provider();
    if Identifier::find(provider).is_none() {
        let name = executable_name(provider);
        return Err(Stop::Waits(format!(
            "waits for the program {name}, which attaches the volume of its member of etcd: it is not on the path"
        )));
    }
    let machine = provider_id.ok_or_else(|| {
        let error = Error::new(code::VOLUME, "the provider id of this machine is not known");
        Stop::Refused(error.hint("name it with --provider-id"))
    })?;
    let program = Identifier::start_to_change(provider, document.region()).await?;
    let attached = ask(&program, document, machine).await;
    program.end().await;
    attached
}

async fn ask(program: &Identifier, document: &NodeBootstrap, machine: &str) -> Result<Record, Stop> {
    let kind = program.type_with(operation::ATTACH).await?.ok_or_else(|| {
        let text = format!("the provider {} attaches no volumes of members of etcd", document.provider());
        Stop::Refused(Error::new(code::VOLUME, text))
    })?;
    let cluster = document.cluster_name();
    let arguments = Value::map([
        ("cluster", Value::from(cluster)),
        ("etcd", ETCD.into()),
        ("members", Value::list(document.members_on_volumes())),
        ("machine", machine.into()),
    ]);
    let request = ApplyRequest {
        token: Token::new(format!("attach-{machine}")),
        ownership: Ownership {
            uid: ClusterUid::new(cluster),
            cluster: cluster.to_owned(),
            address: Address::new(kind.as_str(), ETCD),
        },
        action: Action::Operation {
            identity: Identity::new(""),
            name: operation::ATTACH.to_owned(),
            arguments,
        },
        timeout_ms: u64::try_from(ATTACH.as_millis()).unwrap_or(u64::MAX),
    };
    let applied = program.session().apply(request, EventSink::discard()).await.map_err(refused)?;
    Record::of_answer(&applied.attributes).ok_or_else(|| {
        let text = "the answer of the provider names no volume of a member of etcd";
        Stop::Failed(Error::new(code::VOLUME, text))
    })
}

/// Volumes of others become free, and clouds answer later.
fn refused(error: ProviderError) -> Stop {
    if error.class.is_retryable() {
        return Stop::Waits(format!("waits for the volume of its member of etcd: {}", error.message));
    }
    Stop::Failed(
        Error::new(code::VOLUME, "the volume of the member of etcd is not attached").cause(error.message),
    )
}

fn unusable(record: &Record, why: &dyn std::fmt::Display) -> Error {
    let text = format!("the volume {} of the member {} of etcd cannot be used", record.volume, record.member);
    Error::new(code::VOLUME, text).cause(why.to_string())
}

#[cfg(test)]
mod tests;
