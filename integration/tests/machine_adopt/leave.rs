//! A cluster of kubeadm whose spec says nothing of what kubeadm was told: it stays as it is, also when it is given up.

use anyhow::{Result, bail, ensure};
use slipway_testkit::Machine;
use slipway_testkit::kubeadm::Kubeadm;

use crate::lab::{Lab, changed, files};
use crate::versions;

/// What the spec of the other tests says of kubelets and kube-proxies.
const SETTINGS: &str = "  kubelet:
    failSwapOn: false
    imageGCHighThresholdPercent: 100
    imageGCLowThresholdPercent: 99
    evictionHard: { memory.available: 100Mi, nodefs.available: 1Gi }
    extraConfig: { cgroupDriver: cgroupfs }
  components: { proxy: { extraArgs: { conntrack-max-per-core: \"0\" } } }
";

#[test]
#[ignore = "needs root and namespaces"]
fn a_cluster_of_which_the_spec_says_little_stays_as_found_and_outlives_its_deletion() -> Result<()> {
    let lab = Lab::new(&["cp-0", "worker-0"])?;
    let [first, worker] = lab.machines() else { bail!("there are {} machines", lab.machines().len()) };
    lab.edit(SETTINGS, "")?;
    let cluster = Kubeadm::init(first)?;
    cluster.join(worker)?;
    let of_all = || -> Result<Vec<_>> { lab.machines().iter().map(files).collect() };
    let (before, objects) = (of_all()?, versions(&cluster)?);

    lab.run(0, &["adopt", "-f", "spec", "--yes"])?;
    let plan = lab.run(0, &["plan", "-f", "spec"])?;
    ensure!(plan.out.contains("No changes"), "{}", plan.out);
    lab.run(0, &["apply", "-f", "spec", "--yes"])?;
    ensure!(versions(&cluster)? == objects, "an object was touched");

    // What nobody changed is not deleted, and the plan does not say that it is.
    let shown = lab.run(2, &["delete", "-f", "spec", "--dry-run", "--full"])?;
    eprintln!("{}", shown.out);
    for stays in
        ["static_pod.cp-0/etcd", "directory.cp-0/etcd-data", "kubernetes_node.worker-0", "kubernetes_object."]
    {
        ensure!(!shown.out.contains(&format!("- {stays}")), "{stays} is to be deleted: {}", shown.out);
        ensure!(shown.out.contains(stays), "{stays} is not shown: {}", shown.out);
    }
    ensure!(shown.out.contains("- host_claim.cp-0") && shown.out.contains("it stays"), "{}", shown.out);
    let deleted = lab.run(0, &["delete", "-f", "spec", "--yes", "--confirm", "taken"])?;
    eprintln!("{}", deleted.out);
    for ((before, after), machine) in before.iter().zip(of_all()?).zip(lab.machines()) {
        ensure!(changed(before, &after).is_empty(), "{}: {:?}", machine.name(), changed(before, &after));
    }
    ensure!(versions(&cluster)? == objects, "an object was touched");
    let nodes = cluster.kubectl(&[
        "get",
        "nodes",
        "-o",
        "jsonpath={.items[*].spec.unschedulable}{.items[*].metadata.name}",
    ])?;
    ensure!(String::from_utf8_lossy(&nodes.stdout) == "cp-0 worker-0", "{nodes:?}");
    Ok(())
}

/// The members that vote, by name.
fn voters(machine: &Machine) -> Result<String> {
    let pki = "/etc/kubernetes/pki/etcd";
    let list = format!(
        "etcdctl --cacert={pki}/ca.crt --cert={pki}/healthcheck-client.crt --key={pki}/healthcheck-client.key \
         --endpoints=https://127.0.0.1:2379 member list | cut -d, -f3 | sort | tr -d '\\n'"
    );
    machine.check(["sh", "-c", &list])
}

/// What Slipway never changed stays on the machine, and the others do not count its vote for ever.
#[test]
#[ignore = "needs root and namespaces"]
fn the_member_of_an_adopted_control_plane_leaves_etcd_with_it() -> Result<()> {
    let lab = Lab::new(&["cp-0", "cp-1"])?;
    let [first, second] = lab.machines() else { bail!("there are {} machines", lab.machines().len()) };
    let cluster = Kubeadm::init(first)?;
    cluster.join_control_plane(second)?;
    ensure!(voters(first)? == " cp-0 cp-1", "{}", voters(first)?);
    lab.run(0, &["adopt", "-f", "spec", "--yes"])?;
    let before = files(second)?;

    lab.edit("size: { fixed: 2 }", "size: { fixed: 1 }")?;
    let plan = lab.run(2, &["plan", "-f", "spec", "--full"])?;
    ensure!(plan.out.contains("- etcd_member.cp-1/etcd"), "{}", plan.out);
    ensure!(!plan.out.contains("- static_pod.cp-1/"), "{}", plan.out);
    let applied = lab.run(0, &["apply", "-f", "spec", "--yes"])?;
    eprintln!("{}", applied.out);
    ensure!(voters(first)? == " cp-0", "{}", voters(first)?);
    let own = |path: &String| !path.starts_with("/var/lib/slipway/");
    let touched: Vec<String> = changed(&before, &files(second)?).into_iter().filter(own).collect();
    ensure!(touched.is_empty(), "{touched:?}");
    let nodes = cluster.kubectl(&["get", "nodes", "-o", "jsonpath={.items[*].metadata.name}"])?;
    ensure!(String::from_utf8_lossy(&nodes.stdout) == "cp-0", "{nodes:?}");
    let plan = lab.run(0, &["plan", "-f", "spec"])?;
    ensure!(plan.out.contains("No changes"), "{}", plan.out);
    Ok(())
}
