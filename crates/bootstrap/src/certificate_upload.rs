//! Shared certificates, encrypted and kept in the cluster for control planes that join (`kubeadm-certs`).
