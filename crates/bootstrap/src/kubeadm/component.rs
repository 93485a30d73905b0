use serde_json::{Map, Value};
use slipway_spec::{diagnostic::Diagnostic, reader::Document};

use super::code;

/// What a user's `KubeletConfiguration` or `KubeProxyConfiguration` says, as written.
pub(super) fn read(
    document: Option<&Document>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Map<String, Value>> {
    let document = document?;
    match document.root.to_json() {
        Value::Object(fields) => Some(fields),
        _ => {
            let message = format!("a {} is a mapping", document.kind);
            diagnostics
                .push(Diagnostic::error(code::REFUSED, message).at(&document.file, document.root.span));
            None
        }
    }
}
