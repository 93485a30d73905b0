//! From files to clusters, with every problem reported in one run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use slipway_plan::Located;
use slipway_resource::ProviderError;
use slipway_spec::diagnostic::Diagnostic;
use slipway_spec::model::{Cluster, Endpoint, Manifest, NodePool};
use slipway_spec::source::{FieldSources, Location, Origin};
use slipway_spec::value::SecretReference;
use slipway_spec::{Guard, Loaded, load_guarded};
use slipway_trust::{Policy, Tree};

use crate::diagnose;
use crate::error::Error;

/// A cluster as its spec has it, with the places of its fields.
#[derive(Clone, Debug)]
pub struct ClusterSpec {
    /// The cluster.
    pub cluster: Cluster,
    /// The positions of its fields.
    pub sources: FieldSources,
    /// The names of its files in plans.
    files: FileNames,
    /// The folders in which it may name files.
    pub tree: Tree,
    /// By add-on: the file of its manifest.
    manifests: BTreeMap<String, ManifestFile>,
    /// The files that it has from bases, which other environments may use too.
    bases: BTreeSet<String>,
    /// The names of clusters that only files of bases have.
    base_clusters: Arc<BTreeSet<String>>,
    /// Another cluster that has a field from the place of its Kubernetes version.
    shares_version_with: Option<String>,
    /// The settings of its provider that a flag says, and not the spec.
    pub from_caller: BTreeSet<String>,
    /// Whether it is as the caller's own state or plan has it.
    pub recorded: bool,
}

impl ClusterSpec {
    /// A cluster as the caller's own state or plan has it, without its files.
    #[must_use]
    pub fn recorded(policy: &Policy, cluster: Cluster) -> Self {
        let tree = policy.recorded();
        Self {
            cluster,
            sources: FieldSources::default(),
            files: FileNames::default(),
            tree,
            manifests: BTreeMap::new(),
            bases: BTreeSet::new(),
            base_clusters: Arc::default(),
            shares_version_with: None,
            from_caller: BTreeSet::new(),
            recorded: true,
        }
    }

    /// Refuses names of pools that the cluster does not have.
    ///
    /// # Errors
    /// [`Error::UnknownPool`] for the first of them.
    pub fn check_pools(&self, pools: &[String]) -> Result<(), Error> {
        let Some(pool) = pools.iter().find(|pool| self.cluster.pool(pool).is_none()) else { return Ok(()) };
        Err(Error::UnknownPool {
            cluster: self.cluster.name.to_string(),
            pool: pool.clone(),
            pools: self.cluster.pools.iter().map(|pool| pool.name.to_string()).collect(),
        })
    }

    /// The folder of the spec: secrets in files are named relative to it.
    #[must_use]
    pub fn folder(&self) -> PathBuf {
        let file = self.sources.nearest("name").map(|location| PathBuf::from(location.file.as_ref()));
        file.and_then(|file| file.parent().map(PathBuf::from)).unwrap_or_default()
    }

    /// Makes the relative paths in the spec absolute, since the recorded spec is used without its files.
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
        // Secrets are found from the folder of the spec; a base that names one may be in another folder.
        let folder = folder_of("name");
        let from_folder = |secret: &mut SecretReference, field: &str| {
            // The path may be the value of a variable, in another file than the reference around it.
            let own = match secret {
                SecretReference::Env(_) => return,
                SecretReference::File(_) => folder_of(&format!("{field}.file")),
                SecretReference::Sops(_) => folder_of(&format!("{field}.sops")),
            };
            if let (Some(folder), Some(own)) = (&folder, own)
                && *folder != own
            {
                moved(secret, folder, &own);
            }
        };
        if let Some(key) = self.cluster.encryption.at_rest.as_mut().and_then(|at_rest| at_rest.key.as_mut()) {
            from_folder(key, "encryption.atRest.key");
        }
        if let Endpoint::VirtualIp(virtual_ip) = &mut self.cluster.control_plane.endpoint
            && let Some(wireguard) = &mut virtual_ip.wireguard
        {
            from_folder(&mut wireguard.tunnels, "controlPlane.endpoint.virtualIp.wireguard.tunnels");
        }
        for host in &mut self.cluster.hosts {
            let field = format!("hosts[{}].ssh.identityFile", host.name);
            if let Some(file) = host.ssh.as_mut().and_then(|ssh| ssh.identity_file.as_mut()) {
                absolute(file, &field);
            }
        }
        for addon in &mut self.cluster.addons {
            let field = format!("addons[{}].manifest.file", addon.name);
            if let Some(Manifest::File(file)) = &mut addon.manifest {
                let written = file.clone();
                absolute(file, &field);
                let planned = match Path::new(&written).is_absolute() {
                    true => written,
                    false => self.files.relative(Path::new(file)),
                };
                let place = ManifestFile { here: file.clone(), planned };
                self.manifests.insert(addon.name.clone(), place);
            }
        }
    }

    /// The cluster as plans keep it and as providers receive it: files of manifests are named from the deepest folder that has
    /// all files of the spec. So a plan is the same for every checkout of the spec.
    #[must_use]
    pub fn planned(&self) -> Cluster {
        self.planned_as(self.cluster.clone())
    }

    /// The same for another form of the cluster, such as the one in its state.
    pub(crate) fn planned_as(&self, cluster: Cluster) -> Cluster {
        self.with_manifests(cluster, |place| (&place.here, &place.planned))
    }

    /// The cluster of a plan of this spec as the state keeps it: files of manifests are found from every folder.
    #[must_use]
    pub(crate) fn found(&self, planned: Cluster) -> Cluster {
        self.with_manifests(planned, |place| (&place.planned, &place.here))
    }

    fn with_manifests(
        &self,
        mut cluster: Cluster,
        names: impl Fn(&ManifestFile) -> (&String, &String),
    ) -> Cluster {
        for addon in &mut cluster.addons {
            if let Some(Manifest::File(file)) = &mut addon.manifest
                && let Some((from, to)) = self.manifests.get(&addon.name).map(&names)
                && file == from
            {
                file.clone_from(to);
            }
        }
        cluster
    }

    /// A provider's failure; one about a field of the spec is shown at its place.
    pub(crate) fn refused(&self, error: ProviderError) -> Error {
        match error.field.as_deref().and_then(|field| self.place_of(field)) {
            // A fault that may pass is no problem of the spec; the field says where the provider connected.
            Some(location) if error.class.is_retryable() => {
                let message = format!("{} ({location})", error.message);
                ProviderError { message, field: None, ..error }.into()
            }
            Some(location) => diagnose::at_field(&error, location),
            None => error.into(),
        }
    }

    /// The position of a field, or of the nearest one around it. For a host without a document it is the list
    /// of addresses that has the host.
    fn place_of(&self, field: &str) -> Option<&Location> {
        let host = field.strip_prefix("hosts[").and_then(|rest| rest.split_once(']')).map(|(host, _)| host);
        let pool = host.and_then(|host| {
            let lists = |pool: &&NodePool| {
                let listed = pool.hosts.iter().flat_map(|selection| &selection.addresses);
                listed.into_iter().any(|listed| listed.name == host)
            };
            self.cluster.pools.iter().find(lists)
        });
        match pool {
            Some(pool) => self.sources.nearest(&format!("pools[{}].hosts.addresses", pool.name)),
            None => self.sources.nearest(field),
        }
    }

    /// A failure with the place of the field that it is about, where a provider named one.
    pub(crate) fn placed(&self, error: Error) -> Error {
        match error {
            Error::Provider(error) => self.refused(error),
            error => error,
        }
    }

    /// The position of a field, as plans keep it and as the caller knows it; `None` for a default.
    #[must_use]
    pub fn locate(&self, field: &str) -> Option<Located> {
        self.place(field).map(|place| self.files.locate(place))
    }

    /// Whether the documents contain a field, or a part of it.
    #[must_use]
    pub fn is_written(&self, field: &str) -> bool {
        self.sources.is_written(field)
    }

    /// Whether a place is in a base of an environment: a change there may change other clusters too.
    #[must_use]
    pub fn is_in_base(&self, place: &Location) -> bool {
        self.bases.contains(&*place.file)
    }

    /// Another field whose value is at the same place, because both refer to a variable of an environment.
    #[must_use]
    pub fn shares_place(&self, field: &str) -> Option<&str> {
        let Origin::Written(place) = self.sources.origin(field) else { return None };
        // Without environments, only an anchor gives one value to several fields.
        let mut paths = self.sources.paths().filter(|_| !self.bases.is_empty());
        paths.find(|path| *path != field && self.sources.origin(path) == Origin::Written(place))
    }

    /// The names of clusters in those files of bases that were given with the spec, which no cluster of the spec files has.
    #[must_use]
    pub fn base_clusters(&self) -> &BTreeSet<String> {
        &self.base_clusters
    }

    /// Another cluster of the same spec files with a field at the place of the Kubernetes version, because both refer to a
    /// variable of an environment.
    #[must_use]
    pub fn shares_version_with(&self) -> Option<&str> {
        self.shares_version_with.as_deref()
    }

    /// The position of a field, or of the nearest one around it.
    #[must_use]
    pub fn place(&self, field: &str) -> Option<&Location> {
        match self.sources.origin(field) {
            Origin::Written(location) => Some(location),
            Origin::Default => self.sources.nearest(field),
        }
    }
}

/// The file of an add-on's manifest.
#[derive(Clone, Debug)]
struct ManifestFile {
    /// Its absolute path on this machine.
    here: String,
    /// Its name in plans.
    planned: String,
}

/// The names of a cluster's files in plans: their paths from the deepest folder that has all of them. So a
/// plan does not depend on the spelling of paths or on the working directory.
#[derive(Clone, Debug, Default)]
struct FileNames {
    /// The deepest folder that has them all.
    folder: PathBuf,
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
        let folder = common.unwrap_or_default();
        let name = |file: &Path| file.strip_prefix(&folder).unwrap_or(file).display().to_string();
        let by_given = files.iter().map(|(given, file)| ((*given).to_owned(), name(file))).collect();
        Self { folder, by_given }
    }

    /// The path of another file from the folder of these.
    fn relative(&self, file: &Path) -> String {
        relative(&self.folder, file)
    }

    fn locate(&self, place: &Location) -> Located {
        let name = self.by_given.get(&*place.file).map_or(&*place.file, String::as_str);
        Located { location: format!("{name}:{}:{}", place.line, place.column), shown: place.to_string() }
    }
}

/// The path of a file from a folder, both absolute.
fn relative(folder: &Path, file: &Path) -> String {
    let (from, to) = (parts(folder), parts(file));
    let shared = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
    let up = from.iter().skip(shared).map(|_| Component::ParentDir.as_os_str());
    let path: PathBuf = up.chain(to.into_iter().skip(shared)).collect();
    path.display().to_string()
}

/// Names the file of a secret from one folder that is named from another one, `own`.
fn moved(secret: &mut SecretReference, folder: &Path, own: &Path) {
    let from_folder = |path: &str| match Path::new(path).is_absolute() {
        true => path.to_owned(),
        false => relative(folder, &own.join(path)),
    };
    match secret {
        SecretReference::Env(_) => {}
        SecretReference::File(path) => *path = from_folder(path),
        SecretReference::Sops(place) => {
            let (path, key) = place.split_once('#').unwrap_or((place.as_str(), ""));
            *place = format!("{}#{key}", from_folder(path));
        }
    }
}

/// The parts of an absolute path, without `.` and `..`.
fn parts(path: &Path) -> Vec<&OsStr> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::Normal(name) => parts.push(name),
            _ => {}
        }
    }
    parts
}

/// The path of a file in its real folder, with links resolved; the given path where that fails.
fn real(given: &str) -> PathBuf {
    let path = std::path::absolute(given).unwrap_or_else(|_| PathBuf::from(given));
    match (path.parent().map(std::fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Reads spec files without looking at what is wrong with them.
#[must_use]
pub fn load(policy: &Policy, files: &[PathBuf]) -> Loaded {
    load_in(policy, &policy.tree(files), files)
}

/// Reads spec files. Bases of environments may be in the whole of `around`.
fn load_in(policy: &Policy, around: &Tree, files: &[PathBuf]) -> Loaded {
    let tree = policy.tree(files);
    let given = |path: &Path| policy.spec(&tree, path).err().map(|refusal| diagnose::refusal(&refusal, None));
    let bases = |path: &Path| {
        let granted = policy.file(around, "the base", path);
        granted.err().map(|refusal| diagnose::refusal(&refusal, None))
    };
    let guard = Guard { given: &given, bases: &bases };
    load_guarded(files, &[&slipway_kops::KopsReader::default()], guard)
}

/// The clusters of spec files, and the warnings and notes about them.
#[derive(Clone, Debug)]
pub struct Specs {
    /// The clusters.
    pub clusters: Vec<ClusterSpec>,
    /// The names of the clusters of each environment that is no base of another one.
    pub environments: BTreeMap<String, BTreeSet<String>>,
    /// Warnings and notes.
    pub remarks: Vec<Diagnostic>,
}

impl Specs {
    /// Reads spec files.
    ///
    /// # Errors
    /// [`Error::Specs`] with every problem of every file.
    pub fn read(policy: &Policy, files: &[PathBuf]) -> Result<Self, Error> {
        Self::read_with(policy, &policy.tree(files), files)
    }

    /// Reads spec files, whose environments may also have bases in further files and folders. A folder with files of bases
    /// counts as a folder of the spec.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_with_bases(policy: &Policy, bases: &[PathBuf], files: &[PathBuf]) -> Result<Self, Error> {
        let around = bases.iter().fold(policy.tree(files), |tree, base| tree.with(base));
        Self::read_with(policy, &around, files)
    }

    fn read_with(policy: &Policy, around: &Tree, files: &[PathBuf]) -> Result<Self, Error> {
        let loaded = load_in(policy, around, files);
        if !loaded.is_valid() {
            return Err(Error::Specs(loaded.diagnostics));
        }
        let Loaded { clusters, sources, bases, base_clusters, environments, diagnostics: remarks } = loaded;
        let base_clusters = Arc::new(base_clusters);
        // Without environments, no two clusters have a value from one place.
        let mut shared = match bases.is_empty() {
            true => BTreeMap::new(),
            false => shared_version::shared(&clusters, &sources),
        };
        let spec = |cluster: Cluster| {
            let shares_version_with = shared.remove(&cluster.name);
            let sources = sources.cluster(&cluster.name).cloned().unwrap_or_default();
            let files_of = FileNames::of(&sources);
            let mut tree = policy.tree(files);
            if tree != *around {
                let folders = sources.files().filter_map(|file| Path::new(file).parent());
                let of_bases = folders.filter(|folder| policy.file(around, "the base", folder).is_ok());
                tree = of_bases.fold(tree, Tree::with);
            }
            let mut spec = ClusterSpec {
                cluster,
                sources,
                files: files_of,
                tree,
                manifests: BTreeMap::new(),
                bases: bases.clone(),
                base_clusters: Arc::clone(&base_clusters),
                shares_version_with,
                from_caller: BTreeSet::new(),
                recorded: false,
            };
            spec.find_files();
            spec
        };
        Ok(Self { clusters: clusters.into_iter().map(spec).collect(), environments, remarks })
    }
}

mod shared_version;
#[cfg(test)]
mod tests;
