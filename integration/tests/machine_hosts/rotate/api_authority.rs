//! The authority of the API is replaced, while clients of the old and of the new one ask all the time.

use std::fs;

use serde_json::Value as Json;
use slipway_testkit::Said;
use slipway_testkit::wait::until;

use super::authorities::{FOLDER, KILL, Seen, is_answered, never_refused, preview};
use super::{done, restart_kubelet, rotate};
use crate::lab::Lab;

/// The client certificate of the agent and of the API server, and its key.
const CLIENT: &str = "apiserver-kubelet-client";

/// Pods that get the authorities, as the profile `hardened` admits them.
const OLDER: &str = "apiVersion: apps/v1
kind: Deployment
metadata: { name: older, namespace: default }
spec:
  replicas: 1
  selector: { matchLabels: { app: older } }
  template:
    metadata: { labels: { app: older } }
    spec:
      terminationGracePeriodSeconds: 0
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: RuntimeDefault } }
      containers:
      - name: pause
        image: \"registry.k8s.io/pause:3.10.1\"
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: [ALL] } }
";

pub(super) fn is_replaced(lab: &Lab) {
    let bundle = || String::from_utf8(lab.machines[0].read(&format!("{FOLDER}/ca.crt")).unwrap()).unwrap();
    keep(lab, "old", &bundle());
    let parts = ["stage 1 of 3", "+ keypair.kubernetes-ca-2", "+ authority_trust.server/ca"];
    preview(lab, "ca", &parts);
    fs::write(lab.file("../older.yaml"), OLDER).unwrap();
    lab.kubectl(&["apply", "-f", &lab.file("../older.yaml").to_string_lossy()]);
    lab.kubectl(&["wait", "--for=condition=available", "--timeout=60s", "deployment/older"]);
    restart_kubelet(lab);
    never_refused("a client of the old authority", || client(lab, "old", "old"), || done(lab, "ca", &[]));
    lab.is_as_wanted();
    assert_eq!(given_to_pods(lab), 2);
    older_pods_are_restarted(lab);

    // Some certificates are of the new authority when the stage is killed, others are not.
    let before = bundle();
    keep(lab, "both", &before);
    restart_kubelet(lab);
    let stage = || {
        let said = lab.run_with(&[("SLIPWAY_TEST_KILL", KILL)], &["rotate", "ca", "-f", "spec", "--yes"]);
        assert!(matches!(said.code, None | Some(137)), "it was not killed: {said:?}");
        done(lab, "ca", &[]);
        // If no authority had changed yet, the present stage is completed first.
        if bundle() == before {
            done(lab, "ca", &[]);
        }
    };
    let of_old = || client(lab, "old", "old");
    never_refused(
        "a client of both authorities",
        || client(lab, "both", "old"),
        || {
            never_refused("a client of the old authority alone", of_old, stage);
        },
    );
    lab.is_as_wanted();
    // The first one of the file is the one in use.
    let first = bundle().split_inclusive("-----END CERTIFICATE-----\n").next().unwrap().to_owned();
    keep(lab, "new", &first);
    let new = || client(lab, "new", "new");
    assert!(is_answered(new) && is_answered(of_old));
    serves_logs(lab);

    let refused = rotate(lab, "ca", &[]).wanted(1, "slipway rotate").unwrap().err;
    assert!(refused.contains("--confirm keypair.kubernetes-ca"), "{refused}");
    restart_kubelet(lab);
    never_refused("a client of the new authority", new, || {
        done(lab, "ca", &["--confirm", "keypair.kubernetes-ca"])
    });
    lab.is_as_wanted();
    assert!(is_answered(new));
    assert!(!is_answered(|| client(lab, "new", "old")), "the old authority is still accepted");
    assert!(
        !is_answered(|| client(lab, "old", "new")),
        "the API server still proves itself by the old authority"
    );
    assert_eq!(given_to_pods(lab), 1);
    serves_logs(lab);
    lab.done(&["validate", "hosts-single", "--wait", "2m"]);
}

/// Slipway's own pods were restarted by the stage; the others are listed, and restarted when that is asked for.
fn older_pods_are_restarted(lab: &Lab) {
    let listed = lab.expect(2, &["rotate", "ca", "-f", "spec", "--restart-pods", "--dry-run"]).unwrap();
    assert!(listed.lines().any(|line| line.contains("Deployment") && line.contains("older")), "{listed}");
    for own in ["coredns", "kube-proxy", "kube-flannel"] {
        assert!(!listed.contains(own), "{own} is older:\n{listed}");
    }
    done(lab, "ca", &["--restart-pods"]);
    until("no older pod is left", || {
        let said = lab.run(&["rotate", "ca", "-f", "spec", "--restart-pods", "--dry-run"]);
        let is_listed = said.out.contains("older");
        Ok((matches!(said.code, Some(0 | 2)) && !is_listed).then_some(()))
    })
    .unwrap();
    lab.kubectl(&["delete", "deployment", "older"]);
}

/// Keeps these authorities, and the present client certificate with its key.
fn keep(lab: &Lab, name: &str, authorities: &str) {
    fs::write(lab.file(&format!("../api-{name}.ca")), authorities).unwrap();
    for end in ["crt", "key"] {
        let text = lab.machines[0].read(&format!("{FOLDER}/{CLIENT}.{end}")).unwrap();
        fs::write(lab.file(&format!("../api-{name}.{end}")), text).unwrap();
    }
}

/// Asks the API server with the authorities and the client certificate that were kept under these names.
fn client(lab: &Lab, trusts: &str, is: &str) -> Seen {
    let url = format!("https://{}:6443/api/v1/namespaces", lab.address("server"));
    let file =
        |name: &str, end: &str| lab.file(&format!("../api-{name}.{end}")).to_string_lossy().into_owned();
    let (authorities, certificate, key) = (file(trusts, "ca"), file(is, "crt"), file(is, "key"));
    let asked = lab.network().run([
        "curl",
        "--silent",
        "--max-time",
        "5",
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
        "--cacert",
        &authorities,
        "--cert",
        &certificate,
        "--key",
        &key,
        &url,
    ]);
    let said = Said::from(asked.unwrap());
    match (said.out.as_str(), said.code) {
        ("200", _) => Seen::Answer,
        ("401", _) => Seen::Refusal("the API server does not know the client".to_owned()),
        // curl cannot verify the certificate of the server.
        (_, Some(60)) => Seen::Refusal("the client does not trust the API server".to_owned()),
        // An API server that has just started may not have read its roles yet.
        _ => Seen::Absence,
    }
}

/// How many authorities pods get.
fn given_to_pods(lab: &Lab) -> usize {
    let object = lab.kubectl(&["get", "configmap", "kube-root-ca.crt", "-o", "json"]);
    let object: Json = serde_json::from_str(&object).unwrap();
    object["data"]["ca.crt"].as_str().unwrap().matches("BEGIN CERTIFICATE").count()
}

/// The API server trusts the kubelet, and the kubelet the API server. The API server may still have connections to the kubelet that
/// ran before.
fn serves_logs(lab: &Lab) {
    until("the kubelet serves logs", || {
        let log = ["-n", "kube-system", "logs", "kube-apiserver-server", "--tail=1"];
        Ok(lab.ask(&lab.administrator(), &log).is_ok_and(|log| !log.is_empty()).then_some(()))
    })
    .unwrap();
}
