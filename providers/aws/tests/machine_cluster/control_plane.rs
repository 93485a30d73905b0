//! Control planes are replaced, and etcd's data stays on its volumes.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_secrets::age;
use slipway_testkit::lab::{LabInstance, values};
use slipway_testkit::wait::until_within;
use slipway_testkit::{Lab, MachineOptions};

use crate::life::{ENDPOINT, Mirror, Operator, PROGRAM, SETTINGS, booted};

/// The change after which control planes are replaced.
const TYPE: (&str, &str) =
    ("role: controlPlane\n  machineType: t3.medium", "role: controlPlane\n  machineType: t3.large");
/// Asks the member of etcd on a machine for all members.
const MEMBERS: &str = "cd /etc/kubernetes/pki/etcd; curl -sS --fail -m 10 --cacert ca.crt --cert healthcheck-client.crt \
                       --key healthcheck-client.key -X POST -d '{}' https://127.0.0.1:2379/v3/cluster/member/list";

fn kubectl(machine: &LabInstance, words: &[&str]) -> Result<String> {
    let own = ["kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "--server", ENDPOINT];
    machine.check(own.into_iter().chain(words.iter().copied()))
}

/// The id and the address of each member of etcd that votes, by its name.
fn members(machine: &LabInstance) -> Result<BTreeMap<String, (String, String)>> {
    let said = machine.shell(MEMBERS)?;
    let list: Json = serde_json::from_str(&said)?;
    let all = list["members"].as_array().with_context(|| said.clone())?;
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    let voting = all.iter().filter(|member| member["isLearner"] != true);
    Ok(voting
        .map(|member| (text(&member["name"]), (text(&member["ID"]), text(&member["peerURLs"][0]))))
        .collect())
}

/// The ids alone.
fn ids(members: &BTreeMap<String, (String, String)>) -> BTreeMap<&str, &str> {
    members.iter().map(|(name, (id, _))| (name.as_str(), id.as_str())).collect()
}

/// The machine of each control plane that runs, by its instance.
fn control_planes(lab: &Lab) -> Result<BTreeMap<String, LabInstance>> {
    let mut found = BTreeMap::new();
    for id in lab.running()? {
        let machine = lab.instance(&id)?;
        if booted(&machine)?["pool"] == "control-plane" {
            found.insert(id, machine);
        }
    }
    Ok(found)
}

/// Holds that the data is on the volume, and nowhere else.
fn is_on_volume(machine: &LabInstance) -> Result<()> {
    let script = "findmnt -n -o FSTYPE /var/lib/etcd; ls /var/lib/etcd/data/member; grep -c ' /var/lib/etcd ext4 ' /etc/fstab";
    let said = machine.shell(script)?;
    ensure!(said.split_whitespace().eq(["ext4", "snap", "wal", "1"]), "{said}");
    Ok(())
}

/// Replaces the only control plane. The machine that replaces it continues the cluster with the data on the volume, also after its
/// power was cut.
pub fn the_only_one_is_replaced(operator: &Operator<'_>, lab: &Lab, machine: &LabInstance) -> Result<()> {
    is_on_volume(machine)?;
    kubectl(machine, &["create", "configmap", "kept", "--from-literal=key=value"])?;
    let (before, running) = (members(machine)?, lab.running()?);
    ensure!(before.len() == 1, "{before:?}");
    operator.edit(TYPE.0, TYPE.1)?;
    let planned: Json =
        serde_json::from_str(&operator.expect(2, &["plan", "-f", "spec.yaml", "-o", "json"])?.out)?;
    // No data is lost, so that nothing has to be confirmed by name.
    ensure!(planned["confirmations"].as_array().is_none_or(Vec::is_empty), "{:#}", planned["confirmations"]);
    operator.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    let left = lab.running()?;
    let new = left.iter().find(|id| !running.contains(id)).with_context(|| format!("{left:?}"))?;
    let machine = &lab.instance(new)?;
    let status = booted(machine)?;
    ensure!(status["pool"] == "control-plane", "{status}");
    let after = members(machine)?;
    ensure!(ids(&after) == ids(&before) && after != before, "{before:?} {after:?}");
    is_on_volume(machine)?;
    let kept = ["get", "configmap", "kept", "-o", "jsonpath={.data.key}"];
    ensure!(kubectl(machine, &kept)? == "value", "an object is gone");
    operator.expect(0, &["validate", "lab.example.com", "--wait", "3m"])?;
    operator.expect(0, &["plan", "-f", "spec.yaml"])?;

    // Etcd does not start before the volume is mounted again.
    machine.cut_power()?;
    until_within(Duration::from_secs(180), "the API answers again", || {
        let said = machine.run([
            "kubectl",
            "--kubeconfig",
            "/etc/kubernetes/admin.conf",
            "get",
            "--raw",
            "/readyz",
        ])?;
        Ok((said.out == "ok").then_some(()))
    })?;
    is_on_volume(machine)?;
    ensure!(members(machine)? == after, "another member after a cut of the power");
    operator.expect(0, &["validate", "lab.example.com", "--wait", "2m"]).map(drop)
}

/// Replaces three control planes in three zones while a client writes through the load balancer. Then one is lost with its volume, and at
/// last all are terminated at once.
pub fn three_are_replaced_one_after_the_other() -> Result<()> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let program = folder.path().join(PROGRAM);
    std::fs::hard_link(std::env::current_exe()?, &program)?;
    let identity = age::Identity::generate()?.to_secret_text().to_string();
    let lab = Lab::start(MachineOptions {
        files: vec![("/root/.config/slipway/config.toml".to_owned(), SETTINGS.as_bytes().to_vec())],
        ..MachineOptions::default()
    })?;
    let mirror = Mirror::new(&program)?;
    let _server = lab.network().serve(mirror.folder.path())?;
    let operator = Operator::new(&lab, &program, &identity, &mirror)?;
    operator.edit("zones: [us-east-1a]", "zones: [us-east-1a, us-east-1b, us-east-1c]")?;
    let subnet = |name: &str, third: u8| {
        format!("      - {{ name: {name}, zone: us-east-1{name}, kind: public, cidr: 172.20.{third}.0/19 }}")
    };
    operator.edit(&subnet("a", 32), &[subnet("a", 32), subnet("b", 64), subnet("c", 96)].join("\n"))?;
    let (one, three) = (
        "image: ami-1e749f67\n  subnets: [a]",
        "image: ami-1e749f67\n  size: { fixed: 3 }\n  subnets: [a, b, c]",
    );
    operator.edit(&format!("{}\n  {one}", TYPE.0), &format!("{}\n  {three}", TYPE.0))?;
    operator.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    operator.expect(0, &["validate", "lab.example.com", "--wait", "5m"])?;
    let machines = control_planes(&lab)?;
    ensure!(machines.len() == 3, "{:?}", machines.keys());
    let any = machines.values().next().context("no control plane")?;
    let before = members(any)?;
    ensure!(before.len() == 3, "{before:?}");

    let worker = lab.running()?.into_iter().find(|id| !machines.contains_key(id)).context("no worker")?;
    let worker = lab.instance(&worker)?;
    let kubeconfig = operator.expect(0, &["kubeconfig", "lab.example.com"])?.out;
    let writes = format!(
        "cat > /root/own.conf <<'END'\n{kubeconfig}\nEND\nnumber=0\nwhile [ ! -e /root/stop ]; do number=$((number + 1)); \
         kubectl --kubeconfig /root/own.conf --request-timeout 5s create configmap n-$number && echo n-$number >> /root/written; \
         sleep 1; done"
    );
    let mut writer = worker
        .command(["bash", "-c", &writes])?
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    operator.edit(TYPE.0, TYPE.1)?;
    let rolled = operator.expect(0, &["apply", "-f", "spec.yaml", "--yes"]);
    worker.check(["touch", "/root/stop"])?;
    writer.wait()?;
    rolled?;

    let new = control_planes(&lab)?;
    ensure!(new.len() == 3 && new.keys().all(|id| !machines.contains_key(id)), "{:?}", new.keys());
    let any = new.values().next().context("no control plane")?;
    let after = members(any)?;
    ensure!(ids(&after) == ids(&before), "{before:?} {after:?}");
    ensure!(after.iter().all(|(name, member)| before.get(name) != Some(member)), "{before:?} {after:?}");
    new.values().try_for_each(is_on_volume)?;
    // Etcd had a majority all the time: what was written while machines left is there.
    let written = worker.check(["cat", "/root/written"])?;
    let there = kubectl(any, &["get", "configmaps", "-o", "name"])?;
    let lost: Vec<&str> = written
        .lines()
        .filter(|name| !there.lines().any(|line| line == format!("configmap/{name}")))
        .collect();
    ensure!(!written.is_empty() && lost.is_empty(), "lost: {lost:?}");
    operator.expect(0, &["validate", "lab.example.com", "--wait", "3m"])?;
    operator.expect(0, &["plan", "-f", "spec.yaml"])?;
    one_is_lost_with_its_volume(&operator, &lab, &new)?;
    all_are_terminated_at_once(&operator, &lab)
}

/// An instance is terminated from outside, and its volume is deleted. The group launches another instance; the plan creates the volume
/// again. The member of the volume is removed from etcd, and the machine joins as a new one.
fn one_is_lost_with_its_volume(
    operator: &Operator<'_>,
    lab: &Lab,
    machines: &BTreeMap<String, LabInstance>,
) -> Result<()> {
    let mut all = machines.iter();
    let ((lost, machine), (_, other)) = all.next().zip(all.next()).context("not two control planes")?;
    let record: Json = serde_json::from_str(&machine.check(["cat", "/var/lib/slipway/boot/volume.json"])?)?;
    let name = record["member"].as_str().context("no member")?;
    let volume = record["volume"].as_str().context("no volume")?;
    let before = members(other)?;
    lab.call("ec2", "TerminateInstances", &[("InstanceId.1", lost)])?;
    until_within(Duration::from_secs(60), "the volume is free", || {
        let answer = lab.call("ec2", "DescribeVolumes", &[("VolumeId.1", volume)])?;
        Ok(values(&answer, "status").contains(&"available").then_some(()))
    })?;
    lab.call("ec2", "DeleteVolume", &[("VolumeId", volume)])?;
    let planned: Json =
        serde_json::from_str(&operator.expect(2, &["plan", "-f", "spec.yaml", "-o", "json"])?.out)?;
    let steps = planned["steps"].as_array().context("no steps")?.iter();
    let mut addresses = steps.filter_map(|step| step["address"].as_str());
    let address = addresses.find(|address| address.starts_with("aws_ebs_volume."));
    let address = address.with_context(|| format!("no volume: {:#}", planned["steps"]))?;
    operator.expect(0, &["apply", "-f", "spec.yaml", "--yes", "--confirm", address])?;
    let again = control_planes(lab)?;
    ensure!(again.len() == 3 && !again.contains_key(lost), "{:?}", again.keys());
    let after = members(other)?;
    let (old, new) = (before.get(name), after.get(name));
    ensure!(
        after.len() == 3 && new.is_some() && old.map(|old| &old.0) != new.map(|new| &new.0),
        "{before:?} {after:?}"
    );
    ensure!(
        after.iter().all(|(other, member)| other == name || before.get(other) == Some(member)),
        "{after:?}"
    );
    operator.expect(0, &["validate", "lab.example.com", "--wait", "3m"])?;
    operator.expect(0, &["plan", "-f", "spec.yaml"]).map(drop)
}

/// All control planes are terminated at once. No member is at an address that another one knows; the next machines bring the members
/// together.
fn all_are_terminated_at_once(operator: &Operator<'_>, lab: &Lab) -> Result<()> {
    let machines = control_planes(lab)?;
    let any = machines.values().next().context("no control plane")?;
    let before = members(any)?;
    ensure!(before.len() == 3, "{before:?}");
    kubectl(any, &["create", "configmap", "last", "--from-literal=key=value"])?;
    let former: Vec<String> = machines.values().map(LabInstance::address).collect();
    let count = lab.running()?.len();
    for id in machines.keys() {
        lab.call("ec2", "TerminateInstances", &[("InstanceId.1", id)])?;
    }
    until_within(Duration::from_secs(120), "other control planes run", || {
        let running = lab.running()?;
        let is_new = running.iter().all(|id| !machines.contains_key(id));
        Ok((is_new && running.len() == count).then_some(()))
    })?;
    let again = control_planes(lab)?;
    ensure!(again.len() == 3 && again.keys().all(|id| !machines.contains_key(id)), "{:?}", again.keys());
    let any = again.values().next().context("no control plane")?;
    let after = members(any)?;
    ensure!(ids(&after) == ids(&before), "{before:?} {after:?}");
    ensure!(after.iter().all(|(name, member)| before.get(name) != Some(member)), "{before:?} {after:?}");
    let kept = ["get", "configmap", "last", "-o", "jsonpath={.data.key}"];
    ensure!(kubectl(any, &kept)? == "value", "an object is gone");
    // No detour is left.
    let loopback = any.check(["ip", "-o", "-4", "address", "show", "dev", "lo"])?;
    ensure!(former.iter().all(|address| !loopback.contains(&format!(" {address}/32 "))), "{loopback}");
    operator.expect(0, &["validate", "lab.example.com", "--wait", "5m"])?;
    operator.expect(0, &["plan", "-f", "spec.yaml"]).map(drop)
}
