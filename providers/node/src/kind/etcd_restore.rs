//! Restores etcd on this control plane from a snapshot, or from the data of a survivor, stage by stage. The caller runs
//! each stage on all control planes before the next one.
//!
//! No old data is removed before `finish`: until then, `undo` puts data and manifests back. Each stage can be
//! repeated after an interruption.

mod inspect;
mod member;
mod recover;
mod returned;

use std::collections::BTreeSet;
use std::time::Duration;

use slipway_resource::{Path, ProviderError, Value};
use tokio::time::Instant;

use super::{Work, directory, etcd_member};
use crate::attributes::Attributes;
use crate::cri::{self, Container, Runtime};
use crate::disk::{Access, Disk};
use crate::error::{conflict, invalid, permanent, transient};
use crate::etcd::Etcd;
use crate::etcd_backup::Settings;
use crate::purge;
use crate::self_hosted::Record;
use member::Member;

pub(super) use inspect::inspect;
pub(super) use recover::recover;
pub(super) use returned::{OLD, set_aside};

/// Where the kubelet reads manifests, and where they are while it must not.
const MANIFESTS: &str = "/etc/kubernetes/manifests";
const ASIDE: &str = "/var/lib/slipway/etcd-restore";

/// The name of the snapshot that is being restored.
const RESTORED: &str = "/var/lib/slipway/etcd-restore/snapshot";

/// The API server and its clients.
const CLIENTS: [&str; 3] = ["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
const ETCD: &str = "etcd";

/// The pod that runs etcd's own program for restoring.
const POD: &str = "slipway-etcd-restore";

/// How long pods have to end, etcd's program to restore, and etcd to serve.
const ENDS: Duration = Duration::from_secs(240);
const RESTORES: Duration = Duration::from_secs(1_800);
const SERVES: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(250);

/// How long the kubelet has to end pods whose manifests were removed. It ends none before it has reached an API server once since its
/// start, as after a loss of power.
const BY_KUBELET: Duration = Duration::from_secs(60);

/// Runs a stage.
pub(super) async fn run(work: &Work, settings: &Settings, arguments: &Value) -> Result<Value, ProviderError> {
    let arguments = Attributes(arguments);
    let disk = &work.host().disk;
    match arguments.text("stage")? {
        "prepare" => return prepare(work, settings, arguments.text("snapshot")?).await,
        "stop" => stop(work, &CLIENTS).await?,
        "stop-etcd" => stop(work, &[ETCD]).await?,
        "swap" => {
            restore(work, &Member::read(disk)?, arguments.text("initial_cluster")?, arguments.text("token")?)
                .await?;
        }
        "start-etcd" => {
            put_back(disk, &[ETCD])?;
            serves(work, work.place.wanted(), &settings.endpoint).await?;
        }
        "start" => put_back(disk, &CLIENTS)?,
        "finish" => finish(work).await?,
        "undo" => undo(work).await?,
        other => return Err(invalid(format!("restoring has no stage {other}"))),
    }
    Ok(Value::Null)
}

/// Records the new member, and deletes the old data.
async fn finish(work: &Work) -> Result<(), ProviderError> {
    let disk = &work.host().disk;
    let member = Member::read(disk)?;
    remember(work, &member).await?;
    forget(disk, &member)
}

/// Puts the old data and the manifests back.
async fn undo(work: &Work) -> Result<(), ProviderError> {
    let disk = &work.host().disk;
    let member = Member::read(disk)?;
    if member.is_swapped(disk)? {
        stop(work, &[ETCD]).await?;
        member.swap_back(disk)?;
    }
    put_back(disk, &[ETCD])?;
    put_back(disk, &CLIENTS)?;
    disk.remove(&manifest_of(POD))?;
    forget(disk, &member)
}

/// Fetches and checks the snapshot. Nothing that runs is touched.
async fn prepare(work: &Work, settings: &Settings, name: &str) -> Result<Value, ProviderError> {
    let disk = &work.host().disk;
    is_not_self_hosted(disk)?;
    let member = Member::read(disk)?;
    if let Some(begun) = recover::begun(disk)? {
        return Err(conflict(format!("the recovery {} has begun here", begun.recovery))
            .with_hint("`slipway etcd recover …` goes on with it, and with `--undo` puts everything back"));
    }
    let begun = disk.read_text(RESTORED)?;
    if let Some(other) = begun.as_deref().map(str::trim).filter(|other| *other != name) {
        let text = format!("the snapshot {other} is being restored here");
        return Err(conflict(text).with_hint(format!(
            "`slipway etcd restore … --snapshot {other}` goes on with it, and with `--undo` puts everything back"
        )));
    }
    has_image(disk, &member).await?;
    let file = disk.target(&member.snapshot())?;
    if begun.is_none() || !file.exists() {
        purge::folder(disk, &member.folder())?;
        disk.make_directory(&member.folder(), Access::mode(0o700))?;
        settings.repository()?.fetch(name, &file).await?;
        disk.write(RESTORED, name.as_bytes(), Access::mode(0o600))?;
    }
    let mut answer = Value::map([("name", member.name.as_str()), ("peer_url", member.peer_url.as_str())]);
    answer.set(&Path::key("is_new"), begun.is_none().into());
    answer.set(&Path::key("is_swapped"), member.is_swapped(disk)?.into());
    Ok(answer)
}

/// Fails while DaemonSets run the API server and its clients: the kubelet would start them again during a restore.
fn is_not_self_hosted(disk: &Disk) -> Result<(), ProviderError> {
    let Some(record) = Record::all(disk)?.into_iter().next() else { return Ok(()) };
    let text = format!("the control plane of {} is self-hosted, and cannot be stopped for this", record.node);
    Err(conflict(text).with_hint(
        "apply `controlPlane: { hosting: staticPods }` first. Where the API does not answer, the guide \"Self-hosted control plane\" has the \
         way back by hand",
    ))
}

/// Fails if the image of the member, which also has etcd's program for restoring, is not on this machine.
async fn has_image(disk: &Disk, member: &Member) -> Result<(), ProviderError> {
    if runtime(disk).await?.has_image(&member.image).await? {
        return Ok(());
    }
    Err(permanent(format!("the image {} is not on this machine", member.image)))
}

/// Takes the manifests of components away from the kubelet, and waits until their containers have ended.
async fn stop(work: &Work, components: &[&str]) -> Result<(), ProviderError> {
    let disk = &work.host().disk;
    for component in components {
        let path = manifest_of(component);
        if let Some(text) = disk.read(&path)? {
            disk.write(&aside_of(component), &text, Access::mode(0o600))?;
            disk.remove(&path)?;
        }
    }
    let (by_kubelet, until) = (Instant::now() + BY_KUBELET, Instant::now() + ENDS);
    loop {
        let Some(running) = running(disk, components).await? else { return Ok(()) };
        if Instant::now() >= by_kubelet {
            work.tell(format!("the kubelet does not end {running}, and the container runtime is asked to"));
            end(disk, components).await?;
        }
        if Instant::now() >= until {
            let text = format!("{running} still runs {} s after its manifest was removed", ENDS.as_secs());
            return Err(transient(text));
        }
        work.tell(format!("waits until {running} has ended"));
        work.pause(PAUSE * 4).await?;
    }
}

/// Ends the pods of components. The kubelet, which has no manifest of them any more, does not start them again.
async fn end(disk: &Disk, components: &[&str]) -> Result<(), ProviderError> {
    let mut runtime = runtime(disk).await?;
    let pods = runtime.pods().await?;
    for component in components {
        for pod in cri::of_manifest(&pods, "kube-system", component) {
            runtime.stop_containers(&pod.id).await?;
            runtime.remove_pod(&pod.id).await?;
        }
    }
    Ok(())
}

/// A component among these that still has a container.
async fn running(disk: &Disk, components: &[&str]) -> Result<Option<String>, ProviderError> {
    let mut runtime = runtime(disk).await?;
    let (pods, containers) = (runtime.pods().await?, runtime.containers().await?);
    let runs = |component: &&&str| {
        cri::of_manifest(&pods, "kube-system", component).any(|pod| {
            pod.is_ready()
                || containers.iter().any(|container| container.pod == pod.id && container.is_running())
        })
    };
    Ok(components.iter().find(runs).map(|component| (*component).to_owned()))
}

/// The container runtime of this machine.
async fn runtime(disk: &Disk) -> Result<Runtime, ProviderError> {
    let runtime = Runtime::of(disk, None).await;
    runtime.ok_or_else(|| transient("the container runtime does not answer"))
}

/// Gives manifests back to the kubelet.
fn put_back(disk: &Disk, components: &[&str]) -> Result<(), ProviderError> {
    for component in components {
        if let Some(text) = disk.read(&aside_of(component))? {
            disk.write(&manifest_of(component), &text, Access::mode(0o600))?;
            disk.remove(&aside_of(component))?;
        }
    }
    Ok(())
}

/// Has etcd's own program make a data folder of the snapshot, in a pod, from the image that this member runs. Then puts this
/// folder in place of the old data, which is kept aside.
async fn restore(
    work: &Work,
    member: &Member,
    initial_cluster: &str,
    token: &str,
) -> Result<(), ProviderError> {
    let disk = &work.host().disk;
    if member.is_swapped(disk)? {
        // An earlier run may have ended between the two moves.
        return member.swap(disk);
    }
    if running(disk, &[ETCD]).await?.is_some() {
        return Err(permanent("etcd runs: its data is not touched"));
    }
    disk.remove(&manifest_of(POD))?;
    purge::folder(disk, &member.restored())?;
    // Containers of an earlier attempt may still be listed.
    let before: BTreeSet<String> = containers(disk).await?.into_iter().map(|one| one.id).collect();
    disk.write(&manifest_of(POD), member.pod(POD, initial_cluster, token).as_bytes(), Access::mode(0o600))?;
    work.tell("etcd's own program restores the snapshot");
    let begun = Instant::now();
    loop {
        let containers = containers(disk).await?;
        if containers.iter().any(|one| one.has_ended() && !before.contains(&one.id)) {
            break;
        }
        if begun.elapsed() >= RESTORES {
            return Err(transient(format!("the snapshot is not restored after {} s", RESTORES.as_secs())));
        }
        work.pause(PAUSE).await?;
    }
    disk.remove(&manifest_of(POD))?;
    if member.is_restored(disk)? {
        return member.swap(disk);
    }
    Err(permanent("etcd's own program did not restore the snapshot")
        .with_hint(format!("its log on the machine: /var/log/pods/kube-system_{POD}-*/restore/")))
}

/// The containers of the pod that restores.
async fn containers(disk: &Disk) -> Result<Vec<Container>, ProviderError> {
    let mut runtime = runtime(disk).await?;
    let (pods, containers) = (runtime.pods().await?, runtime.containers().await?);
    let is_ours = |container: &Container| {
        cri::of_manifest(&pods, "kube-system", POD).any(|pod| pod.id == container.pod)
    };
    Ok(containers.into_iter().filter(is_ours).collect())
}

/// Waits until this member serves.
async fn serves(work: &Work, access: Attributes<'_>, endpoint: &str) -> Result<(), ProviderError> {
    let until = Instant::now() + SERVES;
    loop {
        let asked = Etcd::connect(&work.host().disk, access, vec![endpoint.to_owned()]);
        let Err(why) = asked?.health().await else { return Ok(()) };
        if Instant::now() >= until {
            return Err(transient(format!("etcd does not serve after {} s: {why}", SERVES.as_secs())));
        }
        work.pause(PAUSE * 4).await?;
    }
}

/// The restored member has another id. Its data is ours, as that of the one before was.
async fn remember(work: &Work, member: &Member) -> Result<(), ProviderError> {
    let (data, name) = (member.data.clone(), member.name.clone());
    work.blocking(move |work| {
        let ids = crate::etcd_data::read(&work.host().disk.target(&data)?).and_then(|data| data.ids);
        let Some(ids) = ids else { return Ok(()) };
        let id = format!("{:x}", ids.member);
        directory::remember_member(work, &id)?;
        etcd_member::renumber(work, &name, &id)
    })
    .await
}

/// Removes everything that the restore kept on this machine.
fn forget(disk: &Disk, member: &Member) -> Result<(), ProviderError> {
    purge::folder(disk, &member.folder())?;
    purge::folder(disk, ASIDE)
}

fn manifest_of(component: &str) -> String {
    format!("{MANIFESTS}/{component}.yaml")
}

fn aside_of(component: &str) -> String {
    format!("{ASIDE}/{component}.yaml")
}
