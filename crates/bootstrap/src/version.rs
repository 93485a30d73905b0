//! Versions of Kubernetes and of what comes with each.
