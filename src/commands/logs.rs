//! `slipway logs`

mod cloud;

use std::ops::ControlFlow;
use std::process::ExitCode;

use slipway_engine::State;
use slipway_operations::state;
use slipway_provider_hosts::Remote;
use slipway_spec::model::Host;
use slipway_state_store::list_clusters;

use crate::cli::clusters::NodeLogsArguments;
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// The program on a host.
const PROGRAM: &str = "/var/lib/slipway/bin/slipway";

/// Shows what the kubelet or a component of a node says.
pub(crate) async fn run(context: &Context, arguments: &NodeLogsArguments) -> Result<ExitCode, CommandError> {
    let host = match find(context, arguments).await? {
        Place::Host(host) => host,
        Place::Clouds(clusters) => {
            let text = cloud::read(context, arguments, &clusters).await?;
            context.output.result(&text)?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    let networks = context.policy.networks();
    if arguments.follow {
        return follow(context, &host, arguments).await;
    }
    let text = read(&host, networks, (&arguments.component, arguments.tail)).await?;
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Where a node is.
enum Place {
    /// A spec lists it.
    Host(Box<Host>),
    /// No spec lists it: it can be in one of these clusters, whose machines a cloud launches.
    Clouds(Vec<String>),
}

/// The last lines of a component's log on a host.
pub(crate) async fn read(
    host: &Host,
    networks: &[String],
    (component, tail): (&str, usize),
) -> Result<String, CommandError> {
    let remote = access(host, networks, component)?;
    Ok(remote.run(&format!("{PROGRAM} node logs {component} --tail {tail}")).await?)
}

/// Shows the lines of a component's log on a host as they are written.
async fn follow(
    context: &Context,
    host: &Host,
    arguments: &NodeLogsArguments,
) -> Result<ExitCode, CommandError> {
    let NodeLogsArguments { component, tail, .. } = arguments;
    let remote = access(host, context.policy.networks(), component)?;
    let script = format!("exec {PROGRAM} node logs {component} --tail {tail} --follow");
    let mut written = Ok(());
    let show = |text: &str| {
        written = context.output.result(text);
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    remote.follow(&script, show).await?;
    written.map(|()| ExitCode::SUCCESS)
}

/// The SSH access of a host, to read the log of a component.
fn access(host: &Host, networks: &[String], component: &str) -> Result<Remote, CommandError> {
    let name = &host.name;
    check_component(component)?;
    Remote::to(&host.clone().into(), networks)?.ok_or_else(|| {
        CommandError::new(
            code::NO_LOGS,
            format!("{name} is entered by its agent only, which has no logs to show"),
        )
        .hint("`slipway node logs` on the machine itself shows them")
    })
}

/// Checks that a text can be the name of a component.
fn check_component(component: &str) -> Result<(), CommandError> {
    if is_plain(component) {
        return Ok(());
    }
    Err(CommandError::new(code::NO_COMPONENT, format!("`{component}` is not the name of a component"))
        .hint("a name has letters, digits, `-` and `.`: kubelet, containerd, kube-apiserver, etcd"))
}

/// Whether a name has only letters, digits, hyphens and dots.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    !name.is_empty() && name.bytes().all(plain)
}

/// Finds a node, by what clusters of the state say of their hosts.
async fn find(context: &Context, arguments: &NodeLogsArguments) -> Result<Place, CommandError> {
    let backend = context.backend()?;
    let names: Vec<String> = match &arguments.cluster {
        Some(name) => vec![name.clone()],
        None => list_clusters(&*backend).await?.iter().map(ToString::to_string).collect(),
    };
    let mut found: Vec<(String, Host)> = Vec::new();
    let mut clouds = Vec::new();
    for name in names {
        let Some(state) = State::read(&*backend, &name).await? else { continue };
        let Some(cluster) = state::spec_of(&state.snapshot)? else { continue };
        let hosts = cluster.all_hosts();
        if hosts.is_empty() {
            clouds.push(name.clone());
        }
        let hosts = hosts.into_iter().filter(|host| host.name == arguments.node);
        found.extend(hosts.map(|host| (name.clone(), host)));
    }
    match (found.pop(), found.is_empty()) {
        (Some((_, host)), true) => Ok(Place::Host(Box::new(host))),
        (None, _) => Ok(Place::Clouds(clouds)),
        (Some((last, _)), false) => {
            let mut error = CommandError::new(
                code::SEVERAL_NODES,
                format!("several clusters have a node {}", arguments.node),
            );
            for (cluster, _) in &found {
                error = error.cause(cluster.clone());
            }
            Err(error.cause(last).hint("name one with `--cluster NAME`"))
        }
    }
}
