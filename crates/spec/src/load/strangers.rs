//! Documents that no reader handles: mistakes, and manifests of other programs.

use std::collections::BTreeMap;

use crate::{
    diagnostic::{Diagnostic, closest, code, misspelt},
    reader::{Document, Reader},
    source::SourceFile,
    yaml::{Node, Value},
};

/// How many documents of a file are named.
const NAMED: usize = 3;

/// Whether a document belongs to another program: it has a kind, and its `apiVersion` is no misspelling of one that is read.
pub(super) fn is_foreign(document: &Document, readers: &[&dyn Reader]) -> bool {
    let Document { api_version, kind, .. } = document;
    let group =
        |version: &str| version.split_once('/').map_or_else(String::new, |(group, _)| group.to_owned());
    let own = readers.iter().flat_map(|reader| reader.kinds());
    let is_close = |(version, known): (String, String)| {
        group(&version) == group(api_version)
            || closest(api_version, [version.as_str()]).is_some()
            // Without a group, a kind of Slipway's lacks the rest of its `apiVersion`.
            || group(api_version).is_empty() && known == *kind
    };
    !api_version.is_empty() && !kind.is_empty() && !own.into_iter().any(is_close)
}

/// Whether a file may be a spec with mistakes: its text contains the group of an `apiVersion` that is read, as `slipway.dev`.
pub(super) fn may_be_spec(file: &SourceFile, readers: &[&dyn Reader]) -> bool {
    let kinds = readers.iter().flat_map(|reader| reader.kinds());
    kinds.into_iter().any(|(version, _)| {
        let group = version.split_once('/').map_or(version.as_str(), |(group, _)| group);
        file.text().contains(group)
    })
}

/// Notes on documents of other programs, one for each file.
pub(super) fn notes(foreign: &[Document]) -> Vec<Diagnostic> {
    let mut by_file: BTreeMap<&str, Vec<&Document>> = BTreeMap::new();
    for document in foreign {
        by_file.entry(document.file.path()).or_default().push(document);
    }
    by_file.values().filter_map(|documents| note(documents)).collect()
}

fn note(documents: &[&Document]) -> Option<Diagnostic> {
    let first = documents.first()?;
    let name = |document: &&&Document| format!("{} ({})", document.kind, document.api_version);
    let mut names: Vec<String> = documents.iter().take(NAMED).map(|document| name(&document)).collect();
    if documents.len() > NAMED {
        names.push(format!("{} more", documents.len() - NAMED));
    }
    let what = if documents.len() == 1 {
        "a manifest of another program is"
    } else {
        "manifests of other programs are"
    };
    let span = first.root.get("apiVersion").map_or_else(|| first_key(&first.root), |node| node.span);
    let message = format!("{what} not read as a spec: {}", names.join(", "));
    let hint = "the cluster gets a manifest only by an entry of `addons` that names its file";
    Some(Diagnostic::note(code::UNKNOWN_KIND, message).at(&first.file, span).hint(hint))
}

/// The error for a document whose `kind` is a slip of the keys, as `Nodepool` is. The document gets the kind that was meant and is
/// read like the others, so that nothing is reported that follows from the slip only, as a cluster without control planes.
pub(super) fn correct(document: &mut Document, readers: &[&dyn Reader]) -> Option<Diagnostic> {
    if readers.iter().any(|reader| reader.handles(&document.api_version, &document.kind)) {
        return None;
    }
    let known: Vec<(String, String)> = readers.iter().flat_map(|reader| reader.kinds()).collect();
    let kinds = known.iter().filter(|(version, _)| *version == document.api_version);
    let meant = misspelt(&document.kind, kinds.map(|(_, kind)| kind.as_str()))?.to_owned();
    let error = unknown(document, readers)?;
    document.root.get_mut("kind")?.value = Value::Text(meant.clone());
    document.kind = meant;
    Some(error)
}

/// The error for a document whose `apiVersion` or `kind` Slipway does not know.
pub(super) fn unknown(document: &Document, readers: &[&dyn Reader]) -> Option<Diagnostic> {
    let (root, api_version, kind) = (&document.root, document.api_version.as_str(), document.kind.as_str());
    if document.truncated && (api_version.is_empty() || kind.is_empty()) {
        // The kind is behind the mistake that was reported.
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
