//! Fields that had another name in an earlier version: documents and states with the former name are still read.

use std::borrow::Cow;

use serde_json::Value as Json;

use crate::{
    diagnostic::{Diagnostic, code},
    reader::Document,
    yaml::Node,
};

/// The mapping that has the fields.
const KUBELET: &str = "kubelet";

/// Fields of `kubelet` by their former names, with the names that `KubeletConfiguration` has.
const KUBELET_FIELDS: [(&str, &str); 3] = [
    ("imageGcHighThresholdPercent", "imageGCHighThresholdPercent"),
    ("imageGcLowThresholdPercent", "imageGCLowThresholdPercent"),
    ("serverTlsBootstrap", "serverTLSBootstrap"),
];

/// The present name of a field of `kubelet`.
fn present_name(former: &str) -> Option<&'static str> {
    KUBELET_FIELDS.iter().find(|(name, _)| *name == former).map(|(_, present)| *present)
}

/// A document with the present names. Each former name is reported at its place. A former name beside the present one stays,
/// as an unknown field.
pub(crate) fn document<'a>(document: &'a Document, diagnostics: &mut Vec<Diagnostic>) -> Cow<'a, Document> {
    let kubelet = |root: &'a Node| root.get("spec").and_then(|spec| spec.get(KUBELET));
    let is_former =
        |node: &Node, name: &str| present_name(name).is_some_and(|present| node.entry(present).is_none());
    let Some(node) = kubelet(&document.root) else { return Cow::Borrowed(document) };
    let former: Vec<_> = node
        .entries()
        .iter()
        .filter(|entry| is_former(node, &entry.key.text))
        .map(|entry| &entry.key)
        .collect();
    if former.is_empty() {
        return Cow::Borrowed(document);
    }
    let mut renamed = document.clone();
    for key in former {
        let Some(present) = present_name(&key.text) else { continue };
        diagnostics.push(
            Diagnostic::note(
                code::RENAMED,
                format!("`{}` is now called `{present}`, as in Kubernetes", key.text),
            )
            .at(&document.file, key.span)
            .hint(format!("write `{present}`")),
        );
        let entry = renamed
            .root
            .get_mut("spec")
            .and_then(|spec| spec.get_mut(KUBELET))
            .and_then(|kubelet| kubelet.entry_mut(&key.text));
        if let Some(entry) = entry {
            present.clone_into(&mut entry.key.text);
        }
    }
    Cow::Owned(renamed)
}

/// Gives the fields of a stored spec their present names.
pub(crate) fn stored(spec: &mut Json) {
    let rename = |kubelet: Option<&mut Json>| {
        let Some(fields) = kubelet.and_then(Json::as_object_mut) else { return };
        for (former, present) in KUBELET_FIELDS {
            if let Some(value) = fields.remove(former) {
                fields.entry(present).or_insert(value);
            }
        }
    };
    rename(spec.get_mut(KUBELET));
    for pool in spec.get_mut("pools").and_then(Json::as_array_mut).into_iter().flatten() {
        rename(pool.get_mut(KUBELET));
    }
}
