//! The clusters that a command works on.

use std::path::PathBuf;

use slipway_kops::code::{HARMLESS, HARMLESS_HINT};
use slipway_operations::{ClusterSpec, Specs};
use slipway_spec::diagnostic::{self, Diagnostic};
use slipway_state_store::{ClusterName, read_head};

use crate::cli::{ClusterArguments, DriftArguments, SpecArguments};
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// How many clusters of bases are looked for in the state.
const BASES: usize = 20;

/// Which specs a command works on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    pub files: Vec<PathBuf>,
    pub cluster: Option<String>,
    pub provider: Option<String>,
    pub provider_config: Option<String>,
}

impl From<&SpecArguments> for Selection {
    fn from(arguments: &SpecArguments) -> Self {
        let SpecArguments { files, cluster, provider, provider_config } = arguments.clone();
        Self { files, cluster, provider, provider_config }
    }
}

impl From<&ClusterArguments> for Selection {
    fn from(arguments: &ClusterArguments) -> Self {
        let ClusterArguments { name: _, files, cluster, provider, provider_config } = arguments.clone();
        Self { files, cluster, provider, provider_config }
    }
}

impl From<&DriftArguments> for Selection {
    fn from(arguments: &DriftArguments) -> Self {
        Self {
            files: arguments.files.clone(),
            cluster: arguments.cluster.clone(),
            provider: arguments.provider.clone(),
            provider_config: arguments.provider_config.clone(),
        }
    }
}

/// Loads the selected clusters; warnings and notes go to standard error.
pub(crate) fn wanted(context: &Context, selection: &Selection) -> Result<Vec<ClusterSpec>, CommandError> {
    let Specs { clusters, environments, remarks } = Specs::read(&context.policy, &selection.files)?;
    if !remarks.is_empty() {
        context.output.message(&text(&remarks));
    }
    let is_selected =
        |spec: &ClusterSpec| selection.cluster.as_ref().is_none_or(|name| *name == spec.cluster.name);
    let names: Vec<String> = clusters.iter().map(|spec| spec.cluster.name.clone()).collect();
    let is_base = |name: &str| clusters.first().is_some_and(|spec| spec.base_clusters().contains(name));
    let is_base = selection.cluster.as_deref().is_some_and(is_base);
    let mut wanted = Vec::new();
    for mut spec in clusters.into_iter().filter(is_selected) {
        override_provider(&mut spec, selection)?;
        wanted.push(spec);
    }
    if wanted.is_empty() {
        let name = selection.cluster.as_deref().unwrap_or("");
        let error = CommandError::new(code::NO_CLUSTER, format!("the specs have no cluster `{name}`"));
        let error = match is_base {
            true => error.hint(format!(
                "environments have the documents of {name} as a base, and no cluster of this name"
            )),
            false => error,
        };
        if let Some(clusters) = environments.get(name) {
            let clusters: Vec<String> = clusters.iter().map(|cluster| format!("`{cluster}`")).collect();
            let is = if clusters.len() == 1 { "its cluster is" } else { "its clusters are" };
            return Err(
                error.hint(format!("{name} is the name of an Environment: {is} {}", clusters.join(", ")))
            );
        }
        return Err(match diagnostic::closest(name, names.iter().map(String::as_str)) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error.hint(format!("the clusters of the specs are: {}", names.join(", "))),
        });
    }
    Ok(wanted)
}

/// Names clusters of the state whose documents are only bases of environments: no plan of these specs changes them.
pub(crate) async fn tell_bases(context: &Context, specs: &[ClusterSpec]) -> Result<(), CommandError> {
    let Some(names) = specs.first().map(ClusterSpec::base_clusters).filter(|names| !names.is_empty()) else {
        return Ok(());
    };
    let backend = context.backend()?;
    for name in names.iter().take(BASES) {
        let Ok(cluster) = ClusterName::new(name.as_str()) else { continue };
        // A state that cannot be read is a matter of the commands on its own cluster.
        if let Ok(Some((head, _))) = read_head(&*backend, &cluster).await
            && !head.deleted
        {
            context.output.message(&format!(
                "note: the cluster {name} of the state is not planned: environments have its documents as a base, and no cluster of \
                 this name"
            ));
        }
    }
    Ok(())
}

/// The remarks on specs. Several notes on fields without effect are one note with a line for each field: `slipway spec check`
/// shows each of them alone.
fn text(remarks: &[Diagnostic]) -> String {
    let is_unused =
        |remark: &&Diagnostic| remark.code.id == HARMLESS.id && remark.hint.as_deref() == Some(HARMLESS_HINT);
    let (unused, others): (Vec<&Diagnostic>, Vec<&Diagnostic>) = remarks.iter().partition(is_unused);
    if unused.len() < 2 {
        return diagnostic::render_all(remarks);
    }
    let mut text = format!("note[{}]: {} fields have no effect\n", HARMLESS.id, unused.len());
    for remark in unused {
        let place = remark.location.as_ref().map(|location| format!("{location}: ")).unwrap_or_default();
        text.push_str(&format!("  {place}{}\n", remark.message));
    }
    text.push_str("  = hint: no action is needed: Slipway ignores these fields\n\n");
    for remark in others {
        text.push_str(&diagnostic::render(remark));
        text.push('\n');
    }
    text.push_str(&format!("{}\n", diagnostic::count(remarks)));
    text
}

/// The one selected cluster.
pub(crate) fn one(context: &Context, selection: &Selection) -> Result<ClusterSpec, CommandError> {
    let mut all = wanted(context, selection)?;
    let names: Vec<String> = all.iter().map(|spec| spec.cluster.name.clone()).collect();
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => {
            let message =
                format!("the specs have several clusters ({}), and this needs one", names.join(", "));
            let example = names.first().map_or("NAME", String::as_str);
            Err(CommandError::new(code::SEVERAL_CLUSTERS, message)
                .hint(format!("name it with `--cluster NAME`, as in `--cluster {example}`")))
        }
    }
}

/// Gives a cluster the provider and the settings that the command line names.
pub(crate) fn override_provider(wanted: &mut ClusterSpec, selection: &Selection) -> Result<(), CommandError> {
    let Some(name) = &selection.provider else { return Ok(()) };
    let provider = &mut wanted.cluster.provider;
    if provider.name != *name {
        provider.name.clone_from(name);
        // Settings of one provider mean nothing to another.
        provider.config = serde_json::Value::Null;
    }
    if let Some(text) = &selection.provider_config {
        let settings: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).map_err(|error| {
                CommandError::new(
                    code::PROVIDER_CONFIG,
                    "the settings of `--provider-config` are not a JSON object",
                )
                .cause(error)
            })?;
        if !provider.config.is_object() {
            provider.config = serde_json::Value::Object(serde_json::Map::new());
        }
        wanted.from_caller.extend(settings.keys().cloned());
        if let Some(config) = provider.config.as_object_mut() {
            config.extend(settings);
        }
    }
    Ok(())
}
