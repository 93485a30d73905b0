//! Where a plan is: in a file, or in the state store by its digest.

use std::path::Path;

use slipway_engine::State;
use slipway_limits::{Exceeded, file, size};
use slipway_operations::plans::{self, STORE, Saved};
use slipway_operations::{Opened, Planned};
use slipway_plan::Plan;
use slipway_state_store::plans::FEWEST_DIGITS;

use crate::cli::{OutputFormat, ShowOptions};
use crate::error::CommandError;
use crate::files::{self, Readers, Written};
use crate::program::Context;
use crate::ui;

/// A plan file, also of another version.
const PLAN: Written = Written {
    what: "a plan",
    largest: size::PLAN,
    is_one: |bytes| files::is_json_of(bytes, slipway_plan::file::KIND),
};

/// The message about a saved plan that may have to be made again.
const OPEN_STEPS: &str = "Steps of an unfinished run began, and their results are not known yet. `slipway apply` finds them. If one \
                          of them was done, it refuses this saved plan with RUN0005, and a plan that is made then can be applied.";

/// Refuses a place where no plan can be kept, before anything is planned.
pub(crate) fn check(path: Option<&Path>) -> Result<(), CommandError> {
    match path {
        Some(path) if path.to_str() != Some(STORE) => files::check_out(path, PLAN),
        _ => Ok(()),
    }
}

/// Saves a plan at the requested place: in a file, or with `state:` beside the state of its cluster. The name of a plan in the
/// state store is a result: it is written to standard output, or returned for the JSON document of the plan. Formats that are
/// files for other programs have no place for it, and it is written to standard error.
pub(crate) async fn save(
    context: &Context,
    opened: &Opened,
    planned: &Planned,
    path: Option<&Path>,
    output: OutputFormat,
) -> Result<Option<String>, CommandError> {
    let Some(path) = path else { return Ok(None) };
    let is_open = opened.state.as_ref().is_some_and(State::has_open_steps);
    if is_open && !planned.plan.is_empty() {
        context.output.message(OPEN_STEPS);
    }
    let bytes = Saved::to_bytes(opened, planned).await?;
    if path.to_str() != Some(STORE) {
        files::write_out(path, &bytes, Readers::AsUsual, PLAN)?;
        return Ok(None);
    }
    let place = plans::store(&context.environment()?, &planned.plan, bytes).await?;
    let text = format!("The plan is stored as {place}");
    match output {
        OutputFormat::Json => return Ok(Some(place)),
        OutputFormat::Text => context.output.result(&text)?,
        OutputFormat::Markdown | OutputFormat::Html | OutputFormat::Dot | OutputFormat::Svg => {
            context.output.notice(&text);
        }
    }
    Ok(None)
}

/// Saves a plan at the requested place, if any, and shows it.
pub(crate) async fn save_and_show(
    context: &Context,
    opened: &Opened,
    planned: &Planned,
    path: Option<&Path>,
    options: &ShowOptions,
) -> Result<(), CommandError> {
    match save(context, opened, planned, path, options.output).await? {
        Some(place) => ui::show::stored_json(context, &planned.plan, &place),
        None => ui::show::plan(context, &planned.plan, options),
    }
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
        return Err(failure.cause(folder).hint(format!(
            "`slipway apply -f {shown}` applies the specs of a folder, `slipway plan -f {shown}` shows their plan"
        )));
    }
    let bytes = file::read_given(path, size::PLAN).map_err(|error| {
        let kind = error.kind();
        let failure = CommandError::file("the plan", path, error);
        match kind {
            std::io::ErrorKind::NotFound => match digits(path) {
                Some(digits) => failure.hint(format!(
                    "`state:CLUSTER/DIGEST` or `state:DIGEST` names a plan of the state store, as `state:{digits}`; `slipway get \
                     plans` lists the plans that `slipway plan --out state:` stored"
                )),
                None => failure.hint(format!("`slipway plan -f SPEC --out {shown}` saves a plan to this file")),
            },
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

/// The digits of a digest that is given in the place of a file, as `slipway plan` prints it or without `sha256:`.
fn digits(path: &Path) -> Option<&str> {
    let text = path.to_str()?;
    let digits = text.strip_prefix("sha256:").unwrap_or(text);
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    ((FEWEST_DIGITS..=64).contains(&digits.len()) && digits.bytes().all(is_digit)).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_not_taken_for_a_file() {
        let full = "0123456789abcdef".repeat(4);
        assert_eq!(digits(Path::new(&format!("sha256:{full}"))), Some(full.as_str()));
        assert_eq!(digits(Path::new("73c9ab01")), Some("73c9ab01"));
        for file in ["prod.plan", "sha256:", "73c9", "decades", "./73c9ab01"] {
            assert_eq!(digits(Path::new(file)), None, "{file}");
        }
    }
}
