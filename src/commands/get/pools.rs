//! `slipway get pools`

use std::process::ExitCode;

use serde_json::json;
use slipway_operations::{Error, state};
use slipway_spec::model::{NodePool, Size};

use super::{Found, named, over};
use crate::cli::ReportFormat;
use crate::cli::state::GetOfClustersArguments;
use crate::commands::state as shown;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

/// Lists the pools of clusters, by the specs of the last runs that have begun. Reads the state only.
pub(super) async fn run(
    context: &Context,
    arguments: &GetOfClustersArguments,
) -> Result<ExitCode, CommandError> {
    let environment = context.environment()?;
    let names = named(context, arguments.cluster.as_deref()).await?;
    let look = async |name: &str| {
        let spec = state::recorded(&environment, name).await?;
        Ok::<_, Error>((spec, state::unfinished_upgrade(&environment, name).await?))
    };
    let Found { items, is_whole } = over(context, arguments, &names, look).await?;
    for (name, (_, upgrade)) in &items {
        if let Some((from, to)) = upgrade {
            context.output.message(&format!(
                "{name}: its upgrade from {from} to {to} did not complete: machines may still have {from}."
            ));
        }
    }
    let pools: Vec<(&str, &NodePool)> = items
        .iter()
        .flat_map(|(name, (spec, _))| spec.cluster.pools.iter().map(move |pool| (name.as_str(), pool)))
        .collect();
    let text = match arguments.output {
        ReportFormat::Text if pools.is_empty() => format!("No pools in {}.\n", context.state_url()),
        ReportFormat::Text => {
            let rows: Vec<Vec<String>> = pools.iter().map(|(cluster, pool)| row(cluster, pool)).collect();
            table(&["CLUSTER", "POOL", "ROLE", "SIZE", "MACHINE TYPE", "VERSION", "ZONES"], &rows)
        }
        ReportFormat::Json => {
            let pools: Vec<_> = pools
                .iter()
                .map(|(cluster, pool)| {
                    json!({
                        "cluster": cluster,
                        "name": pool.name,
                        "role": pool.role.as_str(),
                        "min": pool.size.min(),
                        "max": pool.size.max(),
                        "machine_type": pool.machine_type,
                        "version": pool.kubernetes_version.to_string(),
                        "zones": pool.zones,
                    })
                })
                .collect();
            shown::json(&json!({ "pools": pools }))?
        }
    };
    context.output.result(&text)?;
    Ok(super::super::done(is_whole))
}

fn row(cluster: &str, pool: &NodePool) -> Vec<String> {
    let zones = if pool.zones.is_empty() { "-".to_owned() } else { pool.zones.join(", ") };
    vec![
        cluster.to_owned(),
        pool.name.clone(),
        pool.role.as_str().to_owned(),
        size(pool.size),
        pool.machine_type.clone().unwrap_or_else(|| "-".to_owned()),
        pool.kubernetes_version.to_string(),
        zones,
    ]
}

/// A number of nodes, as `3` or `1 to 5`.
fn size(size: Size) -> String {
    match (size.min(), size.max()) {
        (min, max) if min == max => min.to_string(),
        (min, max) => format!("{min} to {max}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_numbers_or_ranges() {
        assert_eq!(size(Size::Fixed(3)), "3");
        assert_eq!(size(Size::Bounds { min: 2, max: 2 }), "2");
        assert_eq!(size(Size::Bounds { min: 1, max: 5 }), "1 to 5");
    }
}
