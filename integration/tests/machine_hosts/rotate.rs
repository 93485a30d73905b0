//! Keys of a running cluster are replaced, stage by stage, and the bytes in etcd show with which key each Secret is encrypted.

mod api_authority;
mod authorities;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use slipway_testkit::Said;
use slipway_testkit::wait::until;

use crate::lab::{Lab, etcdctl};

const FILE: &str = "/etc/kubernetes/apiserver/encryption.yaml";

/// The write to the state at which the first stage is killed: the new key exists, and no machine has it.
const KILL: &str = "6:after";

/// All keys and authorities that can be rotated, on a cluster with one control plane.
pub(crate) fn keys_are_replaced(lab: &Lab) {
    encryption_key(lab);
    sa_key(lab);
    authorities::front_proxy(lab);
    authorities::etcd(lab);
    api_authority::is_replaced(lab);
}

fn rotate(lab: &Lab, key: &str, more: &[&str]) -> Said {
    let start = Instant::now();
    let said = lab.run(&[&["rotate", key, "-f", "spec", "--yes"][..], more].concat());
    eprintln!("rotate {key} {more:?}: {:.1} s", start.elapsed().as_secs_f64());
    said
}

fn done(lab: &Lab, key: &str, more: &[&str]) -> Said {
    rotate(lab, key, more).wanted(0, "slipway rotate").unwrap()
}

fn encryption_key(lab: &Lab) {
    lab.kubectl(&["create", "secret", "generic", "kept", "--from-literal=word=open-sesame"]);
    let before = prefixes(lab);
    assert_eq!(before.len(), 1, "{before:?}");
    let plan = lab.expect(2, &["rotate", "encryption-key", "-f", "spec", "--dry-run"]).unwrap();
    let plan = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "stage 1 of 3",
        "+ encryption_key.at-rest-2",
        "~ file.server/encryption-configuration",
        "+ api_server_encryption.server/kube-apiserver",
        "+ encrypted_objects.server/at-rest",
    ] {
        assert!(plan.contains(part), "{part} in\n{plan}");
    }
    assert!(!plan.contains("static_pod"), "an API server is restarted:\n{plan}");

    // A stage that is killed goes on with the same command, and nothing else may be done before.
    let said =
        lab.run_with(&[("SLIPWAY_TEST_KILL", KILL)], &["rotate", "encryption-key", "-f", "spec", "--yes"]);
    assert!(matches!(said.code, None | Some(137)), "it was not killed: {said:?}");
    let refused = lab.run(&["apply", "-f", "spec", "--yes"]).wanted(1, "slipway apply").unwrap().err;
    assert!(refused.contains("ROTATE0002"), "{refused}");
    restarted_on_change(lab, FILE, || done(lab, "encryption-key", &[]));
    lab.is_as_wanted();
    assert_eq!(prefixes(lab), before, "the old key is used");

    restarted_on_change(lab, FILE, || done(lab, "encryption-key", &[]));
    let after = prefixes(lab);
    assert!(after.len() == 1 && after.is_disjoint(&before), "{before:?} and {after:?}");

    // The old key is deleted by its name only.
    let refused = rotate(lab, "encryption-key", &[]).wanted(1, "slipway rotate").unwrap().err;
    assert!(refused.contains("--confirm encryption_key.at-rest"), "{refused}");
    done(lab, "encryption-key", &["--confirm", "encryption_key.at-rest"]);
    lab.is_as_wanted();
    let listed = lab.done(&["state", "list", "hosts-single"]);
    let keys: Vec<&str> = listed.lines().filter(|line| line.contains("encryption_")).collect();
    assert!(keys.len() == 1 && keys[0].contains("encryption_key.at-rest-2"), "{keys:?}");
    let text = String::from_utf8(lab.machines[0].read(FILE).unwrap()).unwrap();
    assert_eq!(text.matches("secret:").count(), 1);
    let word = lab.kubectl(&["get", "secret", "kept", "-o", "jsonpath={.data.word}"]);
    assert_eq!(STANDARD.decode(word).unwrap(), b"open-sesame");
    assert_eq!(prefixes(lab), after);
    lab.kubectl(&["delete", "secret", "kept"]);
}

/// The beginnings of all Secrets in etcd, with the names of the keys.
fn prefixes(lab: &Lab) -> BTreeSet<String> {
    let listed = etcdctl(&lab.machines[0], "get /registry/secrets/ --prefix -w json");
    let listed: Json = serde_json::from_str(&listed).unwrap();
    let values = listed["kvs"].as_array().unwrap().iter();
    let values = values.map(|entry| STANDARD.decode(entry["value"].as_str().unwrap()).unwrap());
    let begin = |value: Vec<u8>| {
        let text = String::from_utf8_lossy(&value).into_owned();
        text.splitn(6, ':').take(5).collect::<Vec<_>>().join(":")
    };
    values.map(begin).collect()
}

/// Restarts the API server as soon as a file changes that it would read within a minute.
fn restarted_on_change<T>(lab: &Lab, file: &str, work: impl FnOnce() -> T) -> T {
    let machine = &lab.machines[0];
    let is_done = AtomicBool::new(false);
    let digest = || machine.check(["sha256sum", file]).unwrap();
    let before = digest();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                if digest() != before {
                    restart_kubelet(lab);
                    machine.check(["pkill", "-x", "kube-apiserver"]).unwrap();
                    return;
                }
                thread::sleep(Duration::from_millis(200));
            }
        });
        let end = End(&is_done);
        let result = work();
        drop(end);
        result
    })
}

/// Ends the watch, also after a failure.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A kubelet that is restarted forgets how often it has restarted a container, and waits no longer each time.
fn restart_kubelet(lab: &Lab) {
    lab.machines[0].check(["systemctl", "restart", "kubelet"]).unwrap();
}

fn sa_key(lab: &Lab) {
    let token = || lab.kubectl(&["create", "token", "default", "--duration=1h"]).trim().to_owned();
    let old = token();
    assert_eq!((accepts(lab, &old), published(lab)), (true, 1));
    let plan = lab.expect(2, &["rotate", "sa-key", "-f", "spec", "--dry-run"]).unwrap();
    assert!(plan.contains("a snapshot of etcd is saved before the first step"), "{plan}");
    let begun = done(lab, "sa-key", &[]);
    assert!(begun.err.contains("Saved the snapshot "), "{}", begun.err);
    assert_eq!((accepts(lab, &old), published(lab)), (true, 2));
    let between = token();

    // The way back, and forward again.
    restart_kubelet(lab);
    let refused = rotate(lab, "sa-key", &["--back"]).wanted(1, "slipway rotate").unwrap().err;
    assert!(refused.contains("--confirm keypair.service-accounts-2"), "{refused}");

    let used = done(lab, "sa-key", &[]);
    assert!(!used.err.contains("Saved the snapshot "), "{}", used.err);
    lab.is_as_wanted();
    let new = token();
    for token in [&old, &between, &new] {
        assert!(accepts(lab, token), "a token of stage 1 or 2 is refused in stage 2");
    }
    assert_eq!(kid(&old), kid(&between), "stage 1 signs with the old key");
    assert_ne!(kid(&old), kid(&new), "stage 2 signs with the new key");

    restart_kubelet(lab);
    done(lab, "sa-key", &["--confirm", "keypair.service-accounts"]);
    lab.is_as_wanted();
    assert_eq!((accepts(lab, &new), accepts(lab, &old), published(lab)), (true, false, 1));
    let refused = rotate(lab, "sa-key", &["--back"]).wanted(1, "slipway rotate").unwrap().err;
    assert!(refused.contains("ROTATE0003"), "{refused}");
}

/// The key that signs tokens, on several control planes. In each stage all API servers accept the tokens of all others.
pub(crate) fn sa_key_on_several(lab: &Lab, machines: &[&str]) {
    let signed = || -> Vec<String> {
        let create = ["create", "token", "default", "--duration=1h"];
        machines.iter().map(|machine| lab.kubectl_at(machine, &create).trim().to_owned()).collect()
    };
    let all_answer = |tokens: &[String], expected: bool| {
        for machine in machines {
            for token in tokens {
                assert_eq!(accepts_at(lab, machine, token), expected, "{machine}, key {}", kid(token));
            }
        }
    };
    let stage = |more: &[&str]| {
        for machine in lab.machines.iter().filter(|machine| machines.contains(&machine.name())) {
            machine.check(["systemctl", "restart", "kubelet"]).unwrap();
        }
        done(lab, "sa-key", more);
    };
    let old = signed();
    stage(&[]);
    let between = signed();
    all_answer(&[old.clone(), between].concat(), true);
    stage(&[]);
    let new = signed();
    assert!(new.iter().all(|token| kid(token) != kid(&old[0])), "an API server signs with the old key");
    all_answer(&[old.clone(), new.clone()].concat(), true);
    stage(&["--confirm", "keypair.service-accounts"]);
    all_answer(&new, true);
    all_answer(&old, false);
    lab.is_as_wanted();
}

/// Whether the API server of a cluster with one control plane knows who has a token.
fn accepts(lab: &Lab, token: &str) -> bool {
    accepts_at(lab, "server", token)
}

/// Whether the API server of a machine knows who has a token.
fn accepts_at(lab: &Lab, machine: &str, token: &str) -> bool {
    let url = format!("https://{}:6443/api", lab.address(machine));
    let header = format!("Authorization: Bearer {token}");
    until("the API server answers", || {
        let said = Said::from(lab.network().run([
            "curl",
            "--insecure",
            "--silent",
            "--output",
            "/dev/null",
            "--write-out",
            "%{http_code}",
            "--header",
            &header,
            &url,
        ])?);
        Ok(match said.out.as_str() {
            "200" => Some(true),
            "401" => Some(false),
            _ => None,
        })
    })
    .unwrap()
}

/// How many keys the issuer publishes.
fn published(lab: &Lab) -> usize {
    let keys: Json = serde_json::from_str(&lab.kubectl(&["get", "--raw", "/openid/v1/jwks"])).unwrap();
    keys["keys"].as_array().unwrap().len()
}

/// The id of the key that has signed a token.
fn kid(token: &str) -> String {
    let header = token.split('.').next().unwrap();
    let header = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(header).unwrap();
    let header: Json = serde_json::from_slice(&header).unwrap();
    header["kid"].as_str().unwrap().to_owned()
}
