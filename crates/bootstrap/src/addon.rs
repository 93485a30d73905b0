//! What every cluster runs: CoreDNS and kube-proxy, as API objects.
