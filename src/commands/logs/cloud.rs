//! Logs of nodes that no spec lists: their machines belong to a cloud, and the API of the cluster reads the logs.

use slipway_operations::node_logs::{NodeLogs, is_in_pod};
use slipway_operations::{Opened, state};

use crate::cli::clusters::NodeLogsArguments;
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// The last lines of the log of a component of a node. Only one cluster is asked: each has a provider of its own, and may not answer for a
/// minute.
pub(super) async fn read(
    context: &Context,
    arguments: &NodeLogsArguments,
    clusters: &[String],
) -> Result<String, CommandError> {
    let NodeLogsArguments { node, component, tail, follow, .. } = arguments;
    super::check_component(component)?;
    let unknown = || {
        CommandError::new(code::NO_NODE, format!("no cluster has a node {node}"))
            .hint("`slipway validate CLUSTER` lists the nodes of a cluster")
    };
    let cluster = match clusters {
        _ if !super::is_plain(node) => return Err(unknown()),
        [cluster] => cluster,
        [] => return Err(unknown()),
        _ => {
            let hint = "name the cluster with `--cluster NAME` if a cloud launches its machines";
            return Err(unknown().hint(hint));
        }
    };
    let environment = context.environment()?;
    let opened = Opened::open(&environment, state::recorded(&environment, cluster).await?).await?;
    let logs = match NodeLogs::of(&opened).await? {
        Ok(logs) => logs,
        Err(why) => return Err(unknown().cause(format!("{cluster}: {why}"))),
    };
    if !logs.has(node).await? {
        return Err(unknown());
    }
    if *follow {
        return Err(CommandError::new(code::NO_LOGS, format!("the logs of {node} cannot be followed"))
            .hint(format!("`kubectl logs --namespace kube-system --follow {component}-{node}` follows a component in a pod")));
    }
    if !is_in_pod(component) {
        return Err(CommandError::new(code::NO_LOGS, format!("the log of {component} is on the machine of {node} only"))
            .hint(format!("run `slipway node logs {component}` on the machine"))
            .hint("name a component that runs in a pod: kube-apiserver, kube-controller-manager, kube-scheduler, etcd"));
    }
    Ok(logs.read(node, component, *tail).await?)
}
