//! Where a plan is: in a file, or in the state store by its digest.

use std::path::Path;

use slipway_limits::{Exceeded, file, size};
use slipway_operations::plans::{self, STORE, Saved};
use slipway_operations::{Opened, Planned};
use slipway_plan::Plan;

use crate::error::CommandError;
use crate::files::{self, Readers, Written};
use crate::program::Context;

/// A plan file, also of another version.
const PLAN: Written = Written {
    what: "a plan",
    largest: size::PLAN,
    is_one: |bytes| files::is_json_of(bytes, slipway_plan::file::KIND),
};

/// Refuses a place where no plan can be kept, before anything is planned.
pub(crate) fn check(path: Option<&Path>) -> Result<(), CommandError> {
    match path {
        Some(path) if path.to_str() != Some(STORE) => files::check_out(path, PLAN),
        _ => Ok(()),
    }
}

/// Saves a plan at the requested place: in a file, or with `state:` beside the state of its cluster.
pub(crate) async fn save(
    context: &Context,
    opened: &Opened,
    planned: &Planned,
    path: Option<&Path>,
) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    let bytes = Saved::to_bytes(opened, planned).await?;
    if path.to_str() == Some(STORE) {
        let place = plans::store(&context.environment()?, &planned.plan, bytes).await?;
        context.output.message(&format!("The plan is stored as {place}"));
        return Ok(());
    }
    files::write_out(path, &bytes, Readers::AsUsual, PLAN)
}

/// Reads the plan of a file, or of `state:DIGEST` or `state:CLUSTER/DIGEST`.
pub(crate) async fn read(context: &Context, path: &Path) -> Result<Plan, CommandError> {
    Ok(read_saved(context, path).await?.plan)
}

/// Reads a plan with the envelope of its secrets, which is not opened.
pub(crate) async fn read_saved(context: &Context, path: &Path) -> Result<Saved, CommandError> {
    if let Some(reference) = path.to_str().and_then(|text| text.strip_prefix(STORE)) {
        return Ok(plans::stored(&context.environment()?, reference).await?);
    }
    let shown = path.display();
    if path.is_dir() {
        let folder = Exceeded::NotAFile { kind: "a folder" };
        let failure = CommandError::new(folder.code(), format!("the plan {shown} cannot be used"));
        return Err(failure.cause(folder.to_string()).hint(format!(
            "`slipway apply -f {shown}` applies the specs of a folder, `slipway plan -f {shown}` shows their plan"
        )));
    }
    let bytes = file::read_given(path, size::PLAN).map_err(|error| {
        let failure = CommandError::file("the plan", path, &error);
        match error.kind() {
            std::io::ErrorKind::NotFound => {
                failure.hint(format!("`slipway plan -f SPEC --out {shown}` saves a plan to this file"))
            }
            _ => failure,
        }
    })?;
    Saved::from_bytes(&bytes).map_err(|error| {
        let failure = CommandError::from(error);
        match path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
            true => failure.hint(format!("`slipway apply -f {shown}` applies a spec")),
            false => failure,
        }
    })
}
