//! A control plane of an adopted cluster leaves it.

use anyhow::{Result, bail, ensure};
use slipway_testkit::Machine;
use slipway_testkit::kubeadm::Kubeadm;

use crate::lab::{Lab, changed, files};

/// The members that vote, by name.
fn voters(machine: &Machine) -> Result<String> {
    let pki = "/etc/kubernetes/pki/etcd";
    let list = format!(
        "etcdctl --cacert={pki}/ca.crt --cert={pki}/healthcheck-client.crt --key={pki}/healthcheck-client.key \
         --endpoints=https://127.0.0.1:2379 member list | cut -d, -f3 | sort | tr -d '\\n'"
    );
    machine.check(["sh", "-c", &list])
}

/// Files that Slipway never changed stay on the machine, and the other members do not count its vote for
/// ever.
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
