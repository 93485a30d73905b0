//! `slipway state export` and `slipway state import`

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use bytes::Bytes;
use slipway_engine::State;
use slipway_state_store::archive::{Archive, KIND};
use slipway_state_store::{
    Acquire, Backend, ClusterName, Generation, Head, HeadStands, Holder, SystemClock, head_stands, history,
    read_head, restore_head,
};

use crate::cli::state::{ExportArguments, ImportArguments};
use crate::error::CommandError;
use crate::files::{self, Readers, Written};
use crate::program::Context;
use crate::ui;

/// An archive, also of another version.
const ARCHIVE: Written = Written {
    what: "an archive of a state",
    largest: slipway_limits::size::ARCHIVE,
    is_one: |bytes| files::is_json_of(bytes, KIND),
};

/// Writes one generation into a file.
pub(crate) async fn export(context: &Context, arguments: &ExportArguments) -> Result<ExitCode, CommandError> {
    if arguments.out != Path::new("-") {
        files::check_out(&arguments.out, ARCHIVE)?;
    }
    let backend = context.backend()?;
    let cluster = ClusterName::new(arguments.cluster.as_str())?;
    let entry = history::entry(&*backend, &cluster, arguments.generation.map(Generation)).await?;
    let archive = Archive::new(&entry, history::snapshot(&*backend, &entry).await?);
    let bytes = archive.encode()?;
    if arguments.out == Path::new("-") {
        let text = String::from_utf8(bytes)
            .map_err(|error| CommandError::internal("the state is not text", &error))?;
        context.output.result(&text)?;
    } else {
        let out = &arguments.out;
        files::write_out(out, &bytes, Readers::AsUsual, ARCHIVE)?;
        let place = out.display();
        context.output.message(&format!("Generation {} of {cluster} is in {place}.", entry.generation));
    }
    context.output.message("Secrets are not in it: they stay in the state store, encrypted.");
    if context.configuration.encryption.state {
        context.output.message("What is in it is in clear, other than in the state store.");
    }
    Ok(ExitCode::SUCCESS)
}

/// Puts an exported generation back, as a new one.
pub(crate) async fn import(context: &Context, arguments: &ImportArguments) -> Result<ExitCode, CommandError> {
    let bytes = slipway_limits::file::read_given(&arguments.file, slipway_limits::size::ARCHIVE)
        .map_err(|error| CommandError::file("the archive", &arguments.file, &error))?;
    let archive = Archive::decode(&Bytes::from(bytes))?;
    let about = &archive.about;
    let (cluster, imported) = (&about.cluster, about.generation);
    // A state that cannot be read is not imported.
    let snapshot = State::snapshot_of(cluster.as_str(), &archive.snapshot)?;
    if snapshot.cluster != cluster.as_str() || snapshot.uid.as_str() != about.uid.as_str() {
        let message =
            format!("the archive says that it is of {cluster}, and its state is of {}", snapshot.cluster);
        return Err(CommandError::new("CLI0033", message));
    }
    let backend = context.backend()?;
    let present = match head_stands(&*backend, cluster).await? {
        HeadStands::Whole => read_head(&*backend, cluster).await?.map(|(head, _)| head),
        HeadStands::Lost | HeadStands::Damaged => None,
    };
    if let Some(present) = &present {
        check(present, &archive, arguments)?;
        if present.snapshot.as_ref().is_some_and(|snapshot| snapshot.digest == about.digest) {
            let text = format!("{cluster} is as the archive has it, at generation {}.", present.generation);
            context.output.result(&text)?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    check_history(&*backend, &archive).await?;
    let resources = snapshot.resources.len();
    context.output.message(&format!(
        "{cluster} becomes what it was at generation {imported}: {resources} resources, committed by {} on {}.",
        about.commit.who,
        super::moment(about.commit.when),
    ));
    if !arguments.change.yes {
        ui::prompt::confirm(context, "Put this state back?")?;
    }
    let actor = context.actor();
    let is_new = present.is_none();
    if is_new {
        let meta = slipway_operations::lost_head(&actor, slipway_engine::about(&snapshot.spec));
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
    let detail = format!("generation {imported}, exported as {}", about.digest);
    let meta =
        slipway_operations::meta(&actor, "state import", detail, slipway_engine::about(&snapshot.spec));
    let generation = holder.release(Some((archive.snapshot.to_vec(), meta))).await?.generation;
    context.output.result(&format!("{cluster} is at generation {generation}, as it was at {imported}."))?;
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

/// Refuses an archive with another state than the store's own history has of its generation.
async fn check_history(backend: &dyn Backend, archive: &Archive) -> Result<(), CommandError> {
    let about = &archive.about;
    // A store without a head, or without a record of that generation, has nothing to compare with.
    let Ok(entry) = history::entry(backend, &about.cluster, Some(about.generation)).await else {
        return Ok(());
    };
    let recorded = entry.snapshot.as_ref().filter(|_| entry.uid == about.uid);
    if recorded.is_none_or(|recorded| recorded.digest == about.digest) {
        return Ok(());
    }
    let (cluster, generation) = (&about.cluster, about.generation);
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
