use serde_json::{Map, Value};
use slipway_spec::{
    diagnostic::Diagnostic,
    reader::Document,
    structure::{self, Vocabulary},
};

use super::{code, kinds::KUBELET};
use crate::shape;

/// The content of a user's `KubeletConfiguration` or `KubeProxyConfiguration`, as written, with its form
/// checked.
pub(super) fn read(
    document: Option<&Document>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Map<String, Value>> {
    let document = document?;
    let known = if document.kind == KUBELET.1 { &shape::KUBELET } else { &shape::KUBE_PROXY };
    let known = shape::document(known);
    let vocabulary = Vocabulary::new(&[(&document.kind, &known)]);
    diagnostics.extend(structure::check(document, &known, &vocabulary).diagnostics);
    match document.root.to_json() {
        Value::Object(fields) => Some(fields),
        _ => {
            let message = format!("a {} is a mapping", document.kind);
            let hint = "write its fields below each other";
            let diagnostic = Diagnostic::error(code::REFUSED, message).hint(hint);
            diagnostics.push(diagnostic.at(&document.file, document.root.span));
            None
        }
    }
}
