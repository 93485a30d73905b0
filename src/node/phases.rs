//! Which phases of a bootstrap are meant.

/// The phases that are carried out: all, or those named, without those left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    only: Option<String>,
    skipped: Vec<String>,
}

impl Selection {
    /// Every phase but those left out.
    pub fn without(skipped: &[String]) -> Self {
        Self { only: None, skipped: skipped.iter().map(|phase| path(phase)).collect() }
    }

    /// One phase with its parts.
    pub fn only(phase: &[String]) -> Self {
        Self { only: Some(path(&phase.join("/"))), skipped: Vec::new() }
    }

    /// Whether nothing is left out.
    pub fn is_all(&self) -> bool {
        self.only.is_none() && self.skipped.is_empty()
    }

    /// Whether a phase such as `certs/apiserver` is meant.
    pub fn means(&self, phase: &str) -> bool {
        let phase = path(phase);
        self.only.as_ref().is_none_or(|only| is_part(&phase, only))
            && !self.skipped.iter().any(|skipped| is_part(&phase, skipped))
    }
}

/// Whether a phase is another one or a part of it.
fn is_part(phase: &str, whole: &str) -> bool {
    phase.strip_prefix(whole).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A phase as the tree has it: kubeadm's other names, and `all` for every part.
fn path(text: &str) -> String {
    let parts = text.split(['/', ' ']).filter(|part| !part.is_empty() && *part != "all");
    let known = parts.map(|part| match part {
        "uploadconfig" => "upload-config",
        "bootstraptoken" => "bootstrap-token",
        "pre-flight" => "preflight",
        "mark-master" => "mark-control-plane",
        part => part,
    });
    known.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_phase_means_its_parts_and_nothing_else() {
        let certs = Selection::only(&texts(&["certs", "all"]));
        assert!(certs.means("certs/apiserver") && certs.means("certs"));
        assert!(!certs.means("certs-of-others") && !certs.means("kubeconfig/admin"));
        let one = Selection::only(&texts(&["certs/etcd-ca"]));
        assert!(one.means("certs/etcd-ca") && !one.means("certs/etcd-server"));
    }

    #[test]
    fn what_is_left_out_is_not_meant() {
        let most = Selection::without(&texts(&["addon/kube-proxy", "uploadconfig"]));
        assert!(most.means("addon/coredns") && !most.means("addon/kube-proxy"));
        assert!(!most.means("upload-config/kubelet"));
        assert!(!most.is_all() && Selection::default().is_all());
    }
}
