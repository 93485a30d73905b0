//! Tokens for one machine. The tests share the machines of [a life](crate::life), because clusters take long.

use anyhow::{Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;
use slipway_bootstrap::configuration::EncryptionAlgorithm;
use slipway_bootstrap::pki::{AlternativeNames, PrivateKey, Request, Subject};
use slipway_testkit::machine::Machine;
use slipway_testkit::wait::until;

use crate::place::{Begun, CRI, expect, kubectl};

/// A token for a node that does not exist.
const ELSEWHERE: &str = "boundx.0123456789abcdef";
/// A token for the machine that joins.
const OWN: &str = "boundy.0123456789abcdef";

/// A token that is bound to a node's name admits that node, once. In the end, the machine has joined with
/// such a token.
pub(crate) fn a_bound_token_lets_one_machine_in(
    first: &Machine,
    second: &Machine,
    begun: &Begun,
) -> Result<()> {
    let create = ["token", "create", "--once", "--node"];
    expect(first, 0, &[&create[..], &["n9", ELSEWHERE]].concat())?;

    // A machine with another name gets an error before the first step.
    let said = expect(second, 1, &join(begun, ELSEWHERE))?;
    ensure!(said.err.contains("NODE0016") && said.err.contains("for the node n9"), "{}", said.err);
    ensure!(!second.run(["ls", "/etc/kubernetes/pki"])?.status.success(), "something was made");

    // A request to the API without the program is denied. Of two requests for the right name, one is
    // approved.
    for (request, node) in [("a-forged", "n2"), ("b-first", "n9"), ("c-second", "n9")] {
        ask(first, begun, request, node)?;
    }
    let said = expect(first, 0, &["token", "approve"])?;
    for wanted in [
        "a-forged with token boundx is denied: the token is for the node \"n9\", not for \"n2\"",
        "b-first with token boundx is approved: the node n9",
        "c-second with token boundx is denied: the token is good for one use, which the request b-first had",
    ] {
        ensure!(said.out.contains(wanted), "{wanted} is not in {}", said.out);
    }
    let conditions = "jsonpath={.status.conditions[*].type} {.status.conditions[*].message}";
    let denied = kubectl(first, &["get", "csr", "a-forged", "-o", conditions])?;
    ensure!(denied.contains("Denied") && denied.contains("not for \"n2\""), "{denied}");
    let again = expect(first, 0, &["token", "approve"])?;
    ensure!(again.out.trim().is_empty(), "{}", again.out);

    // The right machine: `--wait` waits for it, and the token is removed when the machine has joined.
    let wait = [&["slipway", "node"], &create[..], &[second.name(), OWN, "--wait"]].concat();
    let mut waiting = first.spawn(wait)?;
    until("the token is there", || {
        ensure!(waiting.ended()?.is_none(), "it does not wait: {}", waiting.log());
        Ok(expect(first, 0, &["token", "list"])?.out.contains(OWN).then_some(()))
    })?;
    listed(first, begun, second.name())?;
    expect(second, 0, &join(begun, OWN))?;
    ensure!(waiting.wait()?.success(), "{}", waiting.log());
    ensure!(waiting.log().contains("n2 has joined"), "{}", waiting.log());
    let left = expect(first, 0, &["token", "list"])?.out;
    ensure!(!left.contains(OWN), "{left}");
    // A machine that has joined does not need the token any more.
    expect(second, 0, &join(begun, OWN))?;
    Ok(())
}

/// The list names the node of a token, and how often the token may be used.
fn listed(first: &Machine, begun: &Begun, node: &str) -> Result<()> {
    let list = expect(first, 0, &["token", "list"])?.out;
    let row = |token: &str| -> Vec<&str> {
        let mut lines = list.lines();
        lines.find(|line| line.starts_with(token)).unwrap_or_default().split_whitespace().collect()
    };
    ensure!(row(OWN).get(3..5) == Some([node, "once"].as_slice()), "{list}");
    ensure!(row(&begun.token).get(3..5) == Some(["any", "many"].as_slice()), "{list}");
    let json = expect(first, 0, &["token", "list", "-o", "json"])?.out;
    let json: serde_json::Value = serde_json::from_str(&json)?;
    let of = |token: &str| {
        let mut tokens = json.as_array().into_iter().flatten();
        let found = tokens.find(|found| found["token"] == token);
        found.map(|found| json!([found["node"], found["once"]])).unwrap_or_default()
    };
    ensure!(of(OWN) == json!([node, true]) && of(&begun.token) == json!([null, false]), "{json}");
    Ok(())
}

fn join<'a>(begun: &'a Begun, token: &'a str) -> Vec<&'a str> {
    let pin = ["--discovery-token-ca-cert-hash", &begun.pin, "--cri-socket", CRI];
    ["join", &begun.endpoint, "--token", token].into_iter().chain(pin).collect()
}

/// Requests a node's certificate with the token, without the program.
fn ask(first: &Machine, begun: &Begun, name: &str, node: &str) -> Result<()> {
    let subject = Subject::new(format!("system:node:{node}")).with_organizations(["system:nodes"]);
    let key = PrivateKey::generate(EncryptionAlgorithm::EcdsaP256)?;
    let request = Request::new(&subject, &AlternativeNames::default(), &key)?.to_pem();
    let object = json!({"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": {"name": name},
        "spec": {"request": BASE64_STANDARD.encode(request), "signerName": "kubernetes.io/kube-apiserver-client-kubelet",
            "usages": ["digital signature", "client auth"]}});
    let path = format!("/root/{name}.json");
    first.write(&path, "600", object.to_string())?;
    let server = format!("https://{}", begun.endpoint);
    let trust = ["--certificate-authority", "/etc/kubernetes/pki/ca.crt", "--token", ELSEWHERE];
    let kubectl = ["kubectl", "--kubeconfig", "/dev/null", "--server", &server];
    first.check(kubectl.into_iter().chain(trust).chain(["create", "-f", &path]))?;
    Ok(())
}
