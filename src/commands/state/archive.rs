//! `slipway state export` and `slipway state import`

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bytes::Bytes;
use slipway_engine::State;
use slipway_operations::importing::{self, Kept, Protection};
use slipway_operations::{Allowed, Unplanned};
use slipway_state_store::archive::{Archive, KIND};
use slipway_state_store::{
    Acquire, Backend, ClusterName, ClusterUid, Generation, Head, HeadStands, Holder, SystemClock,
    head_stands, history, read_head, restore_head,
};

use crate::cli::state::{ExportArguments, ImportArguments};
use crate::error::CommandError;
use crate::files::{self, Readers, Written};
use crate::program::Context;
use crate::ui;
use crate::unplanned::{self, Treatment};

/// An archive, also of another version.
const ARCHIVE: Written = Written {
    what: "an archive of a state",
    largest: slipway_limits::size::ARCHIVE,
    is_one: |bytes| files::is_json_of(bytes, KIND),
};

/// Writes one generation into a file.
pub(crate) async fn export(context: &Context, arguments: &ExportArguments) -> Result<ExitCode, CommandError> {
    let cluster = ClusterName::new(arguments.cluster.as_str())?;
    if arguments.out != Path::new("-") {
        files::check_out(&arguments.out, ARCHIVE)?;
        check_older(&arguments.out, &cluster, None)?;
    }
    let backend = context.backend()?;
    let entry = history::entry(&*backend, &cluster, arguments.generation.map(Generation)).await?;
    let archive = Archive::new(&entry, history::snapshot(&*backend, &entry).await?);
    let bytes = archive.encode()?;
    if arguments.out == Path::new("-") {
        let text = String::from_utf8(bytes)
            .map_err(|error| CommandError::internal("the state is not text", &error))?;
        context.output.result(&text)?;
    } else {
        let out = &arguments.out;
        check_older(out, &cluster, Some(&entry.uid))?;
        files::write_out(out, &bytes, Readers::AsUsual, ARCHIVE)?;
        let place = out.display();
        context.output.message(&format!("Generation {} of {cluster} is in {place}.", entry.generation));
    }
    context.output.message("Secrets are not in it: they stay in the state store, encrypted.");
    if context.configuration.encryption.state {
        context.output.message("The archive is not encrypted, other than the state store.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses to write over the archive of another cluster, or of another cluster of the same name, if the unique id is known.
fn check_older(path: &Path, cluster: &ClusterName, uid: Option<&ClusterUid>) -> Result<(), CommandError> {
    let Ok(bytes) = slipway_limits::file::read_given(path, slipway_limits::size::ARCHIVE) else {
        // What cannot be read is refused before, or does not exist.
        return Ok(());
    };
    let Some(older) = files::first_json(&bytes) else { return Ok(()) };
    let text = |field: &str| older.get(field).and_then(serde_json::Value::as_str).unwrap_or_default();
    let (named, id) = (text("cluster"), text("uid"));
    let whose = match uid {
        _ if named != cluster.as_str() => named.to_owned(),
        Some(uid) if uid.as_str() != id => {
            format!("another cluster of the name {named}, with the unique id {id}")
        }
        _ => return Ok(()),
    };
    let message = format!("{} is an archive of {whose}; it was left as it is", path.display());
    Err(CommandError::new("CLI0090", message).hint("name a file that does not exist yet with `--out FILE`"))
}

/// Puts an exported generation back, as a new one.
pub(crate) async fn import(context: &Context, arguments: &ImportArguments) -> Result<ExitCode, CommandError> {
    let bytes = slipway_limits::file::read_given(&arguments.file, slipway_limits::size::ARCHIVE)
        .map_err(|error| CommandError::file("the archive", &arguments.file, &error))?;
    let archive = Archive::decode(&Bytes::from(bytes))?;
    let about = &archive.about;
    let (cluster, imported) = (&about.cluster, about.generation);
    // A state that cannot be read is not imported.
    let mut snapshot = State::snapshot_of(cluster.as_str(), &archive.snapshot)?;
    if snapshot.cluster != cluster.as_str() || snapshot.uid.as_str() != about.uid.as_str() {
        let message =
            format!("the archive says that it is of {cluster}, and its state is of {}", snapshot.cluster);
        return Err(CommandError::new("CLI0033", message));
    }
    let backend = context.backend()?;
    let present = match head_stands(&*backend, cluster).await? {
        HeadStands::Whole => read_head(&*backend, cluster).await?.map(|(head, _)| head),
        HeadStands::Lost | HeadStands::Damaged | HeadStands::Old => None,
    };
    if let Some(present) = &present {
        check(present, &archive, arguments)?;
        if present.snapshot.as_ref().is_some_and(|snapshot| snapshot.digest == about.digest) {
            let text = format!("{cluster} is as the archive has it, at generation {}.", present.generation);
            context.output.result(&text)?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    check_history(&*backend, &archive, present.as_ref().filter(|_| arguments.force.is_none())).await?;
    // A cluster of another unique id, or one that was deleted, is given up with its protections.
    let kept = match present.as_ref().is_none_or(|present| !present.deleted && present.uid == about.uid) {
        true => importing::keep(&*backend, cluster, &mut snapshot).await,
        false => Kept::default(),
    };
    let resources = snapshot.resources.len();
    context.output.message(&format!(
        "{cluster} becomes what it was at generation {imported}: {resources} resources, committed by {} on {}.",
        about.commit.who,
        super::moment(about.commit.when),
    ));
    tell_kept(context, cluster, &kept);
    let environment = context.environment()?;
    let mut effects = vec![format!("generation {imported} of {}, {}, is put back", about.uid, about.digest)];
    effects.extend(kept.retained.iter().map(|address| format!("{address} is still kept")));
    let change = Unplanned::of(&environment, "state import", cluster.as_str(), effects).await?;
    let treatment = Treatment { approve: arguments.approve, yes: arguments.change.yes };
    let Some(allowed) = unplanned::allow(context, &environment, change, treatment).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    if !arguments.change.yes {
        ui::prompt::confirm(context, "Put this state back?")?;
    }
    let is_new = present.is_none();
    let bytes = match kept.is_nothing() {
        true => archive.snapshot.to_vec(),
        false => {
            let written = snapshot.to_bytes();
            written.map_err(|error| CommandError::internal("the state cannot be written as JSON", &error))?
        }
    };
    let state = (bytes, slipway_engine::about(&snapshot.spec));
    let generation = put_back(context, backend, (&archive, state), (present, &allowed), arguments).await?;
    context.output.outcome(&format!("{cluster} is at generation {generation}, as it was at {imported}."))?;
    context.output.message("`slipway plan` shows what the cloud has become since.");
    if is_new {
        // Nothing tells a copy from the store of origin, which may be lost.
        context.output.message(&format!(
            "This store had no state of {cluster}. If another store still has it, use one of them only: neither knows what \
             the other one applies. To move the cluster here for good, remove the folder `{cluster}` from the other store."
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Says what the imported state keeps although the archive does not have it.
fn tell_kept(context: &Context, cluster: &ClusterName, kept: &Kept) {
    let until =
        "The next complete apply removes the protection, unless the spec has `deletionProtection: true`.";
    match kept.protection {
        Some(Protection::Present) => context.output.message(&format!(
            "{cluster} stays protected from deletion, as it is now; the archive does not protect it. {until}"
        )),
        Some(Protection::Unknown) => context.output.message(&format!(
            "Whether {cluster} was protected from deletion is not known, so it is protected now. {until}"
        )),
        None => {}
    }
    for address in &kept.retained {
        context.output.message(&format!(
            "{address} is still kept when {cluster} is deleted, as it is now; the archive does not keep it."
        ));
    }
}

/// Stores a state, with its description for the history, as the next generation.
async fn put_back(
    context: &Context,
    backend: Arc<dyn Backend>,
    (archive, (bytes, about_spec)): (&Archive, (Vec<u8>, BTreeMap<String, String>)),
    (present, allowed): (Option<Head>, &Allowed),
    arguments: &ImportArguments,
) -> Result<Generation, CommandError> {
    let about = &archive.about;
    let (cluster, imported) = (&about.cluster, about.generation);
    let actor = context.actor()?;
    let is_new = present.is_none();
    if is_new {
        let meta = slipway_operations::lost_head(&actor, about_spec.clone());
        restore_head(&backend, cluster, about.uid.clone(), imported, meta).await?;
    }
    let mut acquire = Acquire::new(actor.doing("state import")).over_damage().create(about.uid.clone());
    acquire.wait = arguments.change.wait;
    let holder = Holder::acquire(backend, cluster, acquire, Arc::new(SystemClock)).await?;
    if let Some(present) = present
        && holder.head().generation != present.generation
    {
        let now = holder.head().generation;
        let _ = holder.release(None).await;
        return Err(CommandError::new(
            "CLI0033",
            format!("{cluster} came to generation {now} in the meantime"),
        )
        .hint("look at `slipway state history`, and try again"));
    }
    if !is_new && let Err(error) = allowed.check(holder.head().generation) {
        let _ = holder.release(None).await;
        return Err(error.into());
    }
    let detail = format!("generation {imported}, exported as {}", about.digest);
    let meta = slipway_operations::meta(&actor, "state import", detail, about_spec);
    Ok(holder.release(Some((bytes, meta))).await?.generation)
}

/// Refuses an archive with another state than the store's own history has of its generation, and one of a generation that the
/// history of a present state does not have.
async fn check_history(
    backend: &dyn Backend,
    archive: &Archive,
    present: Option<&Head>,
) -> Result<(), CommandError> {
    let about = &archive.about;
    let (cluster, generation) = (&about.cluster, about.generation);
    let Ok(entry) = history::entry(backend, cluster, Some(generation)).await else {
        // A store without a head has nothing to compare with. Another store may have gone on from this one.
        let Some(present) = present.filter(|present| present.uid == about.uid) else { return Ok(()) };
        let message = format!(
            "the history of the store has no generation {generation} of {cluster}, so nothing tells whether the archive was changed"
        );
        let now = present.generation;
        return Err(CommandError::new("CLI0095", message).hint(format!(
            "check where the archive comes from; `--force {now}` imports it all the same, in place of generation {now}"
        )));
    };
    let recorded = entry.snapshot.as_ref().filter(|_| entry.uid == about.uid);
    if recorded.is_none_or(|recorded| recorded.digest == about.digest) {
        return Ok(());
    }
    let message = format!(
        "the archive is not generation {generation} of {cluster}: its state has another digest than the history of the store"
    );
    Err(CommandError::new("CLI0095", message).hint(format!(
        "`slipway state export {cluster} --generation {generation}` exports it as it was committed, as long as the store has it"
    )))
}

/// Refuses to replace a newer state by an older one, or one cluster by another, unless `--force` names the
/// present generation.
fn check(present: &Head, archive: &Archive, arguments: &ImportArguments) -> Result<(), CommandError> {
    let about = &archive.about;
    let (cluster, now, force) = (&present.cluster, present.generation, arguments.force);
    if present.uid != about.uid
        && (force, arguments.confirm.as_deref()) != (Some(now.0), Some(present.uid.as_str()))
    {
        let message = format!(
            "the archive is of another cluster of the name {cluster}: its unique id is {}, that of the store is {}, at \
             generation {now}",
            about.uid, present.uid
        );
        return Err(CommandError::new("CLI0091", message).hint(format!(
            "`--force {now} --confirm {}` gives the cluster in the store up: what it has in the cloud carries its unique \
             id, and Slipway does not find it any more",
            present.uid
        )));
    }
    if force == Some(now.0) {
        return Ok(());
    }
    if let Some(named) = force {
        let message = format!("{cluster} is at generation {now}, and `--force` names {named}");
        return Err(CommandError::new("CLI0033", message));
    }
    let hint = format!("`--force {now}` gives that state up; its generation stays in the history");
    let is_same = present.snapshot.as_ref().is_some_and(|snapshot| snapshot.digest == about.digest);
    if now < about.generation || is_same {
        return Ok(());
    }
    let message =
        format!("{cluster} is at generation {now}, and the archive is of generation {}", about.generation);
    Err(CommandError::new("CLI0033", message).hint(hint))
}
