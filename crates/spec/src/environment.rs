//! Environments: documents of other files with values of variables and with patches.
//!
//! Bases are found first; after that, rendering is pure. A rendered document consists of the values as they are written in its
//! base, in a patch or in `values`, each with its own place. So the readers of kinds, messages and plans treat it like a document
//! of one file.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::Arc,
};

use slipway_limits::count;

use crate::{
    diagnostic::{Diagnostic, closest},
    load::{Found, Parsed},
    reader::{Document, Reader},
    source::SourceFile,
    v1alpha1::API_VERSION,
};

mod allowed;
mod budget;
mod graph;
mod json_patch;
mod merge;
mod patches;
mod path;
mod render;
mod variables;

/// How many names a hint lists.
const LISTED: usize = 20;

/// The kind of these documents.
pub(crate) const KIND: &str = "Environment";

/// Finds the files of bases.
pub(crate) trait Bases {
    /// The spec files at a path: the file, or those in the folder. Also the problems of finding and reading them, without
    /// places.
    fn files(&mut self, base: &Path) -> (Vec<Arc<SourceFile>>, Vec<Diagnostic>);
}

/// Documents after rendering.
#[derive(Default)]
pub(crate) struct Rendered {
    /// Files that belong to no environment, without their `Environment` documents.
    pub(crate) own: Vec<Parsed>,
    /// The documents of each environment that is no base of another one.
    pub(crate) units: Vec<Vec<Found>>,
    /// Files of bases that were read in addition.
    pub(crate) files: Vec<Arc<SourceFile>>,
    /// The paths of all files of bases.
    pub(crate) bases: BTreeSet<String>,
    /// The names of clusters in those files of bases that the caller gave.
    pub(crate) base_clusters: BTreeSet<String>,
    /// The names of the clusters of each environment that is no base of another one.
    pub(crate) environments: BTreeMap<String, BTreeSet<String>>,
    /// The problems.
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Renders the environments of some files.
pub(crate) fn render(parsed: Vec<Parsed>, readers: &[&dyn Reader], bases: &mut dyn Bases) -> Rendered {
    let is_any = parsed.iter().flat_map(|file| &file.documents).any(|found| is_environment(&found.document));
    let mut rendered = if is_any {
        let given = parsed.len();
        let (graph, diagnostics) = graph::of(parsed, readers, bases);
        render::all(graph, given, diagnostics)
    } else {
        Rendered { own: parsed, ..Rendered::default() }
    };
    for found in rendered.own.iter_mut().flat_map(|file| &mut file.documents) {
        let document = &mut found.document;
        if readers.iter().any(|reader| reader.handles(&document.api_version, &document.kind)) {
            variables::refuse(document, &mut rendered.diagnostics);
        }
    }
    rendered
}

fn is_environment(document: &Document) -> bool {
    document.api_version == API_VERSION && document.kind == KIND
}

/// The name that was probably meant. Comparing takes time, so many names are not all compared, and none once there are more
/// problems than are shown.
fn meant<'a>(text: &str, names: impl Iterator<Item = &'a str>, problems: usize) -> Option<&'a str> {
    if problems > count::PROBLEMS { None } else { closest(text, names.take(count::VARIABLES)) }
}

/// Names for a hint: the first of many.
fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let more = names.len().saturating_sub(LISTED);
    let first = names.take(LISTED).collect::<Vec<_>>().join(", ");
    if more == 0 { first } else { format!("{first}, and {more} more") }
}

#[cfg(test)]
mod tests;
