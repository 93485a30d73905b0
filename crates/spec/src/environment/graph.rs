//! Environments, with the files of their bases.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    path::{Path, PathBuf},
    sync::{Arc, LazyLock},
};

use slipway_limits::count;

use super::{Bases, is_environment, path};
use crate::{
    diagnostic::{Diagnostic, code},
    load::{Found, Parsed},
    reader::{Document, Reader},
    shape::Shape,
    source::{SourceFile, Span},
    structure::{self, Vocabulary},
    v1alpha1::EnvironmentDocument,
    yaml::Node,
};

/// How many cycles and chains that are too long are reported.
const REPORTED: usize = 10;

static SHAPE: LazyLock<(Shape, Vocabulary)> = LazyLock::new(|| {
    let shape = Shape::of::<EnvironmentDocument>();
    let vocabulary = Vocabulary::new(&[(super::KIND, &shape)]);
    (shape, vocabulary)
});

/// All files, and the environments in them.
#[derive(Default)]
pub(super) struct Graph {
    /// The files: first those that the caller gave, then those of bases.
    pub(super) files: Vec<File>,
    /// The environments, in the order in which they were found.
    pub(super) environments: Vec<Environment>,
}

/// A file with its documents.
pub(super) struct File {
    /// The file, with the documents that are no environments.
    pub(super) parsed: Parsed,
    /// Its environments.
    pub(super) environments: Vec<usize>,
    /// Whether it belongs to a base.
    pub(super) is_base: bool,
}

/// An environment.
pub(super) struct Environment {
    /// Its document.
    pub(super) document: Document,
    /// Its content; `None` when its document has mistakes.
    pub(super) content: Option<EnvironmentDocument>,
    /// The files of its bases, in the order of its bases. Files that environments among its bases use are not among them.
    pub(super) bases: Vec<usize>,
    /// Whether all its bases were found, and its document has no mistakes.
    pub(super) is_complete: bool,
    /// Whether its bases lead to an end within the allowed depth.
    pub(super) ends: bool,
    /// The file that has it.
    pub(super) file: usize,
}

impl Environment {
    /// A part of its `spec`.
    pub(super) fn part(&self, name: &str) -> Option<&Node> {
        self.document.root.get("spec")?.get(name)
    }

    /// The span of its name, for messages.
    pub(super) fn span(&self) -> Span {
        let name = self.document.root.get("metadata").and_then(|metadata| metadata.get("name"));
        name.map_or(self.document.root.span, |name| name.span)
    }

    /// Its name, for messages.
    pub(super) fn name(&self) -> &str {
        self.document.name().unwrap_or_default()
    }
}

/// Finds the bases of all environments of some files, and of environments among these bases.
pub(super) fn of(
    parsed: Vec<Parsed>,
    readers: &[&dyn Reader],
    bases: &mut dyn Bases,
) -> (Graph, Vec<Diagnostic>) {
    let mut builder = Builder {
        graph: Graph::default(),
        by_path: BTreeMap::new(),
        waiting: VecDeque::new(),
        named: 0,
        diagnostics: Vec::new(),
    };
    for file in parsed {
        builder.add(file, false);
    }
    while let Some(environment) = builder.waiting.pop_front() {
        builder.find(environment, readers, bases);
    }
    builder.find_ends();
    builder.leave_inner_files();
    builder.join();
    (builder.graph, builder.diagnostics)
}

struct Builder {
    graph: Graph,
    by_path: BTreeMap<PathBuf, usize>,
    /// Environments whose bases were not looked at yet.
    waiting: VecDeque<usize>,
    /// How many files, and problems of finding them, the bases of all environments have so far.
    named: usize,
    diagnostics: Vec<Diagnostic>,
}

impl Builder {
    fn add(&mut self, parsed: Parsed, is_base: bool) -> usize {
        let index = self.graph.files.len();
        self.by_path.insert(path::key(parsed.file.path()), index);
        let Parsed { file, documents } = parsed;
        let (environments, documents): (Vec<Found>, Vec<Found>) =
            documents.into_iter().partition(|found| is_environment(&found.document));
        let mut indices = Vec::new();
        for found in environments {
            let number = self.graph.environments.len();
            if number >= count::ENVIRONMENTS {
                let message = format!("there are more than {} environments", count::ENVIRONMENTS);
                let diagnostic = Diagnostic::error(code::OVER_BUDGET, message)
                    .at(&file, found.document.root.span)
                    .hint("name fewer folders with `-f`");
                self.diagnostics.push(diagnostic);
                break;
            }
            let document = found.document;
            let content = self.content(&document);
            let is_complete = content.is_some();
            let environment =
                Environment { document, content, bases: Vec::new(), is_complete, ends: false, file: index };
            self.graph.environments.push(environment);
            self.waiting.push_back(number);
            indices.push(number);
        }
        let parsed = Parsed { file, documents };
        self.graph.files.push(File { parsed, environments: indices, is_base });
        index
    }

    /// The content of an environment, when its document has no mistakes.
    fn content(&mut self, document: &Document) -> Option<EnvironmentDocument> {
        let (shape, vocabulary) = &*SHAPE;
        let checked = structure::check(document, shape, vocabulary);
        let is_right = checked.diagnostics.is_empty() && !document.truncated;
        self.diagnostics.extend(checked.diagnostics);
        if !is_right {
            return None;
        }
        match serde_json::from_value(checked.json) {
            Ok(content) => Some(content),
            Err(error) => {
                let message = format!("the document cannot be converted: {error}");
                let diagnostic = Diagnostic::error(code::WRONG_TYPE, message)
                    .at(&document.file, document.root.span)
                    .hint("compare the document with `slipway explain environment`");
                self.diagnostics.push(diagnostic);
                None
            }
        }
    }

    /// Finds the bases of an environment.
    fn find(&mut self, index: usize, readers: &[&dyn Reader], bases: &mut dyn Bases) {
        let known = self.diagnostics.len();
        let found = self.bases_of(index, readers, bases);
        let environment = &mut self.graph.environments[index];
        environment.bases = found;
        environment.is_complete &= self.diagnostics.len() == known;
    }

    /// The files of the bases of an environment.
    fn bases_of(&mut self, index: usize, readers: &[&dyn Reader], bases: &mut dyn Bases) -> Vec<usize> {
        let environment = &self.graph.environments[index];
        let file = Arc::clone(&environment.document.file);
        let named: Vec<(String, Span)> = environment
            .part("bases")
            .map(Node::items)
            .unwrap_or_default()
            .iter()
            .filter_map(|node| Some((node.as_str()?.to_owned(), node.span)))
            .collect();
        if named.len() > count::BASES {
            let message =
                format!("an environment has {} bases, and {} is the most", named.len(), count::BASES);
            let diagnostic = Diagnostic::error(code::BASE, message)
                .at(&file, environment.span())
                .hint("name a folder instead of its files");
            self.diagnostics.push(diagnostic);
            return Vec::new();
        }
        if named.is_empty() && environment.is_complete {
            let message = format!("the environment `{}` has no bases", environment.name());
            let diagnostic = Diagnostic::error(code::BASE, message)
                .at(&file, environment.span())
                .hint("name a file or a folder in `bases`");
            self.diagnostics.push(diagnostic);
        }
        let mut found: Vec<usize> = Vec::new();
        let mut seen = BTreeSet::new();
        for (base, span) in named {
            let files = match path::of_base(file.path(), &base) {
                Ok(_) if self.named > count::BASE_FILES => {
                    let message = format!(
                        "all environments together have more than {} files of bases",
                        count::BASE_FILES
                    );
                    let diagnostic = Diagnostic::error(code::TOO_MANY, message)
                        .at(&file, span)
                        .hint("name fewer environments with `-f`, or smaller folders as bases");
                    self.diagnostics.push(diagnostic);
                    break;
                }
                Ok(path) => self.files(&path, &base, (&*file, span), bases),
                Err((message, hint)) => {
                    self.diagnostics.push(Diagnostic::error(code::BASE, message).at(&file, span).hint(hint));
                    continue;
                }
            };
            for file in files {
                let index = match self.by_path.get(&path::key(file.path())) {
                    Some(index) => *index,
                    None => {
                        let (parsed, diagnostics) = Parsed::of(&file, readers);
                        self.diagnostics.extend(diagnostics);
                        self.add(parsed, true)
                    }
                };
                self.graph.files[index].is_base = true;
                if seen.insert(index) {
                    found.push(index);
                }
            }
        }
        found
    }

    /// The files of one base.
    fn files(
        &mut self,
        path: &Path,
        base: &str,
        (file, span): (&SourceFile, Span),
        bases: &mut dyn Bases,
    ) -> Vec<Arc<SourceFile>> {
        let (files, problems) = bases.files(path);
        self.named += files.len() + problems.len();
        if files.is_empty() && problems.is_empty() {
            let diagnostic = Diagnostic::error(code::BASE, format!("the base `{base}` has no spec files"))
                .at(file, span)
                .hint("name a file, or a folder with files that end in .yaml, .yml or .json");
            self.diagnostics.push(diagnostic);
        }
        // One problem tells that the base is not complete; those after as many as are shown tell nothing more.
        let most = if self.diagnostics.len() > count::PROBLEMS { 1 } else { problems.len() };
        self.diagnostics.extend(problems.into_iter().take(most).map(|problem| problem.at(file, span)));
        files
    }

    /// Finds the environments whose bases lead to an end, level by level. The others are part of a cycle, lead to one, or to
    /// more levels than are allowed.
    fn find_ends(&mut self) {
        for _ in 0..count::ENVIRONMENT_DEPTH {
            let ends: Vec<usize> = (0..self.graph.environments.len())
                .filter(|index| {
                    !self.graph.environments[*index].ends
                        && self.graph.inner(*index).all(|inner| self.graph.environments[inner].ends)
                })
                .collect();
            for index in ends {
                self.graph.environments[index].ends = true;
            }
        }
        let endless: Vec<usize> = (0..self.graph.environments.len())
            .filter(|index| !self.graph.environments[*index].ends)
            .collect();
        let mut reported = Vec::new();
        let cyclic = endless.iter().copied().filter(|index| self.graph.is_cyclic(*index));
        for index in cyclic.take(REPORTED) {
            let environment = &self.graph.environments[index];
            let message = format!("the environment `{}` is among its own bases", environment.name());
            let hint = "name bases that do not contain this file, and no environment that names this one";
            reported.push(self.endless(index, message, hint));
        }
        if reported.is_empty() {
            for index in endless.into_iter().take(REPORTED) {
                let message = format!(
                    "the bases of the environment `{}` are environments on more than {} levels",
                    self.graph.environments[index].name(),
                    count::ENVIRONMENT_DEPTH
                );
                reported.push(self.endless(
                    index,
                    message,
                    "let environments name the last bases themselves",
                ));
            }
        }
        self.diagnostics.extend(reported);
    }

    fn endless(&self, index: usize, message: String, hint: &'static str) -> Diagnostic {
        let environment = &self.graph.environments[index];
        let span = environment.part("bases").map_or(environment.span(), |bases| bases.span);
        Diagnostic::error(code::BASE, message).at(&environment.document.file, span).hint(hint)
    }

    /// Leaves out the bases that environments among the bases use: these environments render them.
    fn leave_inner_files(&mut self) {
        let inner: Vec<BTreeSet<usize>> =
            (0..self.graph.environments.len()).map(|index| self.graph.inner_files(index)).collect();
        for (environment, inner) in self.graph.environments.iter_mut().zip(inner) {
            environment.bases.retain(|file| !inner.contains(file));
        }
    }

    /// Gives all documents of environments and bases one file, so that a document can have values of several files.
    fn join(&mut self) {
        let files: Vec<Arc<SourceFile>> =
            self.graph.files.iter().map(|file| Arc::clone(&file.parsed.file)).collect();
        let (joined, before) = SourceFile::joined("environments", &files);
        let joined = Arc::new(joined);
        let shift = |document: &mut Document, file: usize| {
            document.root.move_down(before.get(file).copied().unwrap_or_default());
            document.file = Arc::clone(&joined);
        };
        for (index, file) in self.graph.files.iter_mut().enumerate().filter(|(_, file)| file.is_base) {
            file.parsed.documents.iter_mut().for_each(|found| shift(&mut found.document, index));
        }
        for environment in &mut self.graph.environments {
            shift(&mut environment.document, environment.file);
        }
    }
}

impl Graph {
    /// The environments among the bases of an environment.
    fn inner(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let bases = self.environments[index].bases.iter();
        bases.flat_map(move |file| self.files[*file].environments.iter().copied())
    }

    /// All environments to which the bases of an environment lead.
    fn all_inner(&self, index: usize) -> BTreeSet<usize> {
        let mut found: BTreeSet<usize> = BTreeSet::new();
        let mut next: Vec<usize> = self.inner(index).collect();
        while let Some(inner) = next.pop() {
            if found.insert(inner) {
                next.extend(self.inner(inner));
            }
        }
        found
    }

    /// Whether the bases of an environment lead back to it.
    fn is_cyclic(&self, index: usize) -> bool {
        self.all_inner(index).contains(&index)
    }

    /// The files of the bases of all environments to which the bases of an environment lead.
    fn inner_files(&self, index: usize) -> BTreeSet<usize> {
        let inner = self.all_inner(index).into_iter();
        inner.flat_map(move |inner| self.environments[inner].bases.iter().copied()).collect()
    }
}
