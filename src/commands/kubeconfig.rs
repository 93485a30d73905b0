//! `slipway kubeconfig`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use slipway_bootstrap::kubeconfig::Kubeconfig;

use crate::access::Entry;
use crate::actor::Actor;
use crate::cli::ClusterArguments;
use crate::cli::clusters::KubeconfigArguments;
use crate::composition;
use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::planning::{self, Prepared};
use crate::program::Context;
use crate::specs::{self, Selection};

/// The group that a cluster's administrators are in.
const ADMINISTRATORS: &str = "kubeadm:cluster-admins";

/// Opens a cluster that the state has, with the way to its API. Reads only.
pub(crate) async fn open(context: &Context, arguments: &ClusterArguments) -> Result<Prepared, CommandError> {
    let wanted = match &arguments.name {
        Some(name) => planning::recorded(context, name).await?,
        None => {
            let named = specs::one(context, &Selection::from(arguments))?;
            planning::recorded(context, &named.cluster.name).await?
        }
    };
    let prepared = Prepared::open(context, wanted, false).await?;
    prepared.know_recorded();
    Ok(prepared)
}

/// Makes a kubeconfig with credentials of a person's own, for a while.
pub(crate) async fn run(
    context: &Context,
    arguments: &KubeconfigArguments,
) -> Result<ExitCode, CommandError> {
    let prepared = open(context, &arguments.cluster).await?;
    let groups = match arguments.groups.as_slice() {
        [] => vec![ADMINISTRATORS.to_owned()],
        given => given.to_vec(),
    };
    let entry = Entry {
        user: arguments.user.clone().unwrap_or_else(|| user(&Actor::current(context).who)),
        groups,
        validity: arguments.valid_for,
        endpoint_only: true,
    };
    let name = &prepared.wanted.cluster.name;
    let kubeconfig = prepared.access.for_entry(&entry).await?.ok_or_else(|| no_authority(&prepared))?;
    let file = match (&arguments.out, arguments.merge) {
        (Some(file), _) => Some(file.clone()),
        (None, true) => Some(usual_file()?),
        (None, false) => None,
    };
    let Some(file) = file else {
        context.output.result(kubeconfig.to_yaml().expose())?;
        return Ok(ExitCode::SUCCESS);
    };
    let merged = if arguments.merge { merge(&kubeconfig, &file)? } else { kubeconfig };
    let fail = |error: std::io::Error| CommandError::file("the kubeconfig", &file, &error);
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    files::write(&file, merged.to_yaml().expose().as_bytes(), Readers::Owner).map_err(fail)?;
    context.output.message(&format!(
        "{} lets {} into {name} for {} h.",
        file.display(),
        entry.user,
        entry.validity.as_secs() / 3_600
    ));
    Ok(ExitCode::SUCCESS)
}

/// Why there is nothing to sign credentials with, and what to do then.
fn no_authority(prepared: &Prepared) -> CommandError {
    let cluster = &prepared.wanted.cluster;
    let (name, provider) = (&cluster.name, &cluster.provider.name);
    let makes_api = prepared.providers.iter().any(|(_, handle)| composition::works_on_hosts(&handle.schema));
    if !makes_api {
        let message = format!("{name} has no API that Slipway could let somebody into");
        return CommandError::new("CLI0041", message)
            .cause(format!(
                "the provider {provider} makes infrastructure; the authority of a cluster is in the state only for \
                 clusters on hosts"
            ))
            .hint("`slipway explain cluster.spec.provider` names the providers; use `hosts` for a cluster with an API");
    }
    CommandError::new("CLI0041", format!("the state of {name} has no authority that could let somebody in"))
        .hint("`slipway apply` makes it; for a cluster that Slipway did not make, ask who made it")
}

/// The name without the machine it was said on.
fn user(who: &str) -> String {
    who.split('@').next().filter(|name| !name.is_empty()).unwrap_or("administrator").to_owned()
}

fn usual_file() -> Result<PathBuf, CommandError> {
    let named = std::env::var_os("KUBECONFIG").and_then(|paths| std::env::split_paths(&paths).next());
    let usual = || std::env::home_dir().map(|home| home.join(".kube/config"));
    named.or_else(usual).ok_or_else(|| {
        CommandError::new("CLI0042", "it is not known where your kubeconfig is")
            .hint("name it with `--out FILE`")
    })
}

fn merge(kubeconfig: &Kubeconfig, file: &Path) -> Result<Kubeconfig, CommandError> {
    let text = files::read(file).map_err(|error| CommandError::file("the kubeconfig", file, &error))?;
    let Some(text) = text else { return Ok(kubeconfig.clone()) };
    let failed = |error: slipway_bootstrap::kubeconfig::Error| {
        CommandError::new("CLI0042", format!("{} cannot be merged into", file.display()))
            .cause(error.to_string())
    };
    let known = Kubeconfig::parse(&text).map_err(failed)?;
    Ok(kubeconfig.merged_over(&known, true, false).map_err(failed)?.kubeconfig)
}
