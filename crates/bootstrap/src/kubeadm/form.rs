//! The forms of kubeadm's documents.
//!
//! Deriving a form from its type takes a hundred times as long as checking a document, so it is done once for each.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use slipway_spec::{
    reader::Document,
    shape::Shape,
    structure::{self, Checked, Vocabulary},
};

use super::{
    kinds::{KUBE_PROXY, KUBELET, V1BETA3},
    v1beta3, v1beta4,
};
use crate::shape;

/// The fields of a document, with the names that hints are chosen from.
pub(super) struct Form {
    shape: Shape,
    vocabulary: Vocabulary,
}

impl Form {
    fn new(kind: &str, shape: Shape) -> Self {
        let vocabulary = Vocabulary::new(&[(kind, &shape)]);
        Self { shape, vocabulary }
    }

    /// Checks a document against the form.
    pub(super) fn check(&self, document: &Document) -> Checked {
        structure::check(document, &self.shape, &self.vocabulary)
    }
}

/// The forms of one kind of kubeadm's own documents, in each version that is read.
pub(super) struct Forms {
    v1beta4: Form,
    v1beta3: Form,
}

impl Forms {
    fn of<T: JsonSchema>(kind: &str) -> Self {
        let (mut new, mut old) = (Shape::of::<T>(), Shape::of::<T>());
        v1beta3::without_old_fields(&mut new);
        v1beta3::shape(&mut old);
        Self { v1beta4: Form::new(kind, new), v1beta3: Form::new(kind, old) }
    }

    /// The form of the version of a document.
    pub(super) fn for_version(&self, document: &Document) -> &Form {
        if document.api_version == V1BETA3 { &self.v1beta3 } else { &self.v1beta4 }
    }
}

/// A kind of kubeadm's own documents.
pub(super) trait Known: DeserializeOwned + Default {
    /// The forms of the kind.
    fn forms() -> &'static Forms;
}

macro_rules! known {
    ($($kind:ident),* $(,)?) => {
        $(impl Known for v1beta4::$kind {
            fn forms() -> &'static Forms {
                static FORMS: LazyLock<Forms> = LazyLock::new(|| Forms::of::<v1beta4::$kind>(stringify!($kind)));
                &FORMS
            }
        })*
    };
}

known!(ClusterConfiguration, InitConfiguration, JoinConfiguration, ResetConfiguration, UpgradeConfiguration,);

/// The form of `KubeletConfiguration`.
pub(super) static KUBELET_FORM: LazyLock<Form> =
    LazyLock::new(|| Form::new(KUBELET.1, shape::document(&shape::KUBELET)));

/// The form of `KubeProxyConfiguration`.
pub(super) static KUBE_PROXY_FORM: LazyLock<Form> =
    LazyLock::new(|| Form::new(KUBE_PROXY.1, shape::document(&shape::KUBE_PROXY)));
