//! Which phases of a bootstrap are meant.

use slipway_bootstrap::phase::{self, Command};

/// The phases that are carried out: all, or those named, without those left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    only: Option<String>,
    skipped: Vec<String>,
}

impl Selection {
    /// Every phase of a command but those left out. The error is the one that the command does not have.
    pub fn without(command: Command, skipped: &[String]) -> Result<Self, String> {
        let resolved =
            skipped.iter().map(|phase| phase::resolve(command, phase).ok_or_else(|| phase.clone()));
        Ok(Self { only: None, skipped: resolved.collect::<Result<_, _>>()? })
    }

    /// One phase with its parts.
    pub fn only(phase: &str) -> Self {
        Self { only: Some(phase.to_owned()), skipped: Vec::new() }
    }

    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.only.is_none() && self.skipped.is_empty()
    }

    /// Whether one phase alone is meant.
    pub fn is_one(&self) -> bool {
        self.only.is_some()
    }

    /// The phases that are left out.
    pub fn skipped(&self) -> &[String] {
        &self.skipped
    }

    /// Whether this phase is the only one that is meant.
    pub fn is_only(&self, phase: &str) -> bool {
        self.only.as_deref() == Some(phase)
    }

    /// Whether a phase such as `certs/apiserver` is meant.
    pub fn means(&self, phase: &str) -> bool {
        let is_meant = |only: &String| match only.as_str() {
            // This phase waits for the pods.
            "wait-control-plane" => is_part(phase, "control-plane") || is_part(phase, "etcd"),
            only => is_part(phase, only),
        };
        self.only.as_ref().is_none_or(is_meant) && !self.skipped.iter().any(|skipped| is_part(phase, skipped))
    }
}

/// Whether a phase is another one or a part of it.
fn is_part(phase: &str, whole: &str) -> bool {
    phase.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_means_its_parts_and_nothing_else() {
        let certs = Selection::only("certs");
        assert!(certs.means("certs/apiserver") && certs.means("certs"));
        assert!(!certs.means("certs-of-others") && !certs.means("kubeconfig/admin"));
        let one = Selection::only("certs/etcd-ca");
        assert!(one.means("certs/etcd-ca") && !one.means("certs/etcd-server"));
    }

    #[test]
    fn what_is_left_out_is_not_meant() {
        let skipped = ["addon/kube-proxy", "uploadconfig"].map(str::to_owned);
        let most = Selection::without(Command::Init, &skipped).unwrap();
        assert!(most.means("addon/coredns") && !most.means("addon/kube-proxy"));
        assert!(!most.means("upload-config/kubelet"));
        assert!(!most.is_all() && Selection::default().is_all());
        assert_eq!(Selection::without(Command::Init, &["no-such".to_owned()]), Err("no-such".to_owned()));
    }
}
