//! `slipway apply`

use std::path::Path;
use std::process::ExitCode;

use slipway_engine::{State, StopSignal};
use slipway_operations::{ClusterSpec, Manner, Opened, Request};

use super::done;
use crate::cli::{ApplyArguments, ReportFormat};
use crate::deciding::{self, Asking, Dialogue, Others, carry_out};
use crate::error::CommandError;
use crate::plan_source;
use crate::policies;
use crate::program::Context;
use crate::specs::{self, Selection};

/// Brings clusters to their specs, or carries a saved plan out.
pub(crate) async fn run(context: &Context, arguments: &ApplyArguments) -> Result<ExitCode, CommandError> {
    if let Some(path) = &arguments.plan {
        return saved(context, arguments, path).await;
    }
    let selection = Selection {
        files: arguments.files.clone(),
        cluster: arguments.cluster.clone(),
        provider: arguments.provider.clone(),
        provider_config: arguments.provider_config.clone(),
    };
    let mut through = true;
    let specs = specs::wanted(context, &selection)?;
    let names: Vec<String> = specs.iter().map(|spec| spec.cluster.name.clone()).collect();
    let others = if names.len() > 1 { Others::Clusters(&names) } else { Others::None };
    let dialogue = Dialogue { others, ..dialogue(arguments) };
    for (position, spec) in specs.into_iter().enumerate() {
        if context.signals.is_stopped() {
            context.output.notice(&format!("Stopped: {} was not looked at.", spec.cluster.name));
            through = false;
            continue;
        }
        let applied = one(context, arguments, spec, dialogue).await;
        through &=
            applied.map_err(|error| with_untried(error, names.get(position + 1..).unwrap_or_default()))?;
    }
    Ok(done(through))
}

/// Brings one cluster to its spec. Returns whether all steps were carried out.
async fn one(
    context: &Context,
    arguments: &ApplyArguments,
    spec: ClusterSpec,
    dialogue: Dialogue<'_>,
) -> Result<bool, CommandError> {
    let environment = policies::with(context.environment()?, &arguments.policy)?;
    let mut options = arguments.scope.options(!arguments.no_preflight);
    options.infrastructure_only = arguments.infrastructure_only;
    let opened = Opened::open_to_apply(&environment, spec, &options).await?;
    let request = Request::apply_with(options);
    carry_out(context, &environment, &opened, &request, dialogue).await
}

/// The error of one cluster, with the names of the clusters after it, which were not tried.
fn with_untried(error: CommandError, untried: &[String]) -> CommandError {
    let Some(first) = untried.first() else { return error };
    error.hint(format!(
        "these clusters of the specs were not tried: {}; `--cluster {first}` applies only {first}",
        untried.join(", ")
    ))
}

fn dialogue(arguments: &ApplyArguments) -> Dialogue<'_> {
    let infrastructure_only = arguments.infrastructure_only;
    let json = arguments.output == ReportFormat::Json;
    Dialogue { infrastructure_only, json, ..Dialogue::new(&arguments.run, arguments.full) }
}

/// Carries a saved plan out exactly as it was saved.
async fn saved(context: &Context, arguments: &ApplyArguments, path: &Path) -> Result<ExitCode, CommandError> {
    let saved = plan_source::read_saved(context, path).await?;
    let stop = StopSignal::default();
    let dialogue = dialogue(arguments);
    let environment = context.followed(&policies::with(context.environment()?, &arguments.policy)?, &stop);
    let environment = environment.with_parallelism(dialogue.run.parallelism);
    let terms = deciding::terms(dialogue);
    // Only needed for the names in `--confirm`.
    let state = match arguments.run.confirm.is_empty() {
        true => None,
        false => State::read(&*context.backend()?, &saved.plan.cluster).await?,
    };
    let decide = Asking { context, place: context.state_url(), dialogue, state: state.as_ref() };
    let cluster = saved.plan.cluster.clone();
    let outcome = saved.apply(&environment, Manner { terms: &terms, decide: &decide, stop }).await?;
    Ok(done(deciding::report_in(context, &cluster, &outcome, dialogue)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_the_clusters_that_were_not_tried() {
        let error = || CommandError::new("CLI0013", "it cannot work");
        let text = with_untried(error(), &["prod".to_owned(), "test".to_owned()]).plain();
        assert!(
            text.contains("hint: these clusters of the specs were not tried: prod, test; `--cluster prod`"),
            "{text}"
        );
        assert!(!with_untried(error(), &[]).plain().contains("hint"));
    }
}
