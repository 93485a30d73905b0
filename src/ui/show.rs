//! Plans in the requested format.

use slipway_limits::text::visible;
use slipway_plan::Plan;
use slipway_plan::render::{self, TextOptions};

use crate::cli::{OutputFormat, ShowOptions};
use crate::error::CommandError;
use crate::program::Context;

/// How large a markdown plan may be, in bytes: a comment on GitHub holds 65,536 characters.
const MARKDOWN_LIMIT: usize = 60_000;

/// How a plan is shown as text.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    /// Whether nothing is folded.
    pub full: bool,
    /// Whether the command has plans of several clusters.
    pub several: bool,
}

/// A plan as text, below lines that name the cluster, its provider, account and region, the place of its state and the actor, and
/// explain the symbols.
pub(crate) fn text(context: &Context, place: &str, plan: &Plan, shown: Shown) -> String {
    text_with(context, plan, shown, &format!("State in {place}"))
}

fn text_with(context: &Context, plan: &Plan, Shown { full, several }: Shown, state: &str) -> String {
    let options = TextOptions {
        color: context.output.color(),
        width: context.output.width(),
        fits: context.output.fits_width(),
        verbose: full,
        notes: context.output.shows_notes(),
        several,
    };
    // An actor that cannot be named is refused before anything is done.
    let actor = context.actor().map_or_else(|_| String::new(), |actor| format!(", actor {}", actor.who));
    let mut head = format!("{}\n{}\n", visible(&subject(plan)), visible(&format!("{state}{actor}")));
    if let Some(legend) = render::legend(plan) {
        head.push_str(&legend);
        head.push('\n');
    }
    format!("{head}\n{}", render::text(plan, &options))
}

/// The cluster of a plan with its provider, and the account and the region where it is.
fn subject(plan: &Plan) -> String {
    let mut out = format!("Cluster {}", plan.cluster);
    let Some(name) = plan.spec.pointer("/provider/name").and_then(serde_json::Value::as_str) else {
        return out;
    };
    out.push_str(&format!(", provider {name}"));
    let Some(pin) = plan.binding.providers.get(name) else { return out };
    if !pin.scope.account.is_empty() {
        out.push_str(&format!(", account {}", pin.scope.account));
    }
    if let Some(region) = &pin.scope.region {
        out.push_str(&format!(", region {region}"));
    }
    out
}

/// A plan that was made against nothing, in any form.
pub(crate) fn offline_plan(
    context: &Context,
    plan: &Plan,
    options: &ShowOptions,
    several: bool,
) -> Result<(), CommandError> {
    if options.output != OutputFormat::Text {
        return self::plan(context, plan, options);
    }
    let shown = Shown { full: options.full, several };
    context.output.result(&text_with(context, plan, shown, "No state (`--offline`)"))
}

/// A plan in any form, of one cluster of a command that may have several.
pub(crate) fn plan_of(
    context: &Context,
    plan: &Plan,
    options: &ShowOptions,
    several: bool,
) -> Result<(), CommandError> {
    if options.output != OutputFormat::Text {
        return self::plan(context, plan, options);
    }
    let shown = Shown { full: options.full, several };
    context.output.result(&text(context, &context.state_url(), plan, shown))
}

/// A plan in any form, of a cluster in the state store of the settings.
pub(crate) fn plan(context: &Context, plan: &Plan, options: &ShowOptions) -> Result<(), CommandError> {
    plan_at(context, &context.state_url(), plan, options)
}

/// A plan as JSON, with its name in the state store as `stored`.
pub(crate) fn stored_json(context: &Context, plan: &Plan, place: &str) -> Result<(), CommandError> {
    let mut document = render::json(plan);
    if let Some(document) = document.as_object_mut() {
        document.insert("stored".to_owned(), place.into());
    }
    context.output.result(&document.to_string())
}

/// Shows a plan in the chosen format, with the place of its cluster's state.
pub(crate) fn plan_at(
    context: &Context,
    place: &str,
    plan: &Plan,
    options: &ShowOptions,
) -> Result<(), CommandError> {
    let text = match options.output {
        OutputFormat::Text => text(context, place, plan, Shown { full: options.full, several: false }),
        OutputFormat::Json => render::json(plan).to_string(),
        OutputFormat::Markdown => render::markdown(plan, MARKDOWN_LIMIT),
        OutputFormat::Html => render::html(plan),
        OutputFormat::Dot => render::dot(plan),
        OutputFormat::Svg => render::svg(plan),
    };
    context.output.result(&text)
}
