//! `slipway state diff`

use std::process::ExitCode;

use slipway_operations::recorded::{self, Types};
use slipway_plan::render::{self, TextOptions};

use crate::cli::ReportFormat;
use crate::cli::state::DiffArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Shows what differs between two generations, in the words of a plan.
pub(crate) async fn run(context: &Context, arguments: &DiffArguments) -> Result<ExitCode, CommandError> {
    let environment = context.environment()?;
    let before = recorded::read(&environment, &arguments.cluster, Some(arguments.from)).await?;
    let after = recorded::read(&environment, &arguments.cluster, arguments.to).await?;
    let types = Types::of(&environment, &[&before.snapshot, &after.snapshot]).await?;
    let comparison = slipway_plan::compare(&before.snapshot, &after.snapshot, |kind| types.get(kind));
    let text = match arguments.output {
        ReportFormat::Text => {
            let title = format!("generation {} to generation {}", before.generation, after.generation);
            let options = TextOptions {
                color: context.output.color(),
                width: context.output.width(),
                fits: context.output.fits_width(),
                verbose: arguments.full,
                ..TextOptions::default()
            };
            render::comparison(&comparison, &title, &options)
        }
        ReportFormat::Json => {
            let mut value = render::comparison_json(&comparison);
            if let Some(fields) = value.as_object_mut() {
                fields.insert("from".to_owned(), serde_json::json!(before.generation));
                fields.insert("to".to_owned(), serde_json::json!(after.generation));
            }
            super::json(&value)?
        }
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}
