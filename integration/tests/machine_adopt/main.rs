//! A cluster of kubeadm is adopted: nothing changes on its machines, and the next plan is empty.
//!
//! Machines are made of namespaces, so this test needs root.

#![cfg(test)]
#![allow(clippy::print_stderr, reason = "times are told")]

mod lab;
mod leave;

use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use lab::{Lab, changed, files};
use slipway_testkit::Machine;
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::wait::until;

/// The versions of all objects that kubeadm has made, as the API counts them.
fn versions(cluster: &Kubeadm<'_>) -> Result<String> {
    let kinds = "configmaps,daemonsets,deployments,services,serviceaccounts,roles,rolebindings";
    let columns = "custom-columns=K:.kind,N:.metadata.name,M:.metadata.managedFields[*].manager";
    let output = cluster.kubectl(&["get", kinds, "-A", "-o", columns])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
#[ignore = "needs root and namespaces"]
fn a_cluster_of_kubeadm_is_taken_over_as_it_is() -> Result<()> {
    let lab = Lab::new(&["cp-0", "cp-1", "worker-0"])?;
    let machines = lab.machines();
    let [first, second, worker] = machines else { bail!("there are {} machines", machines.len()) };
    let start = Instant::now();
    let cluster = Kubeadm::init(first)?;
    cluster.join_control_plane(second)?;
    cluster.join(worker)?;
    eprintln!("kubeadm's cluster: {:.1} s", start.elapsed().as_secs_f64());
    let of_all = || -> Result<Vec<_>> { machines.iter().map(files).collect() };
    let (before, objects) = (of_all()?, versions(&cluster)?);

    // A plan of a new cluster on these machines lists all obstacles on all of them at once.
    let start = Instant::now();
    let plan = lab.run(1, &["plan", "-f", "spec"])?;
    let apply = lab.run(1, &["apply", "-f", "spec", "--yes"])?;
    ensure!(apply.err.contains("CLI0013"), "{}", apply.err);
    for said in [&plan.out, &apply.err] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let in_the_way = [
            "cp-0: Port-6443",
            "cp-0: Port-10250",
            "cp-0: FileAvailable--etc-kubernetes-manifests-etcd.yaml",
            "cp-1: DirAvailable--var-lib-etcd: /var/lib/etcd has the data of etcd member ",
            "worker-0: FileAvailable--etc-kubernetes-kubelet.conf",
            "slipway adopt",
        ];
        for wanted in in_the_way {
            ensure!(said.contains(wanted), "{wanted} in {said}");
        }
    }
    ensure!(!lab.has_state() && of_all()? == before, "something was changed");
    eprintln!("what is in the way: {:.1} s", start.elapsed().as_secs_f64());

    // Looking writes nothing, here or there.
    let start = Instant::now();
    let shown = lab.run(2, &["adopt", "-f", "spec", "--dry-run"])?;
    ensure!(shown.out.contains("≡ static_pod.cp-1/etcd"), "{}", shown.out);
    ensure!(!shown.out.contains("  ? "), "{}", shown.out);
    ensure!(!lab.has_state() && of_all()? == before);

    lab.run(0, &["adopt", "-f", "spec", "--yes"])?;
    for ((before, after), machine) in before.iter().zip(of_all()?).zip(machines) {
        let own = ["/var/lib/slipway/bin/slipway", "/var/lib/slipway/bin/slipway.sha256"];
        ensure!(changed(before, &after) == own, "{}: {:?}", machine.name(), changed(before, &after));
    }
    ensure!(!lab.state_shows("PRIVATE KEY")?, "a key is in the state in clear");
    let plan = lab.run(0, &["plan", "-f", "spec"])?;
    ensure!(plan.out.contains("No changes"), "{}", plan.out);
    ensure!(versions(&cluster)? == objects, "an object was touched");
    eprintln!("looked, taken over, planned: {:.1} s", start.elapsed().as_secs_f64());
    let again = lab.run(1, &["adopt", "-f", "spec", "--yes"])?;
    ensure!(again.err.contains("CLI0050"), "{}", again.err);

    // A flag is changed, and only that.
    let start = Instant::now();
    let adopted = of_all()?;
    lab.edit("components: {", "components: { apiServer: { extraArgs: { v: \"1\" } },")?;
    let plan = lab.run(2, &["plan", "-f", "spec"])?;
    ensure!(plan.out.contains("0 to create, 3 to update, 0 to replace, 0 to delete"), "{}", plan.out);
    lab.run(0, &["apply", "-f", "spec", "--yes"])?;
    let plan = lab.run(0, &["plan", "-f", "spec"])?;
    ensure!(plan.out.contains("No changes"), "{}", plan.out);
    eprintln!("a flag: {:.1} s", start.elapsed().as_secs_f64());
    let of_node = |before, after: &_| -> Vec<String> {
        changed(before, after).into_iter().filter(|path| !path.starts_with("/var/lib/slipway/")).collect()
    };
    for ((before, after), machine) in adopted.iter().zip(of_all()?).zip(machines) {
        let wanted: &[&str] = match machine.name() {
            "worker-0" => &[],
            _ => &["/etc/kubernetes/manifests/kube-apiserver.yaml"],
        };
        let changed = of_node(before, &after);
        ensure!(changed == wanted, "{}: {changed:?}", machine.name());
    }
    cluster.kubectl(&["get", "--raw", "/readyz"])?;
    add_on(&lab, first, &cluster)
}

/// The key algorithm is the cluster's own. When the key of a CA is elsewhere, the error names it. The files
/// of the control plane are read through its agent, the only connection to it.
#[test]
#[ignore = "needs root and namespaces"]
fn a_cluster_with_keys_on_a_curve_is_taken_over_and_grows_when_its_keys_are_there() -> Result<()> {
    let lab = Lab::new(&["cp-0", "cp-1"])?;
    let [first, second] = lab.machines() else { bail!("there are {} machines", lab.machines().len()) };
    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }")?;
    let documents = Kubeadm::configuration(first);
    let documents = documents.replace("networking:", "encryptionAlgorithm: ECDSA-P256\nnetworking:");
    Kubeadm::init_with(first, &documents)?;
    let _agent = lab.by_agent(first)?;

    // Keys that are kept elsewhere are named, all of them, and nothing is done.
    let keys = ["ca.key", "etcd/ca.key"].map(|file| format!("/etc/kubernetes/pki/{file}"));
    for key in &keys {
        first.check(["mv", key, &format!("{key}.elsewhere")])?;
    }
    let refused = lab.run(1, &["adopt", "-f", "spec", "--yes"])?;
    let said = format!("the control plane cp-0 does not have {}; nothing was done", keys.join(", "));
    ensure!(refused.err.contains("CLI0052") && refused.err.contains(&said), "{}", refused.err);
    ensure!(refused.err.contains("bring what is missing there"), "{}", refused.err);
    for key in &keys {
        first.check(["mv", &format!("{key}.elsewhere"), key])?;
    }
    let before = files(first)?;
    lab.run(0, &["adopt", "-f", "spec", "--yes"])?;
    // Nothing had to be brought: the agent was there.
    ensure!(files(first)? == before, "{:?}", changed(&before, &files(first)?));
    ensure!(!lab.state_shows("PRIVATE KEY")?, "a key is in the state in clear");
    let plan = lab.run(0, &["plan", "-f", "spec"])?;
    ensure!(plan.out.contains("No changes"), "{}", plan.out);

    // A new machine gets the same settings as the old ones.
    let start = Instant::now();
    lab.edit("size: { fixed: 1 }", "size: { fixed: 2 }")?;
    lab.run(0, &["apply", "-f", "spec", "--yes"])?;
    let plan = lab.run(0, &["plan", "-f", "spec"])?;
    ensure!(plan.out.contains("No changes"), "{}", plan.out);
    eprintln!("a control plane more: {:.1} s", start.elapsed().as_secs_f64());
    for machine in [first, second] {
        let key = "openssl x509 -in /etc/kubernetes/pki/apiserver.crt -noout -text";
        let text = machine.check(["sh", "-c", key])?;
        ensure!(text.contains("NIST CURVE: P-256"), "{}: {text}", machine.name());
    }
    Ok(())
}

/// An add-on at a URL: it must have the pinned digest, it is downloaded once, and the content of its Secret
/// is never shown.
fn add_on(lab: &Lab, first: &Machine, cluster: &Kubeadm<'_>) -> Result<()> {
    let manifest = "apiVersion: v1\nkind: Secret\nmetadata: {name: extra, namespace: default}\nstringData: {password: hunter2}\n\
                    data: {more: aHVudGVyMg==}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: extra}\ndata: {a: b}\n";
    first.write("/srv/extra.yaml", "644", manifest)?;
    let digest = first.check(["sha256sum", "/srv/extra.yaml"])?;
    let digest = digest.split_whitespace().next().context("no digest")?;
    let serve = "cd /srv && exec openssl s_server -WWW -accept 8443 -cert /etc/kubernetes/pki/apiserver.crt \
                 -key /etc/kubernetes/pki/apiserver.key";
    let _server = first.spawn(["sh", "-c", serve])?;
    until("the server listens", || Ok(first.check(["ss", "-ltn"])?.contains(":8443 ").then_some(())))?;
    lab.trust(&first.read("/etc/kubernetes/pki/ca.crt")?)?;
    let wrong = "0".repeat(64);
    let url = format!("https://{}:8443/extra.yaml", first.address());
    lab.edit("  kubelet:\n", &format!("  addons: [{{ name: extra, manifest: {{ url: {{ url: {url}, sha256: {wrong} }} }} }}]\n  kubelet:\n"))?;
    let refused = lab.run(1, &["plan", "-f", "spec"])?;
    ensure!(refused.err.contains("CLI0040") && refused.err.contains(digest), "{}", refused.err);
    lab.edit(&wrong, digest)?;
    let plan = lab.run(2, &["plan", "-f", "spec", "--full"])?;
    ensure!(
        plan.out.contains("Secret/default/extra") && plan.out.contains("ConfigMap/default/extra"),
        "{}",
        plan.out
    );
    // A plan caches nothing, so the server must run until the end.
    let json = lab.run(2, &["plan", "-f", "spec", "-o", "json"])?;
    for said in [&plan, &json] {
        for text in ["hunter2", "aHVudGVyMg"] {
            ensure!(!said.out.contains(text) && !said.err.contains(text), "{text} is shown: {}", said.out);
        }
    }
    lab.run(0, &["apply", "-f", "spec", "--yes"])?;
    ensure!(!lab.state_shows("hunter2")? && !lab.state_shows("aHVudGVyMg")?, "a secret is in the state");
    let plan = lab.run(0, &["plan", "-f", "spec"])?;
    ensure!(plan.out.contains("No changes"), "{}", plan.out);
    let live = cluster.kubectl(&["get", "secret", "extra", "-o", "jsonpath={.data.password}{.data.more}"])?;
    ensure!(String::from_utf8_lossy(&live.stdout) == "aHVudGVyMg==aHVudGVyMg==", "{live:?}");
    Ok(())
}
