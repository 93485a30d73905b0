//! From paths to clusters: files are found, parsed, read by the reader of their kind, and checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use crate::{
    diagnostic::{self, Diagnostic, code},
    environment::{self, Bases, Rendered},
    model::Cluster,
    reader::{Reader, Reading},
    shape::Shape,
    source::{SourceFile, SourceMap},
    v1alpha1::{self, V1Alpha1},
    validate,
};

mod bases;
#[allow(clippy::disallowed_methods, reason = "the caller of load_guarded asks the policy")]
mod files;
mod parsed;
mod sorting;
mod strangers;

pub(crate) use parsed::{Found, Parsed};
use sorting::Sorting;

/// The reader of this crate's own kinds. Its tables are made from types, and are always the same.
static OWN: LazyLock<V1Alpha1> = LazyLock::new(V1Alpha1::default);

/// The clusters that were found at some paths.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The clusters, in the order of their names. With errors they are incomplete, and refused values are
    /// replaced: check [`Loaded::is_valid`] before using them.
    pub clusters: Vec<Cluster>,
    /// Where each field comes from.
    pub sources: SourceMap,
    /// The paths of files that are bases of environments. Other environments may use them too.
    pub bases: BTreeSet<String>,
    /// The names of clusters in those files of bases that were given, which no loaded cluster has: only environments use these
    /// documents.
    pub base_clusters: BTreeSet<String>,
    /// The names of the clusters of each environment that is no base of another one.
    pub environments: BTreeMap<String, BTreeSet<String>>,
    /// Everything that is wrong or worth knowing, in the order of files and lines.
    pub diagnostics: Vec<Diagnostic>,
}

impl Loaded {
    /// Whether there are no errors. Warnings and notes are allowed.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        !diagnostic::has_errors(&self.diagnostics)
    }

    /// The cluster with this name.
    #[must_use]
    pub fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| cluster.name == name)
    }
}

/// Loads the documents of this crate's own kinds from files and folders. See [`load_with`].
#[must_use]
pub fn load(paths: &[PathBuf]) -> Loaded {
    load_guarded(paths, &[], Guard::NONE)
}

/// Decides about each file and folder before it is opened, by what is wrong with it.
#[derive(Clone, Copy)]
pub struct Guard<'a> {
    /// Decides about paths that the caller names, and what is in these folders.
    pub given: &'a dyn Fn(&Path) -> Option<Diagnostic>,
    /// Decides about bases that environments name, and what is in these folders.
    pub bases: &'a dyn Fn(&Path) -> Option<Diagnostic>,
}

impl Guard<'_> {
    /// Refuses nothing.
    const NONE: Guard<'static> = Guard { given: &|_| None, bases: &|_| None };
}

/// The shape of documents of this crate's own kinds.
pub(crate) fn shape_of(api_version: &str, kind: &str) -> Option<&'static Shape> {
    OWN.shape(kind).filter(|_| api_version == v1alpha1::API_VERSION)
}

/// Loads files and folders: of a folder every `.yaml`, `.yml` and `.json` file in it and below, hidden ones and JSON
/// schemas (`.schema.json`) left out, a folder's own files before those of the folders in it. A file that several paths
/// lead to is read once, so that links may lead in circles. The path `-` is standard input, `<stdin>` in diagnostics.
///
/// Documents go to the first of `readers` that handles their kind, else to the reader of this crate's own kinds.
#[must_use]
pub fn load_with(paths: &[PathBuf], readers: &[&dyn Reader]) -> Loaded {
    load_guarded(paths, readers, Guard::NONE)
}

/// The same with a guard. See [`load_with`].
#[must_use]
pub fn load_guarded(paths: &[PathBuf], readers: &[&dyn Reader], guard: Guard<'_>) -> Loaded {
    let (files, mut diagnostics) = files::read(paths, guard.given);
    let nothing = files.is_empty() && diagnostics.is_empty();
    let named: BTreeSet<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let files: Vec<Arc<SourceFile>> = files.into_iter().map(Arc::new).collect();
    let mut bases = bases::OnDisk::new(guard.bases);
    let mut loaded = read_files(files, readers, &|file| named.contains(file.path()), &mut bases);
    if nothing {
        let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        loaded.diagnostics.push(
            Diagnostic::error(code::NOTHING_FOUND, format!("no spec files in {}", paths.join(", ")))
                .hint("spec files end in .yaml, .yml or .json; `slipway init` writes one"),
        );
    }
    loaded.diagnostics.append(&mut diagnostics);
    diagnostic::sort(&mut loaded.diagnostics);
    diagnostic::cap(&mut loaded.diagnostics);
    loaded
}

/// Loads files that have been read already, for editors and tests. Bases of environments are among them. See [`load_with`].
#[must_use]
pub fn load_files(files: Vec<SourceFile>, readers: &[&dyn Reader]) -> Loaded {
    let files: Vec<Arc<SourceFile>> = files.into_iter().map(Arc::new).collect();
    let mut bases = bases::Given::new(files.clone());
    let mut loaded = read_files(files, readers, &|_| true, &mut bases);
    diagnostic::sort(&mut loaded.diagnostics);
    diagnostic::cap(&mut loaded.diagnostics);
    loaded
}

/// Reads the documents of files; `is_named` tells a file that the user named from one that was found in a folder.
fn read_files(
    mut files: Vec<Arc<SourceFile>>,
    readers: &[&dyn Reader],
    is_named: &dyn Fn(&SourceFile) -> bool,
    bases: &mut dyn Bases,
) -> Loaded {
    let readers: Vec<&dyn Reader> = readers.iter().copied().chain([&*OWN as &dyn Reader]).collect();
    let mut loaded = Loaded::default();
    let mut found = false;
    let mut parsed = Vec::new();
    for file in &files {
        let (file, diagnostics) = Parsed::of(file, &readers);
        found |= !file.documents.is_empty() || !diagnostics.is_empty();
        loaded.diagnostics.extend(diagnostics);
        parsed.push(file);
    }
    if !found && let Some(file) = files.first() {
        loaded.diagnostics.push(
            Diagnostic::error(code::NOTHING_FOUND, format!("{} holds no documents", file.path()))
                .hint("`slipway init` writes one to begin with"),
        );
    }
    let Rendered { own, units, files: read, bases, base_clusters, environments, diagnostics } =
        environment::render(parsed, &readers, bases);
    loaded.diagnostics.extend(diagnostics);
    loaded.bases = bases;
    loaded.environments = environments;
    files.extend(read);
    let mut sorted = Sorting::new(&readers);
    for Parsed { file, documents } in own {
        sorted.file(documents, is_named(&file));
    }
    let mut parts = vec![sorted];
    for documents in units {
        // The documents of an environment belong together, and not to those of other environments.
        let mut sorted = Sorting::new(&readers);
        sorted.file(documents, false);
        parts.push(sorted);
    }
    for part in parts {
        let (readings, diagnostics) = part.finish();
        loaded.diagnostics.extend(diagnostics);
        for reading in readings {
            take(&mut loaded, reading);
        }
    }
    loaded.clusters.sort_by(|a, b| a.name.cmp(&b.name));
    loaded.base_clusters = base_clusters;
    let clusters = &loaded.clusters;
    loaded.base_clusters.retain(|name| clusters.binary_search_by(|cluster| cluster.name.cmp(name)).is_err());
    let is_quoted = |file: &SourceFile| {
        is_named(file) || file.path() == files::STDIN_SHOWN || strangers::may_be_spec(file, &readers)
    };
    quote(&mut loaded.diagnostics, &files, &is_quoted);
    loaded
}

/// Fills in the lines of problems. Of a file in a folder that is no spec, nothing is quoted: it may be a file of keys.
fn quote(diagnostics: &mut [Diagnostic], files: &[Arc<SourceFile>], is_quoted: &dyn Fn(&SourceFile) -> bool) {
    let by_path: BTreeMap<&str, (&SourceFile, bool)> =
        files.iter().map(|file| (file.path(), (&**file, is_quoted(file)))).collect();
    for diagnostic in diagnostics {
        let file = diagnostic.location.as_ref().and_then(|location| by_path.get(&*location.file));
        match file.copied() {
            Some((_, false)) => diagnostic.unquote(),
            Some((file, true)) if diagnostic.source_line.is_none() => diagnostic.show_line(file),
            _ => {}
        }
    }
}

fn take(loaded: &mut Loaded, reading: Reading) {
    loaded.diagnostics.extend(reading.diagnostics);
    for read in reading.clusters {
        loaded.diagnostics.extend(validate::cluster(&read.cluster, &read.sources, &read.refused));
        let name = read.cluster.name.clone();
        if let Some(first) = loaded.sources.cluster(&name) {
            let diagnostic =
                Diagnostic::error(code::DUPLICATE_NAME, format!("there are two clusters named `{name}`"))
                    .at_location(read.sources.nearest("name"))
                    .hint("give one of them another name, or load only one")
                    .related("the first one", first.nearest("name"));
            loaded.diagnostics.push(diagnostic);
            continue;
        }
        loaded.sources.insert(name, read.sources);
        loaded.clusters.push(read.cluster);
    }
}
