//! Kubeconfigs: made, parsed, checked against a CA, merged.
