//! `slipway apply`

use std::path::Path;
use std::process::ExitCode;

use slipway_plan::Mode;

use super::done;
use crate::applying;
use crate::cli::ApplyArguments;
use crate::error::CommandError;
use crate::planning::{Prepared, Request};
use crate::program::Context;
use crate::protection;
use crate::secrets::sealed;
use crate::specs::{self, Selection, Wanted};
use crate::{composition, plan_source, ui};

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
    for wanted in specs::wanted(context, &selection)? {
        let prepared = Prepared::open(context, wanted, false).await?;
        let mut request = Request::apply(&arguments.scope, !arguments.no_preflight);
        request.options.infrastructure_only = arguments.run.infrastructure_only;
        through &= applying::bring(context, &prepared, &request, &arguments.run, arguments.full).await?;
    }
    Ok(done(through))
}

/// Carries a saved plan out exactly as it was saved.
async fn saved(context: &Context, arguments: &ApplyArguments, path: &Path) -> Result<ExitCode, CommandError> {
    let (plan, sealed) = plan_source::read_with_sealed(context, path).await?;
    plan_source::check_fits(context, &plan).await?;
    context.output.result(&ui::show::text(context, &plan, arguments.full))?;
    if protection::is_nothing(&plan) {
        return Ok(ExitCode::SUCCESS);
    }
    let confirmed = applying::agree(context, &plan, &arguments.run).await?;
    let cluster = serde_json::from_value(plan.spec.clone())
        .map_err(|error| CommandError::internal("the plan's spec cannot be read", &error))?;
    let wanted = Wanted::recorded(context, cluster);
    let mut prepared = match plan.mode {
        Mode::Delete => Prepared::leaving(context, wanted).await?,
        Mode::Apply | Mode::Drift => Prepared::open(context, wanted, false).await?,
    };
    plan.check_losses(&prepared.providers, prepared.state.as_ref().map(|state| &state.snapshot))?;
    let endpoints = composition::endpoints(&prepared.wanted.cluster, &plan.binding.catalogs);
    prepared.access.also_at(endpoints);
    if let Some(sealed) = sealed {
        match sealed::open(&prepared.keyring, &plan, &sealed).await? {
            Ok(texts) => prepared.texts.sealed = texts,
            Err(error) => {
                context.output.message(&format!("The plan's secrets are read again, because {error}."));
            }
        }
    }
    if plan.mode == Mode::Delete {
        protection::check_prepared(&prepared, false)?;
    }
    let held = applying::take(context, &prepared, &arguments.run, "apply", plan.binding.uid.clone()).await?;
    if plan.mode == Mode::Delete
        && let Err(error) = protection::check(&plan.cluster, held.protection, None, false)
    {
        return applying::give_back(held, error).await;
    }
    let report = applying::run(context, &prepared, &plan, held, confirmed, None).await?;
    ui::report::show(context, &plan, &report)?;
    Ok(done(report.is_complete() && !plan.has_deferred()))
}
