//! The secure port: the API server decides who may read it.

use slipway_testkit::port;

use crate::lab::{Cloud, Lab, eventually};

/// A token of a service account that may read `/metrics` reads it, and nothing else.
pub fn delegated(lab: &Lab) {
    let account = "slipway-cloud-controller:slipway-cloud-controller";
    let delegator = ["create", "clusterrolebinding", "slipway-cloud-controller:auth-delegator"];
    let of = ["--clusterrole=system:auth-delegator".to_owned(), format!("--serviceaccount={account}")];
    lab.kubectl(&[delegator.as_slice(), &of.each_ref().map(String::as_str)].concat());
    lab.kubectl(&["create", "serviceaccount", "reader"]);
    lab.kubectl(&["create", "clusterrole", "reader", "--verb=get", "--non-resource-url=/metrics"]);
    let bind = ["create", "clusterrolebinding", "reader", "--clusterrole=reader"];
    lab.kubectl(&[bind.as_slice(), &["--serviceaccount=default:reader"]].concat());

    let cloud = Cloud::with_workers(1);
    let [port] = port::free().unwrap();
    let [certificate, key] = lab.certificate();
    let flags = [
        format!("--secure-port={port}"),
        format!("--tls-cert-file={}", certificate.display()),
        format!("--tls-private-key-file={}", key.display()),
    ];
    let controller = lab.controller(&cloud, "secure", &flags.each_ref().map(String::as_str));
    eventually("the secure port is served", || {
        controller.log().contains("serving /metrics and /configz over TLS").then_some(())
    });
    let server = format!("--server=https://127.0.0.1:{port}");
    let get = |token: &str, path: &str| {
        let (token, path) = (format!("--token={token}"), format!("--raw={path}"));
        let nobody = ["--kubeconfig=/dev/null", "--insecure-skip-tls-verify", &server];
        lab.try_kubectl(&[nobody.as_slice(), &[token.as_str(), "get", path.as_str()]].concat())
    };
    assert_eq!(get("nonsense", "/healthz"), ("ok".to_owned(), true));
    let (said, is_done) = get("nonsense", "/metrics");
    assert!(!is_done && said.contains("logged in"), "{said}");
    let token = lab.kubectl(&["create", "token", "reader"]);
    let (said, is_done) = get(token.trim(), "/metrics");
    assert!(is_done && said.contains("leader_election_master_status"), "{said}");
    let (said, is_done) = get(token.trim(), "/configz");
    assert!(!is_done && said.contains("orbidden"), "{said}");
    let url = "--non-resource-url=/configz";
    lab.kubectl(&["create", "clusterrole", "configz", "--verb=get", url]);
    let bind = ["create", "clusterrolebinding", "configz", "--clusterrole=configz"];
    lab.kubectl(&[bind.as_slice(), &["--serviceaccount=default:reader"]].concat());
    let said = eventually("the right is known", || {
        let (said, is_done) = get(token.trim(), "/configz");
        is_done.then_some(said)
    });
    assert!(said.contains("\"ClusterName\":\"demo\""), "{said}");
}
