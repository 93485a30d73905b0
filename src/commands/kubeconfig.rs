//! `slipway kubeconfig`

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_operations::{Entry, Opened, state};

use crate::cli::ClusterArguments;
use crate::cli::clusters::KubeconfigArguments;
use crate::code;
use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::program::Context;
use crate::specs::{self, Selection};

/// The group that a cluster's administrators are in.
const ADMINISTRATORS: &str = "kubeadm:cluster-admins";

/// Opens a cluster that the state has, with the way to its API. Reads only.
pub(crate) async fn open(context: &Context, arguments: &ClusterArguments) -> Result<Opened, CommandError> {
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => specs::one(context, &Selection::from(arguments))?.cluster.name,
    };
    let environment = context.environment()?;
    Ok(Opened::open(&environment, state::recorded(&environment, &name).await?).await?)
}

/// Makes a kubeconfig with credentials of a person's own, for a while.
pub(crate) async fn run(
    context: &Context,
    arguments: &KubeconfigArguments,
) -> Result<ExitCode, CommandError> {
    let file = match (&arguments.out, arguments.merge) {
        (Some(file), _) => Some(file.clone()),
        (None, true) => Some(usual_file()?),
        (None, false) => None,
    };
    if let Some(file) = &file
        && let Ok(found) = std::fs::metadata(file)
    {
        files::check_is_file(file, &found)?;
    }
    let opened = open(context, &arguments.cluster).await?;
    let groups = match arguments.groups.as_slice() {
        [] => vec![ADMINISTRATORS.to_owned()],
        given => given.to_vec(),
    };
    let named = match &arguments.user {
        Some(named) => named.clone(),
        None => user(&context.actor()?.who),
    };
    let entry = Entry { user: named, groups, validity: arguments.valid_for, endpoint_only: true };
    let name = &opened.spec.cluster.name;
    let kubeconfig = opened.access().for_entry(&entry).await?.ok_or_else(|| opened.no_authority())?;
    let Some(file) = file else {
        context.output.result(kubeconfig.to_yaml().expose())?;
        return Ok(ExitCode::SUCCESS);
    };
    let merged = if arguments.merge {
        merge(&kubeconfig, &file)?
    } else {
        check_replaceable(&kubeconfig, &file)?;
        kubeconfig
    };
    let fail = |error: std::io::Error| CommandError::file("the kubeconfig", &file, error);
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

/// The name without the machine it was said on.
fn user(who: &str) -> String {
    who.split('@').next().filter(|name| !name.is_empty()).unwrap_or("administrator").to_owned()
}

fn usual_file() -> Result<PathBuf, CommandError> {
    let named = std::env::var_os("KUBECONFIG").and_then(|paths| std::env::split_paths(&paths).next());
    let usual = || std::env::home_dir().map(|home| home.join(".kube/config"));
    named.or_else(usual).ok_or_else(|| {
        CommandError::new(code::MERGE, "it is not known where your kubeconfig is")
            .hint("name it with `--out FILE`")
    })
}

/// Refuses to replace a file that is not a kubeconfig of this cluster alone.
fn check_replaceable(kubeconfig: &Kubeconfig, file: &Path) -> Result<(), CommandError> {
    let text = files::read(file).map_err(|error| CommandError::file("the kubeconfig", file, error))?;
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(()) };
    if Kubeconfig::parse(&text).is_ok_and(|existing| kubeconfig.is_only_cluster_of(&existing)) {
        return Ok(());
    }
    let message = format!(
        "{} exists and is not a kubeconfig of this cluster alone; it was left as it is",
        file.display()
    );
    Err(CommandError::new(code::OTHER_OUTPUT, message).hint(
        "name a file that does not exist yet with `--out FILE`, or add the cluster to this kubeconfig with `--merge`",
    ))
}

fn merge(kubeconfig: &Kubeconfig, file: &Path) -> Result<Kubeconfig, CommandError> {
    let text = files::read(file).map_err(|error| CommandError::file("the kubeconfig", file, error))?;
    let Some(text) = text else { return Ok(kubeconfig.clone()) };
    let failed = |error: slipway_bootstrap::kubeconfig::Error| {
        CommandError::new(code::MERGE, format!("{} cannot be merged into", file.display())).cause(error)
    };
    let known = Kubeconfig::parse(&text).map_err(failed)?;
    Ok(kubeconfig.merged_over(&known, true, false).map_err(failed)?.kubeconfig)
}

#[cfg(test)]
mod tests {
    use slipway_bootstrap::kubeconfig::Credentials;
    use slipway_resource::SecretText;

    use super::*;

    fn of(cluster: &str, user: &str) -> Kubeconfig {
        let credentials = Credentials::Token(SecretText::new("t"));
        let server = format!("https://{cluster}.example:6443");
        Kubeconfig::new(cluster, &server, "authority", user, &credentials)
    }

    #[test]
    fn only_a_kubeconfig_of_the_same_cluster_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let check = |text: &str| {
            std::fs::write(&file, text).unwrap();
            check_replaceable(&of("one", "ada"), &file)
        };
        check_replaceable(&of("one", "ada"), &folder.path().join("absent")).unwrap();
        check("").unwrap();
        check(of("one", "bob").to_yaml().expose()).unwrap();
        let both = of("one", "ada").merged_over(&of("two", "ada"), true, false).unwrap().kubeconfig;
        for other in ["kind: Cluster\n", "{", of("two", "ada").to_yaml().expose(), both.to_yaml().expose()] {
            assert!(check(other).is_err(), "{other}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), other);
        }
    }
}
