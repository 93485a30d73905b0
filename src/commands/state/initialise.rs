//! `slipway state init`

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::json;
use slipway_state_store::{Error, initialise};

use super::moment;
use crate::cli::ReportFormat;
use crate::cli::state::InitStoreArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Creates the store or checks it: tries all operations that the state needs at this place.
pub(crate) async fn run(context: &Context, arguments: &InitStoreArguments) -> Result<ExitCode, CommandError> {
    let url = context.state_url();
    let made = initialise(&context.bare_backend()?).await.map_err(Error::from)?;
    let text = match arguments.output {
        ReportFormat::Text => {
            let (by, when) = (&made.marker.made_by, moment(made.marker.created));
            let found = if made.is_new {
                format!("Slipway {by} created the state store {url} on {when}.")
            } else {
                format!("The state store {url} exists; Slipway {by} created it on {when}.")
            };
            let mut text = format!("{found}\nTested in {} ms:\n", made.report.elapsed.as_millis());
            for rule in &made.report.rules {
                // Writing to a string cannot fail.
                let _ = writeln!(text, "  ✓ {rule}");
            }
            text.push_str("The store passed all tests.\n");
            text
        }
        ReportFormat::Json => super::json(&json!({
            "url": url,
            "made": made.is_new,
            "created": made.marker.created,
            "made_by": made.marker.made_by,
            "rules": made.report.rules,
            "elapsed_ms": u64::try_from(made.report.elapsed.as_millis()).unwrap_or(u64::MAX),
        }))?,
    };
    context.output.outcome(&text)?;
    Ok(ExitCode::SUCCESS)
}
