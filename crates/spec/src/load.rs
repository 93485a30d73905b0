//! From paths to clusters: files are found, parsed, read by the reader of their kind, and checked.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use crate::{
    diagnostic::{self, Diagnostic, closest, code},
    model::Cluster,
    reader::{Document, Reader, Reading},
    source::{SourceFile, SourceMap},
    v1alpha1::V1Alpha1,
    validate,
    yaml::{self, Node},
};

#[allow(clippy::disallowed_methods, reason = "the caller of load_guarded asks the policy")]
mod files;

/// The reader of this crate's own kinds: what it knows is made from types, and is the same every time.
static OWN: LazyLock<V1Alpha1> = LazyLock::new(V1Alpha1::default);

/// What was found at some paths.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The clusters, in the order of their names. Where there are errors they are what could be made out, with
    /// stand-ins for what was refused: look at [`Loaded::is_valid`] before using them.
    pub clusters: Vec<Cluster>,
    /// Where each field comes from.
    pub sources: SourceMap,
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
    load_guarded(paths, &[], &|_| None)
}

/// Loads files and folders: of a folder every `.yaml`, `.yml` and `.json` file in it and below, hidden ones and JSON
/// schemas (`.schema.json`) left out, a folder's own files before those of the folders in it. A file that several paths
/// lead to is read once, so that links may lead in circles. The path `-` is standard input, `<stdin>` in diagnostics.
///
/// Documents go to the first of `readers` that handles their kind, else to the reader of this crate's own kinds.
#[must_use]
pub fn load_with(paths: &[PathBuf], readers: &[&dyn Reader]) -> Loaded {
    load_guarded(paths, readers, &|_| None)
}

/// The same, where a guard decides about each file and folder before it is opened, by what is wrong with it. See
/// [`load_with`].
#[must_use]
pub fn load_guarded(
    paths: &[PathBuf],
    readers: &[&dyn Reader],
    guard: &dyn Fn(&Path) -> Option<Diagnostic>,
) -> Loaded {
    let (files, mut diagnostics) = files::read(paths, guard);
    let nothing = files.is_empty() && diagnostics.is_empty();
    let mut loaded = read_files(files, readers);
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

/// Loads files that have been read already, for editors and tests. See [`load_with`].
#[must_use]
pub fn load_files(files: Vec<SourceFile>, readers: &[&dyn Reader]) -> Loaded {
    let mut loaded = read_files(files, readers);
    diagnostic::sort(&mut loaded.diagnostics);
    diagnostic::cap(&mut loaded.diagnostics);
    loaded
}

fn read_files(files: Vec<SourceFile>, readers: &[&dyn Reader]) -> Loaded {
    let readers: Vec<&dyn Reader> = readers.iter().copied().chain([&*OWN as &dyn Reader]).collect();
    let mut loaded = Loaded::default();
    let mut by_reader: BTreeMap<usize, Vec<Document>> = BTreeMap::new();
    let files: Vec<Arc<SourceFile>> = files.into_iter().map(Arc::new).collect();
    let mut found = false;
    for file in &files {
        let (documents, diagnostics) = yaml::parse(file);
        found |= !documents.is_empty() || !diagnostics.is_empty();
        loaded.diagnostics.extend(diagnostics);
        let mut strangers = Vec::new();
        let mut at_home: BTreeSet<usize> = BTreeSet::new();
        for parsed in documents {
            let document = document(file, parsed);
            match readers.iter().position(|reader| reader.handles(&document.api_version, &document.kind)) {
                Some(reader) => {
                    at_home.insert(reader);
                    by_reader.entry(reader).or_default().push(document);
                }
                None => strangers.push(document),
            }
        }
        for stranger in strangers {
            let warning = at_home.iter().find_map(|reader| readers.get(*reader)?.beside(&stranger));
            loaded.diagnostics.extend(warning.or_else(|| unknown(&stranger, &readers)));
        }
    }
    if !found && let Some(file) = files.first() {
        loaded.diagnostics.push(
            Diagnostic::error(code::NOTHING_FOUND, format!("{} holds no documents", file.path()))
                .hint("`slipway init` writes one to begin with"),
        );
    }
    for (reader, documents) in by_reader {
        take(&mut loaded, readers[reader].read(&documents));
    }
    loaded.clusters.sort_by(|a, b| a.name.cmp(&b.name));
    let by_path: BTreeMap<&str, &SourceFile> = files.iter().map(|file| (file.path(), &**file)).collect();
    for diagnostic in loaded.diagnostics.iter_mut().filter(|diagnostic| diagnostic.source_line.is_none()) {
        let file = diagnostic.location.as_ref().and_then(|location| by_path.get(&*location.file));
        if let Some(file) = file.copied() {
            diagnostic.show_line(file);
        }
    }
    loaded
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

fn document(file: &Arc<SourceFile>, parsed: yaml::ParsedDocument) -> Document {
    let root = parsed.root;
    let text = |name: &str| root.get(name).and_then(Node::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    Document { file: Arc::clone(file), api_version, kind, root, truncated: parsed.truncated }
}

/// What is wrong with the `apiVersion` and `kind` of a document that nobody reads.
fn unknown(document: &Document, readers: &[&dyn Reader]) -> Option<Diagnostic> {
    let (root, api_version, kind) = (&document.root, document.api_version.as_str(), document.kind.as_str());
    if document.truncated && (api_version.is_empty() || kind.is_empty()) {
        // What names the kind lies behind the mistake that was reported.
        return None;
    }
    let known: Vec<(String, String)> = readers.iter().flat_map(|reader| reader.kinds()).collect();
    let kinds: Vec<&str> =
        known.iter().filter(|(version, _)| version == api_version).map(|(_, kind)| kind.as_str()).collect();
    let span = |name: &str| root.get(name).map_or_else(|| first_key(root), |node| node.span);
    let (message, span, hint) = if root.entries().is_empty() {
        let message = format!("a document is a mapping with `apiVersion` and `kind`, not {}", root.noun());
        (message, root.span, "begin it with `apiVersion: slipway.dev/v1alpha1`".to_owned())
    } else if api_version.is_empty() {
        let meant = closest("apiVersion", root.entries().iter().map(|entry| entry.key.text.as_str()));
        let span =
            meant.and_then(|name| root.entry(name)).map_or_else(|| first_key(root), |entry| entry.key.span);
        (
            "the document has no `apiVersion`".to_owned(),
            span,
            "add `apiVersion: slipway.dev/v1alpha1`".to_owned(),
        )
    } else if kinds.is_empty() {
        let versions = known.iter().map(|(version, _)| version.as_str());
        let hint = match closest(api_version, versions) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => {
                "Slipway reads documents of `slipway.dev/v1alpha1`; keep other manifests in another folder"
                    .to_owned()
            }
        };
        (format!("unknown apiVersion `{api_version}`"), span("apiVersion"), hint)
    } else if kind.is_empty() {
        let hint = format!("add `kind: Cluster`, or another of {}", kinds.join(", "));
        ("the document has no `kind`".to_owned(), first_key(root), hint)
    } else {
        let hint = match closest(kind, kinds.iter().copied()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("the kinds of {api_version} are {}", kinds.join(", ")),
        };
        (format!("unknown kind `{kind}`"), span("kind"), hint)
    };
    Some(Diagnostic::error(code::UNKNOWN_KIND, message).at(&document.file, span).hint(hint))
}

fn first_key(root: &Node) -> crate::source::Span {
    root.entries().first().map_or(root.span, |entry| entry.key.span)
}
