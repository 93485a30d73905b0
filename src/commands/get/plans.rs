//! `slipway get plans`

use std::process::ExitCode;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;
use slipway_operations::Error;
use slipway_operations::plans::STORE;
use slipway_state_store::plans::{self, About};
use slipway_state_store::{Backend, ClusterName, Generation, approvals, list_clusters, read_head};

use super::{Found, over};
use crate::cli::ReportFormat;
use crate::cli::state::GetOfClustersArguments;
use crate::commands::state as shown;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

/// How many plans are read at once. Each is read as a whole.
const AT_ONCE: usize = 4;

/// How many digits of a digest are shown to people.
const DIGITS: usize = 12;

/// A stored plan.
struct Listed {
    about: About,
    /// The persons who approve it, as `user@host`.
    approvals: Vec<String>,
    /// The generation of the state now.
    current: Generation,
}

impl Listed {
    fn is_current(&self) -> bool {
        self.about.generation == self.current
    }
}

/// Lists the plans that are stored beside the state, the newest first for each cluster.
pub(super) async fn run(
    context: &Context,
    arguments: &GetOfClustersArguments,
) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    let names = match &arguments.cluster {
        Some(name) => vec![ClusterName::new(name.as_str())?],
        None => list_clusters(&*backend).await?,
    };
    let look = async |name: &str| stored(&*backend, name).await;
    let Found { items, is_whole } = over(context, arguments, &names, look).await?;
    let plans: Vec<&Listed> = items.iter().flat_map(|(_, plans)| plans).collect();
    let text = match arguments.output {
        ReportFormat::Text if plans.is_empty() => format!("No stored plans in {}.\n", context.state_url()),
        ReportFormat::Text => {
            let rows: Vec<Vec<String>> = plans.iter().map(|listed| row(listed)).collect();
            table(&["PLAN", "GENERATION", "APPROVED BY", "STORED BY", "WHEN", "FITS"], &rows)
        }
        ReportFormat::Json => {
            let plans: Vec<_> = plans.iter().map(|listed| plan_json(listed)).collect();
            shown::json(&json!({ "plans": plans }))?
        }
    };
    context.output.result(&text)?;
    Ok(super::super::done(is_whole))
}

/// The stored plans of a cluster, the newest first.
async fn stored(backend: &dyn Backend, name: &str) -> Result<Vec<Listed>, Error> {
    let name = &ClusterName::new(name)?;
    let current = read_head(backend, name).await?.map_or(Generation(0), |(head, _)| head.generation);
    let digests = plans::find(backend, name, "").await?;
    let read = |digest| async move {
        // It may be removed while it is listed.
        let Some(plan) = plans::read(backend, name, digest).await? else { return Ok(None) };
        let approvals = approvals::of(backend, name, digest).await?;
        let approvals = approvals.into_iter().map(|approval| approval.who).collect();
        Ok::<_, Error>(Some(Listed { about: plan.about, approvals, current }))
    };
    let found: Vec<Option<Listed>> = stream::iter(digests).map(read).buffered(AT_ONCE).try_collect().await?;
    let mut found: Vec<Listed> = found.into_iter().flatten().collect();
    found.sort_by_key(|plan| std::cmp::Reverse(plan.about.when));
    Ok(found)
}

fn row(listed: &Listed) -> Vec<String> {
    let About { cluster, plan, generation, who, when, .. } = &listed.about;
    let digits: String = plan.to_hex().chars().take(DIGITS).collect();
    let approvals = if listed.approvals.is_empty() { "-".to_owned() } else { listed.approvals.join(", ") };
    let fits = match listed.is_current() {
        true => "yes".to_owned(),
        false => format!("no: generation {} was applied since", listed.current),
    };
    vec![
        format!("{STORE}{cluster}/{digits}"),
        generation.to_string(),
        approvals,
        who.clone(),
        shown::moment(*when),
        fits,
    ]
}

fn plan_json(listed: &Listed) -> serde_json::Value {
    let About { cluster, plan, generation, who, when, .. } = &listed.about;
    json!({
        "cluster": cluster,
        "plan": plan,
        "generation": generation,
        "approvals": listed.approvals,
        "who": who,
        "when": when,
        "fits": listed.is_current(),
    })
}
