//! `slipway state export` and `slipway state import`

use std::path::Path;
use std::process::ExitCode;

use bytes::Bytes;
use slipway_operations::Unplanned;
use slipway_operations::importing::{Compared, GivenUp, Import, Kept, Protection};
use slipway_state_store::archive::{Archive, KIND};
use slipway_state_store::{ClusterName, ClusterUid, Generation, history};

use crate::cli::state::{ExportArguments, ImportArguments};
use crate::code;
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
            .map_err(|error| CommandError::internal("the state is not text", error))?;
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
    Err(CommandError::new(code::OTHER_OUTPUT, message)
        .hint("name a file that does not exist yet with `--out FILE`"))
}

/// Puts an exported generation back, as a new one.
pub(crate) async fn import(context: &Context, arguments: &ImportArguments) -> Result<ExitCode, CommandError> {
    let bytes = slipway_limits::file::read_given(&arguments.file, slipway_limits::size::ARCHIVE)
        .map_err(|error| CommandError::file("the archive", &arguments.file, error))?;
    let archive = Archive::decode(&Bytes::from(bytes))?;
    let cluster = archive.about.cluster.clone();
    let given_up = GivenUp { generation: arguments.force, uid: arguments.confirm.as_deref() };
    let environment = context.environment()?;
    let import = match Import::of(&*context.backend()?, archive, given_up).await? {
        Compared::Import(import) => import,
        Compared::Same(generation) => {
            let text = format!("{cluster} is as the archive has it, at generation {generation}.");
            ui::report::changed(context, &arguments.result, (cluster.as_str(), generation), &text)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let about = &import.archive().about;
    let imported = about.generation;
    context.output.message(&format!(
        "{cluster} becomes what it was at generation {imported}: {} resources, committed by {} on {}.",
        import.resources(),
        about.commit.who,
        super::moment(about.commit.when),
    ));
    tell_kept(context, &cluster, import.kept());
    let change = Unplanned::of(&environment, "state import", cluster.as_str(), import.effects()).await?;
    let treatment = Treatment { approve: arguments.approve, yes: arguments.change.yes };
    let Some(allowed) = unplanned::allow(context, &environment, change, treatment).await? else {
        return Ok(ExitCode::SUCCESS);
    };
    if !arguments.change.yes {
        ui::prompt::confirm(context, "Put this state back?")?;
    }
    let is_new = import.is_new();
    let generation = import.put_back(&environment, &allowed, arguments.change.wait).await?;
    let text = format!("{cluster} is at generation {generation}, as it was at {imported}.");
    ui::report::changed(context, &arguments.result, (cluster.as_str(), generation), &text)?;
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
