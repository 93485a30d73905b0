use std::collections::{BTreeMap, BTreeSet};

use super::{Found, strangers};
use crate::{
    diagnostic::Diagnostic,
    reader::{Document, Reader, Reading},
};

/// Gives documents to the readers of their kinds.
pub(super) struct Sorting<'a> {
    readers: &'a [&'a dyn Reader],
    by_reader: BTreeMap<usize, Vec<Document>>,
    /// Documents that no reader handles, and whether they are meant as a spec.
    nobodys: Vec<(Document, bool)>,
    diagnostics: Vec<Diagnostic>,
}

impl<'a> Sorting<'a> {
    pub(super) fn new(readers: &'a [&'a dyn Reader]) -> Self {
        Self { readers, by_reader: BTreeMap::new(), nobodys: Vec::new(), diagnostics: Vec::new() }
    }

    /// Sorts the documents of a file, or of an environment. `is_named` tells a file that the user named.
    pub(super) fn file(&mut self, documents: Vec<Found>, is_named: bool) {
        let mut strangers = Vec::new();
        let mut at_home: BTreeSet<usize> = BTreeSet::new();
        for Found { document, is_slip } in documents {
            let handles = |reader: &&dyn Reader| reader.handles(&document.api_version, &document.kind);
            match self.readers.iter().position(handles) {
                Some(reader) => {
                    if !is_slip {
                        at_home.insert(reader);
                    }
                    self.by_reader.entry(reader).or_default().push(document);
                }
                None => strangers.push(document),
            }
        }
        for stranger in strangers {
            match at_home.iter().find_map(|reader| self.readers.get(*reader)?.beside(&stranger)) {
                Some(warning) => self.diagnostics.push(warning),
                None => self.nobodys.push((stranger, is_named && at_home.is_empty())),
            }
        }
    }

    /// Reads all documents. Returns the results of the readers, and the problems of documents that no reader handles.
    pub(super) fn finish(self) -> (Vec<Reading>, Vec<Diagnostic>) {
        let Self { readers, by_reader, nobodys, mut diagnostics } = self;
        // In a folder, and beside specs, manifests of other programs are expected; a file that is named is meant as a spec.
        let has_specs = !by_reader.is_empty();
        let (foreign, unknown): (Vec<_>, Vec<_>) = nobodys.into_iter().partition(|(document, is_meant)| {
            has_specs && !is_meant && strangers::is_foreign(document, readers)
        });
        let foreign: Vec<Document> = foreign.into_iter().map(|(document, _)| document).collect();
        diagnostics.extend(strangers::notes(&foreign));
        diagnostics.extend(unknown.iter().filter_map(|(document, _)| strangers::unknown(document, readers)));
        let readings = by_reader
            .into_iter()
            .filter_map(|(reader, documents)| readers.get(reader).map(|reader| reader.read(&documents)));
        (readings.collect(), diagnostics)
    }
}
