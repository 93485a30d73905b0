//! Plans in the form that was asked for.

use slipway_plan::Plan;
use slipway_plan::render::{self, TextOptions};

use crate::cli::{OutputFormat, ShowOptions};
use crate::error::CommandError;
use crate::program::Context;

/// How large a markdown plan may be, in bytes: a comment on GitHub holds 65,536 characters.
const MARKDOWN_LIMIT: usize = 60_000;

/// A plan as text.
pub(crate) fn text(context: &Context, plan: &Plan, full: bool) -> String {
    let options = TextOptions { color: context.output.color(), width: context.output.width(), verbose: full };
    render::text(plan, &options)
}

/// A plan in any form.
pub(crate) fn plan(context: &Context, plan: &Plan, options: &ShowOptions) -> Result<(), CommandError> {
    let text = match options.output {
        OutputFormat::Text => text(context, plan, options.full),
        OutputFormat::Json => render::json(plan).to_string(),
        OutputFormat::Markdown => render::markdown(plan, MARKDOWN_LIMIT),
        OutputFormat::Dot => render::dot(plan),
        OutputFormat::Svg => render::svg(plan),
    };
    context.output.result(&text)
}
