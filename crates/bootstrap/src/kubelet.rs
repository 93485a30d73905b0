//! The kubelet's files on a node.
