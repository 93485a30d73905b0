//! Cluster state: compare-and-swapped head, immutable snapshots, fenced journal, leases.
