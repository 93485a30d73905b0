//! Reads kOps Cluster and InstanceGroup documents into the internal spec.
