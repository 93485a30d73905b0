//! The stable codes of what is wrong with kubeadm's documents. Mistakes of form have those of Slipway's own documents.

use slipway_spec::diagnostic::Code;

/// A document's kind or version is not read.
pub const UNKNOWN_KIND: Code = Code { id: "KUBEADM0001", title: "a document's kind or version is not read" };
/// A kind is given twice.
pub const GIVEN_TWICE: Code = Code { id: "KUBEADM0002", title: "a kind is given twice" };
/// kubeadm refuses a value.
pub const REFUSED: Code = Code { id: "KUBEADM0003", title: "kubeadm refuses a value" };
/// Two settings contradict each other, or one lacks another.
pub const CONTRADICTION: Code = Code { id: "KUBEADM0004", title: "two settings do not go together" };
/// A document or a setting is old, or has no effect.
pub const WITHOUT_EFFECT: Code =
    Code { id: "KUBEADM0005", title: "a document or setting is old or without effect" };
/// A setting is allowed, and probably not what was meant.
pub const UNUSUAL: Code = Code { id: "KUBEADM0006", title: "a setting is probably not what was meant" };
