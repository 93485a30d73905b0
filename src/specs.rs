//! From files to clusters, with every problem reported in one run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use slipway_plan::Located;
use slipway_resource::ProviderError;
use slipway_spec::diagnostic;
use slipway_spec::model::Cluster;
use slipway_spec::source::{FieldSources, Location, Origin};
use slipway_spec::{Loaded, load_guarded};
use slipway_trust::{Policy, Tree};

use crate::cli::{ClusterArguments, SpecArguments};
use crate::error::CommandError;
use crate::program::Context;
use crate::trust;

/// A cluster as the user wants it, with the places of its fields.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The cluster.
    pub cluster: Cluster,
    /// Where its fields stand.
    pub sources: FieldSources,
    /// What its files are called in plans.
    files: FileNames,
    /// The folders in which it may name files.
    pub tree: Tree,
    /// The settings of its provider that a flag says, and not the spec.
    pub from_caller: BTreeSet<String>,
    /// Whether it is as the caller's own state or plan has it.
    pub recorded: bool,
}

impl Wanted {
    /// A cluster as the caller's own state or plan has it, without its files.
    pub fn recorded(context: &Context, cluster: Cluster) -> Self {
        let tree = context.policy.recorded();
        Self {
            cluster,
            sources: FieldSources::default(),
            files: FileNames::default(),
            tree,
            from_caller: BTreeSet::new(),
            recorded: true,
        }
    }

    /// The folder of the spec: secrets in files are named relative to it.
    pub fn folder(&self) -> PathBuf {
        let file = self.sources.nearest("name").map(|location| PathBuf::from(location.file.as_ref()));
        file.and_then(|file| file.parent().map(PathBuf::from)).unwrap_or_default()
    }

    /// Makes the files that the spec names relative to itself found from everywhere: what is recorded of the cluster in
    /// the state is used without its files at hand.
    fn find_files(&mut self) {
        let folder_of = |field: &str| {
            let location = self.sources.nearest(field)?;
            real(&location.file).parent().map(PathBuf::from)
        };
        let absolute = |file: &mut String, field: &str| {
            if let Some(folder) = folder_of(field) {
                *file = folder.join(&*file).display().to_string();
            }
        };
        for host in &mut self.cluster.hosts {
            let field = format!("hosts[{}]", host.name);
            if let Some(file) = host.ssh.as_mut().and_then(|ssh| ssh.identity_file.as_mut()) {
                absolute(file, &field);
            }
        }
        for addon in &mut self.cluster.addons {
            let field = format!("addons[{}]", addon.name);
            if let Some(slipway_spec::model::Manifest::File(file)) = &mut addon.manifest {
                absolute(file, &field);
            }
        }
    }

    /// A provider's failure; one about a field of the spec is shown at its place.
    pub fn refused(&self, error: ProviderError) -> CommandError {
        let location = error.field.as_deref().and_then(|field| self.sources.nearest(field));
        match location {
            Some(location) => CommandError::at_field(&error, location),
            None => error.into(),
        }
    }

    /// Where a field stands, as a plan keeps it and as the caller knows it; `None` for a default.
    pub fn locate(&self, field: &str) -> Option<Located> {
        self.place(field).map(|place| self.files.locate(place))
    }

    /// Whether somebody wrote a field, or a part of it.
    pub fn is_written(&self, field: &str) -> bool {
        self.sources.is_written(field)
    }

    /// Where a field stands, or what is nearest around it.
    pub fn place(&self, field: &str) -> Option<&Location> {
        match self.sources.origin(field) {
            Origin::Written(location) => Some(location),
            Origin::Default => self.sources.nearest(field),
        }
    }
}

/// What the files of a cluster are called in plans: their paths from the deepest folder that has them all. So a plan is the
/// same, however its files are spelled and wherever the program is called.
#[derive(Clone, Debug, Default)]
struct FileNames {
    by_given: BTreeMap<String, String>,
}

impl FileNames {
    fn of(sources: &FieldSources) -> Self {
        let files: Vec<(&str, PathBuf)> = sources.files().map(|given| (given, real(given))).collect();
        let mut common: Option<PathBuf> = None;
        for (_, file) in &files {
            let folder = file.parent().unwrap_or(file);
            let mut shared = common.take().unwrap_or_else(|| folder.to_owned());
            while !folder.starts_with(&shared) && shared.pop() {}
            common = Some(shared);
        }
        let common = common.unwrap_or_default();
        let name = |file: &Path| file.strip_prefix(&common).unwrap_or(file).display().to_string();
        Self { by_given: files.iter().map(|(given, file)| ((*given).to_owned(), name(file))).collect() }
    }

    fn locate(&self, place: &Location) -> Located {
        let name = self.by_given.get(&*place.file).map_or(&*place.file, String::as_str);
        Located { location: format!("{name}:{}:{}", place.line, place.column), shown: place.to_string() }
    }
}

/// A file under its own name in its real folder; as it is given where that cannot be found.
fn real(given: &str) -> PathBuf {
    let path = std::path::absolute(given).unwrap_or_else(|_| PathBuf::from(given));
    match (path.parent().map(std::fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path,
    }
}

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

/// Loads specs without looking at what is wrong with them.
pub(crate) fn load(policy: &Policy, files: &[PathBuf]) -> Loaded {
    let tree = policy.tree(files);
    let guard = |path: &Path| policy.spec(&tree, path).err().map(|refusal| trust::problem(&refusal, None));
    load_guarded(files, &[&slipway_kops::KopsReader::default()], &guard)
}

/// Loads the selected clusters; warnings and notes go to standard error.
pub(crate) fn wanted(context: &Context, selection: &Selection) -> Result<Vec<Wanted>, CommandError> {
    let loaded = load(&context.policy, &selection.files);
    if !loaded.is_valid() {
        return Err(CommandError::of_specs(loaded.diagnostics));
    }
    if !loaded.diagnostics.is_empty() {
        context.output.message(&diagnostic::render_all(&loaded.diagnostics));
    }
    let mut wanted = Vec::new();
    for cluster in loaded.clusters {
        if selection.cluster.as_ref().is_some_and(|name| *name != cluster.name) {
            continue;
        }
        let sources = loaded.sources.cluster(&cluster.name).cloned().unwrap_or_default();
        let tree = context.policy.tree(&selection.files);
        let files = FileNames::of(&sources);
        let mut one = Wanted { cluster, sources, files, tree, from_caller: BTreeSet::new(), recorded: false };
        one.find_files();
        override_provider(&mut one, selection)?;
        wanted.push(one);
    }
    if wanted.is_empty() {
        let name = selection.cluster.as_deref().unwrap_or("");
        return Err(CommandError::new("CLI0004", format!("the specs have no cluster `{name}`")));
    }
    Ok(wanted)
}

/// The one selected cluster.
pub(crate) fn one(context: &Context, selection: &Selection) -> Result<Wanted, CommandError> {
    let mut all = wanted(context, selection)?;
    match (all.pop(), all.is_empty()) {
        (Some(one), true) => Ok(one),
        _ => Err(CommandError::new("CLI0005", "the specs have several clusters, and this needs one")
            .hint("name it with `--cluster NAME`")),
    }
}

fn override_provider(wanted: &mut Wanted, selection: &Selection) -> Result<(), CommandError> {
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
                CommandError::new("CLI0006", "the settings of `--provider-config` are no JSON object")
                    .cause(error.to_string())
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
