//! The proxy of the spec reaches the container runtime and the components of a host, which find the cluster without it.

use crate::lab::Lab;

const NETWORK: &str = "  network:\n";

/// A proxy that does not exist: whatever is sent to it fails.
const PROXY: &str = "  egressProxy: { url: \"http://127.0.0.1:9\", exclusions: [ registry.k8s.io ] }\n";

pub(crate) fn is_given_to_a_host(lab: &Lab) {
    let machine = &lab.machines[0];
    let of_runtime = || {
        let read = "tr '\\0' '\\n' </proc/$(systemctl show -p MainPID --value containerd)/environ";
        machine.check(["sh", "-c", read]).unwrap()
    };
    lab.edit(NETWORK, &format!("{PROXY}{NETWORK}"));
    lab.changes("a proxy", &["+ file.server/egress-proxy", "~ static_pod.server/kube-apiserver"]);
    let variables = of_runtime();
    assert!(variables.contains("HTTPS_PROXY=http://127.0.0.1:9\n"), "{variables}");
    assert!(variables.contains("NO_PROXY=registry.k8s.io,localhost,"), "{variables}");
    // The API server asks the kubelet for the log.
    lab.kubectl(&["logs", "--namespace", "kube-system", "--tail", "1", "kube-scheduler-server"]);
    lab.edit(PROXY, "");
    lab.changes("no proxy", &["- file.server/egress-proxy", "- service.server/slipway-egress-proxy"]);
    machine.check(["systemctl", "restart", "containerd"]).unwrap();
    assert!(!of_runtime().contains("HTTPS_PROXY"));
    lab.is_as_wanted();
}
