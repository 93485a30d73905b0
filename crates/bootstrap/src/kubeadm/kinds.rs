//! The kinds of documents.

use slipway_spec::{
    diagnostic::{Diagnostic, closest},
    reader::Document,
    source::Span,
};

use super::code;

pub(super) const V1BETA4: &str = "kubeadm.k8s.io/v1beta4";
pub(super) const V1BETA3: &str = "kubeadm.k8s.io/v1beta3";
pub(super) const KUBELET: (&str, &str) = ("kubelet.config.k8s.io/v1beta1", "KubeletConfiguration");
pub(super) const KUBE_PROXY: (&str, &str) = ("kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration");

/// Versions that kubeadm no longer reads, with the release that converts each.
const OLD: [(&str, &str); 5] = [
    ("kubeadm.k8s.io/v1alpha1", "1.11"),
    ("kubeadm.k8s.io/v1alpha2", "1.12"),
    ("kubeadm.k8s.io/v1alpha3", "1.14"),
    ("kubeadm.k8s.io/v1beta1", "1.15"),
    ("kubeadm.k8s.io/v1beta2", "1.22"),
];

const KINDS: [&str; 5] = [
    "InitConfiguration",
    "ClusterConfiguration",
    "JoinConfiguration",
    "ResetConfiguration",
    "UpgradeConfiguration",
];

/// One document of each kind.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    pub init: Option<Document>,
    pub cluster: Option<Document>,
    pub join: Option<Document>,
    pub reset: Option<Document>,
    pub upgrade: Option<Document>,
    pub kubelet: Option<Document>,
    pub kube_proxy: Option<Document>,
}

pub(super) fn sort(documents: Vec<Document>, diagnostics: &mut Vec<Diagnostic>) -> Sorted {
    let mut sorted = Sorted::default();
    for document in documents {
        let (version, kind) = (document.api_version.as_str(), document.kind.as_str());
        if version == V1BETA3
            && ["InitConfiguration", "ClusterConfiguration", "JoinConfiguration"].contains(&kind)
        {
            let message = format!("{V1BETA3} is old: kubeadm reads it, and will not for long");
            let hint = "`kubeadm config migrate` writes it as v1beta4";
            diagnostics.push(
                Diagnostic::warning(code::WITHOUT_EFFECT, message)
                    .at(&document.file, place(&document, "apiVersion"))
                    .hint(hint),
            );
        }
        let slot = match (version, kind) {
            (V1BETA4 | V1BETA3, "InitConfiguration") => &mut sorted.init,
            (V1BETA4 | V1BETA3, "ClusterConfiguration") => &mut sorted.cluster,
            (V1BETA4 | V1BETA3, "JoinConfiguration") => &mut sorted.join,
            (V1BETA4, "ResetConfiguration") => &mut sorted.reset,
            (V1BETA4, "UpgradeConfiguration") => &mut sorted.upgrade,
            KUBELET => &mut sorted.kubelet,
            KUBE_PROXY => &mut sorted.kube_proxy,
            _ => {
                diagnostics.extend(unknown(&document));
                continue;
            }
        };
        if let Some(first) = slot {
            let message = format!("there is a second {kind}");
            let location = first.location(place(first, "kind"));
            diagnostics.push(
                Diagnostic::error(code::GIVEN_TWICE, message)
                    .at(&document.file, place(&document, "kind"))
                    .hint("keep one of them")
                    .related("the first one", Some(&location)),
            );
            continue;
        }
        *slot = Some(document);
    }
    sorted
}

/// The problem of a document of an unknown kind.
fn unknown(document: &Document) -> Option<Diagnostic> {
    let (version, kind) = (document.api_version.as_str(), document.kind.as_str());
    if document.truncated && (version.is_empty() || kind.is_empty()) {
        // The kind is behind the mistake that was reported.
        return None;
    }
    let error = |message: String, field: &str, hint: String| {
        Some(
            Diagnostic::error(code::UNKNOWN_KIND, message)
                .at(&document.file, place(document, field))
                .hint(hint),
        )
    };
    if version.is_empty() || kind.is_empty() {
        let field = if version.is_empty() { "apiVersion" } else { "kind" };
        let hint = format!("begin it with `apiVersion: {V1BETA4}` and `kind: InitConfiguration`");
        return error(format!("the document has no `{field}`"), field, hint);
    }
    if let Some((_, release)) = OLD.iter().find(|(old, _)| *old == version) {
        let hint = format!(
            "convert it: `kubeadm config migrate` of kubeadm {release}, then of each later version that is needed"
        );
        return error(format!("{version} is no longer read"), "apiVersion", hint);
    }
    let group = |version: &str| version.split_once('/').map_or(String::new(), |(group, _)| group.to_owned());
    let known: Vec<(&str, &str)> =
        KINDS.iter().map(|kind| (V1BETA4, *kind)).chain([KUBELET, KUBE_PROXY]).collect();
    let Some((right, _)) = known.iter().find(|(known, _)| group(known) == group(version)) else {
        let message = format!("this {kind} of {version} is not read");
        let hint = "keep other manifests in another file";
        let diagnostic = Diagnostic::warning(code::WITHOUT_EFFECT, message);
        return Some(diagnostic.at(&document.file, place(document, "kind")).hint(hint));
    };
    if *right != version && version != V1BETA3 {
        return error(format!("{version} is not read"), "apiVersion", format!("write `apiVersion: {right}`"));
    }
    let kinds: Vec<&str> = known.iter().filter(|(known, _)| known == right).map(|(_, kind)| *kind).collect();
    let hint = match closest(kind, kinds.iter().copied()) {
        Some(meant) if meant == kind => format!("it needs `apiVersion: {right}`"),
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("the kinds of {right} are {}", kinds.join(", ")),
    };
    error(format!("unknown kind `{kind}`"), "kind", hint)
}

fn place(document: &Document, field: &str) -> Span {
    let first = || document.root.entries().first().map_or(document.root.span, |entry| entry.key.span);
    document.root.get(field).map_or_else(first, |node| node.span)
}
