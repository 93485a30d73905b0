//! `slipway init`

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use slipway_spec::template::{Template, Variant, template};

use crate::cli::{InitArguments, InitShape};
use crate::error::CommandError;
use crate::program::Context;

/// Writes a commented spec, never over a file that is there.
pub(crate) fn run(context: &Context, arguments: &InitArguments) -> Result<ExitCode, CommandError> {
    let variant = match arguments.shape {
        InitShape::Minimal => Variant::Minimal,
        InitShape::Ha => Variant::HighlyAvailable,
    };
    let text = template(&Template { name: arguments.name.clone(), variant, ..Template::default() });
    if arguments.out == Path::new("-") {
        context.output.result(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let path = &arguments.out;
    let mut file = std::fs::File::create_new(path).map_err(|error| {
        let kind = error.kind();
        let failure = CommandError::file("the file", path, error);
        match kind {
            std::io::ErrorKind::AlreadyExists => failure.hint("`--out FILE` writes to another file"),
            _ => failure,
        }
    })?;
    file.write_all(text.as_bytes()).map_err(|error| CommandError::file("the file", path, error))?;
    context.output.message(&format!(
        "{} describes the cluster {}. `slipway plan -f {0}` shows what it becomes.",
        path.display(),
        arguments.name
    ));
    Ok(ExitCode::SUCCESS)
}
