use std::sync::Arc;

use super::strangers;
use crate::{
    diagnostic::Diagnostic,
    reader::{Document, Reader},
    source::SourceFile,
    yaml::{self, Node},
};

/// A file with its documents.
pub(crate) struct Parsed {
    pub(crate) file: Arc<SourceFile>,
    pub(crate) documents: Vec<Found>,
}

/// A document as it was found in a file.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) document: Document,
    /// Whether its `kind` was a slip of the keys. It has the kind now that was meant.
    pub(crate) is_slip: bool,
}

impl Parsed {
    /// The documents of a file, with the problems of its YAML and of the kinds of its documents.
    pub(crate) fn of(file: &Arc<SourceFile>, readers: &[&dyn Reader]) -> (Self, Vec<Diagnostic>) {
        let (parsed, mut diagnostics) = yaml::parse(file);
        let mut documents = Vec::new();
        for parsed in parsed {
            let mut document = document(file, parsed);
            let slip = strangers::correct(&mut document, readers);
            documents.push(Found { document, is_slip: slip.is_some() });
            diagnostics.extend(slip);
        }
        (Self { file: Arc::clone(file), documents }, diagnostics)
    }
}

fn document(file: &Arc<SourceFile>, parsed: yaml::ParsedDocument) -> Document {
    let root = parsed.root;
    let text = |name: &str| root.get(name).and_then(Node::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    Document { file: Arc::clone(file), api_version, kind, root, truncated: parsed.truncated }
}
