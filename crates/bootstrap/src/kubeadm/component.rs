use serde_json::{Map, Value};
use slipway_spec::{diagnostic::Diagnostic, reader::Document};

use super::{
    code,
    form::{KUBE_PROXY_FORM, KUBELET_FORM},
    kinds::KUBELET,
};

/// The content of a user's `KubeletConfiguration` or `KubeProxyConfiguration`, as written, with its form
/// checked.
pub(super) fn read(
    document: Option<&Document>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Map<String, Value>> {
    let document = document?;
    let form = if document.kind == KUBELET.1 { &KUBELET_FORM } else { &KUBE_PROXY_FORM };
    diagnostics.extend(form.check(document).diagnostics);
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
