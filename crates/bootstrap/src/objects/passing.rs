//! Objects that the cluster removes by itself.

/// Whether a resource of this name is the Secret of a token: `Secret/kube-system/bootstrap-token-<id>`.
#[must_use]
pub fn is_token(name: &str) -> bool {
    name.starts_with("Secret/kube-system/bootstrap-token-")
}

/// Whether the cluster removes a resource of this name by itself: tokens end, and uploaded certificates and the permissions to
/// read them end with their token.
#[must_use]
pub fn is_passing(name: &str) -> bool {
    is_token(name)
        || name.contains("/kube-system/kubeadm-certs")
        || name.contains("/kube-system/kubeadm:kubeadm-certs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_uploaded_certificates_end_by_themselves() {
        assert!(is_token("Secret/kube-system/bootstrap-token-abcdef"));
        assert!(is_passing("Secret/kube-system/bootstrap-token-abcdef"));
        assert!(is_passing("Secret/kube-system/kubeadm-certs"));
        assert!(is_passing("RoleBinding/kube-system/kubeadm:kubeadm-certs"));
        assert!(
            !is_passing("ConfigMap/kube-system/kubeadm-config")
                && !is_token("Secret/kube-system/kubeadm-certs")
        );
    }
}
