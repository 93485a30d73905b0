//! Obstacles are found before the first change: all of them at once, with names and hints.

use anyhow::{Context as _, Result, ensure};
use slipway_testkit::network::Network;

use crate::place::{CRI, expect, machine};

#[test]
#[ignore = "needs root and namespaces"]
fn everything_that_is_wrong_is_told_at_once_and_nothing_is_changed() -> Result<()> {
    let network = Network::new()?;
    let machine = machine(&network, "n1")?;
    machine.check(["mkdir", "-p", "/var/lib/etcd/member", "/etc/kubernetes/manifests"])?;
    machine.write("/etc/kubernetes/manifests/etcd.yaml", "600", "kind: Pod")?;
    machine.check(["sysctl", "-qw", "net.ipv4.ip_forward=0"])?;
    let init = ["init", "--cri-socket", CRI, "--pod-network-cidr", "10.150.0.0/16", "-o", "json"];
    let said = expect(&machine, 1, &init)?;
    let report: serde_json::Value = serde_json::from_str(&said.out).context(said.out)?;
    let findings = report["findings"].as_array().context("findings")?;
    let errors: Vec<&str> = findings
        .iter()
        .filter(|finding| finding["severity"] == "error")
        .filter_map(|finding| finding["check"].as_str())
        .collect();
    for wanted in [
        "DirAvailable--var-lib-etcd",
        "FileAvailable--etc-kubernetes-manifests-etcd.yaml",
        "FileContent--proc-sys-net-ipv4-ip_forward",
        "NetworkRanges",
    ] {
        ensure!(errors.contains(&wanted), "{wanted} is not in {errors:?}");
    }
    ensure!(findings.iter().all(|finding| finding["hint"].as_str().is_some_and(|hint| !hint.is_empty())));
    ensure!(!machine.run(["ls", "/etc/kubernetes/pki"])?.status.success(), "something was made");
    ensure!(!machine.run(["ls", "/var/lib/slipway/state"])?.status.success(), "something was remembered");

    let names = errors.join(",");
    let all: Vec<&str> = ["phase", "init", "preflight"]
        .into_iter()
        .chain(init.into_iter().skip(1))
        .chain(["--ignore-preflight-errors", &names])
        .collect();
    expect(&machine, 0, &all)?;
    Ok(())
}
