//! Clusters that kOps itself made, from recordings of its calls: after the adoption, they are unchanged until
//! the spec changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use slipway_testkit::{Moto, share};

use crate::adopted::CASES;
use crate::disturbance::Call;
use crate::several::each_anew;
use crate::world::{PLAN, World};

const REPLAY: &str = include_str!("replay.py");
const ADOPT: &[&str] = &["adopt", "-f", "spec.yaml", "--yes"];

/// The recordings, which are kept beside the cases.
pub fn recordings() -> Result<Vec<PathBuf>> {
    let cases = std::env::var_os(CASES).map(PathBuf::from).context("SLIPWAY_CASES is not set")?;
    let folder = cases.join("../recordings/kops");
    let entries = std::fs::read_dir(&folder).with_context(|| folder.display().to_string())?;
    let mut found: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    found.retain(|recording| recording.join("calls.jsonl").is_file());
    found.sort();
    ensure!(!found.is_empty(), "no recordings in {}", folder.display());
    Ok(found)
}

/// Whether the spec names the SSH key, which `kops get` leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    Named,
    LeftOut,
}

fn cases() -> Result<Vec<(PathBuf, Key)>> {
    let all = recordings()?;
    Ok(all.into_iter().flat_map(|path| [(path.clone(), Key::LeftOut), (path, Key::Named)]).collect())
}

/// The first plan is empty, and nothing was written on the way to it.
pub fn nothing_differs() -> Result<()> {
    each_anew(&cases()?, |world, (recording, key)| {
        let adopted = || -> Result<()> {
            let before = take_over(world, recording, *key)?;
            let changes = world.plan()?;
            ensure!(changes.is_empty(), "the first plan shows {changes:#?}");
            ensure!(world.cloud.objects()? == before, "the cloud was changed");
            let (_, calls) = world.calls();
            let writing: Vec<_> = calls.iter().filter(|(_, call)| !reads(call)).collect();
            ensure!(writing.is_empty(), "something was written: {writing:?}");
            Ok(())
        };
        adopted().with_context(|| format!("{} {key:?}", recording.display()))
    })
}

/// Changes of the spec are planned, and no others.
pub fn what_the_spec_asks_for_is_planned() -> Result<()> {
    each_anew(&recordings()?, |world, recording| {
        let changed = || -> Result<()> {
            take_over(world, recording, Key::LeftOut)?;
            let spec = std::fs::read_to_string(world.place().path().join("spec.yaml"))?;
            let nodes = spec.find("name: nodes-us-east-1a").context("no nodes")?;
            let (before, after) = spec.split_at(nodes);
            world.spec(&format!("{before}{}", after.replacen("maxSize: 1", "maxSize: 4", 1)))?;
            let changes = world.plan()?;
            let found: Vec<(&str, &str)> =
                changes.iter().map(|(a, what)| (a.as_str(), what.as_str())).collect();
            let wanted = [("aws_autoscaling_group.nodes-us-east-1a-t1-example-com", "update max_size")];
            ensure!(found == wanted, "{found:?}");
            Ok(())
        };
        changed().with_context(|| recording.display().to_string())
    })
}

/// Changes of a pool that its machines get: another type, and a label, which kOps' controller reads from tags of instances.
const EDITS: &[(&str, &str, &str)] = &[
    ("nodes-us-east-1a", "machineType: t2.micro", "machineType: t3.medium"),
    ("nodes-us-east-1a", "  nodeLabels:\n", "  nodeLabels:\n    tier: gold\n"),
    ("control-plane-us-east-1a", "machineType: t2.micro", "machineType: t3.medium"),
];
/// The tag from which kOps' controller sets the label.
const LABEL: &str = "<key>k8s.io/cluster-autoscaler/node-template/label/tier</key><value>gold</value>";
/// Changes that do not reach machines of kOps, each with the code of the refusal and a part of its text.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("  role: Node\n", "  role: Node\n  taints: [dedicated=db:NoSchedule]\n", "PROVIDER0110", "node.taints"),
    ("  role: Node\n", "  role: Node\n  kubelet: { maxPods: 20 }\n", "PROVIDER0110", "node.kubelet"),
];

/// A changed pool and a changed control plane: only their machines are rolled, and boot with the user data of
/// kOps as before. A change that cannot reach the machines is refused, and nothing is done.
pub fn pools_are_rolled_with_the_user_data_of_kops() -> Result<()> {
    let mut recordings = recordings()?;
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    recordings.retain(|recording| share::has(&name(recording)));
    each_anew(&recordings, |world, recording| {
        let rolled = || -> Result<()> {
            take_over(world, recording, Key::LeftOut)?;
            world.is_settled()?;
            // nodeup carries out what machines of Slipway do not.
            let shown = world.expect(0, PLAN)?.out;
            ensure!(!shown.contains("carry out yet"), "{shown}");
            for (from, to, code, named) in REFUSED {
                let spec = edited(world, "nodes-us-east-1a", (from, to))?;
                is_refused(world, &spec, code, named).with_context(|| (*to).to_owned())?;
            }
            let spec = with_another_pool(world)?;
            is_refused(world, &spec, "PROVIDER0111", "pool more-us-east-1a")?;
            for (pool, from, to) in EDITS {
                rolls(world, pool, (from, to)).with_context(|| format!("{pool}: {to}"))?;
            }
            world.delete()?;
            let left: Vec<_> =
                world.cloud.objects()?.into_iter().filter(|object| object.kind == "instance").collect();
            ensure!(left.is_empty(), "left: {left:?}");
            Ok(())
        };
        rolled().with_context(|| recording.display().to_string())
    })
}

/// The spec with a change of a pool.
fn edited(world: &World, pool: &str, (from, to): (&str, &str)) -> Result<String> {
    let spec = std::fs::read_to_string(world.place().path().join("spec.yaml"))?;
    let of_pool = spec.find(&format!("  name: {pool}\n")).context("no such pool")?;
    let (before, after) = spec.split_at(of_pool);
    ensure!(after.contains(from), "the pool has no {from}");
    Ok(format!("{before}{}", after.replacen(from, to, 1)))
}

/// The spec with one more pool of nodes.
fn with_another_pool(world: &World) -> Result<String> {
    let spec = std::fs::read_to_string(world.place().path().join("spec.yaml"))?;
    let is_pool = |document: &&str| document.contains("\n  name: nodes-us-east-1a\n");
    let pool = spec.split("\n---\n").find(is_pool).context("no such pool")?;
    let another = pool.replace("nodes-us-east-1a", "more-us-east-1a");
    Ok(format!("{spec}\n---\n{another}"))
}

/// A spec is refused by every plan and every apply, and nothing is changed.
fn is_refused(world: &World, refused: &str, code: &str, named: &str) -> Result<()> {
    let spec = std::fs::read_to_string(world.place().path().join("spec.yaml"))?;
    let before = world.cloud.objects()?;
    world.spec(refused)?;
    for arguments in [&["plan", "-f", "spec.yaml"][..], &["apply", "-f", "spec.yaml", "--yes"]] {
        for more in [&[][..], &["--no-preflight"]] {
            let told = world.expect(1, &[arguments, more].concat())?.err;
            ensure!(told.contains(code) && told.contains(named), "{arguments:?} {more:?}: {told}");
        }
    }
    ensure!(world.cloud.objects()? == before, "the cloud was changed");
    world.spec(&spec)
}

/// Changes the machines of a pool.
fn rolls(world: &World, pool: &str, edit: (&str, &str)) -> Result<()> {
    let (machines, scripts) = (instances(world)?, scripts(world)?);
    ensure!(scripts.values().any(|script| !script.is_empty()), "no user data: {scripts:?}");
    world.spec(&edited(world, pool, edit)?)?;
    let changes = world.plan()?;
    let kinds: Vec<&str> = changes.keys().filter_map(|address| address.split('.').next()).collect();
    ensure!(kinds == ["aws_autoscaling_group", "aws_launch_template"], "{changes:#?}");
    ensure!(changes.keys().all(|address| address.contains(&format!(".{pool}"))), "{changes:#?}");
    ensure!(!changes.values().any(|what| what.contains("user_data")), "{changes:#?}");
    let mut apply = vec!["apply", "saved.plan", "--yes"];
    // Nothing checks that a new control plane serves the API, so they are confirmed by name.
    let group = changes.keys().find(|address| address.starts_with("aws_autoscaling_group.control-plane"));
    apply.extend(group.iter().flat_map(|group| ["--confirm", group.as_str()]));
    world.expect(0, &apply)?;
    world.disturbance.only_what_was_asked_for()?;
    world.is_settled()?;
    let after = instances(world)?;
    let stayed = machines.iter().filter(|machine| after.contains(machine)).count();
    ensure!(after.len() == machines.len() && stayed + 1 == machines.len(), "{machines:?} became {after:?}");
    ensure!(self::scripts(world)? == scripts, "other user data");
    if edit.1.contains("tier: gold") {
        let of_pool = templates(world)?.into_iter().find(|(name, _)| name.starts_with(pool));
        let (_, template) = of_pool.context("no template of the pool")?;
        let template = template.split_whitespace().collect::<String>();
        ensure!(template.contains(LABEL), "no tag for the label: {template}");
    }
    Ok(())
}

fn instances(world: &World) -> Result<Vec<String>> {
    let objects = world.cloud.objects()?.into_iter().filter(|object| object.kind == "instance");
    Ok(objects.map(|object| object.id).collect())
}

/// The user data of the newest version of each launch template, by name.
fn scripts(world: &World) -> Result<BTreeMap<String, String>> {
    let templates = templates(world)?.into_iter();
    Ok(templates.map(|(name, template)| (name, values(&template, "userData").concat())).collect())
}

/// The newest version of each launch template as EC2 describes it, by name.
fn templates(world: &World) -> Result<BTreeMap<String, String>> {
    let ask = |form: &str| world.cloud.ask("ec2", form);
    let found = ask("Version=2016-11-15&Action=DescribeLaunchTemplates")?;
    let mut templates = BTreeMap::new();
    for name in values(&found, "launchTemplateName") {
        let version = ask(&format!(
            "Version=2016-11-15&Action=DescribeLaunchTemplateVersions&LaunchTemplateName={name}&LaunchTemplateVersion.1=%24Latest"
        ))?;
        templates.insert(name, version);
    }
    Ok(templates)
}

/// The texts of the elements of a name.
fn values(text: &str, tag: &str) -> Vec<String> {
    let opening = format!("<{tag}>");
    let parts = text.split(&opening).skip(1);
    parts.filter_map(|part| Some(part.split_once('<')?.0.to_owned())).collect()
}

/// The keys that the state gets from kOps, and the folders of their key sets.
const KEYS: &[(&str, &str)] = &[
    ("keypair.etcd-ca", "etcd-peers-ca-main"),
    ("keypair.front-proxy-ca", "apiserver-aggregator-ca"),
    ("keypair.kubernetes-ca", "kubernetes-ca"),
    ("keypair.service-accounts", "service-account"),
];

/// The keys of the cluster are read from kOps' own state store and kept encrypted. Without one of them nothing is adopted, unless that
/// is asked for. No plan makes other keys or enters the cluster.
pub fn the_keys_of_kops_are_kept() -> Result<()> {
    let mut recordings = recordings()?;
    recordings.truncate(1);
    each_anew(&recordings, |world, recording| {
        let kept = || -> Result<()> {
            let calls = replay(world, recording, Key::LeftOut)?;
            let refused = world.expect(1, &[ADOPT, &["--keys", "s3://bkt1/other"]].concat())?.err;
            let object = "s3://bkt1/other/pki/private/kubernetes-ca/keyset.yaml";
            ensure!(refused.contains("CLI0053") && refused.contains(object), "{refused}");
            ensure!(!world.place().state().join("t1.example.com").exists(), "a state was written");

            let told = world.expect(0, ADOPT)?.out;
            for (address, folder) in KEYS {
                let found = format!("of s3://bkt1/t1.example.com/pki/private/{folder}/keyset.yaml");
                let is_told = |line: &str| line.contains(address) && line.contains(&found);
                ensure!(told.lines().any(is_told), "{address}: {told}");
            }
            let (listed, expected) = (listed_keys(world)?, KEYS.iter().map(|(address, _)| *address));
            ensure!(listed.iter().map(String::as_str).eq(expected), "{listed:?}");
            for key in private_keys(&calls)? {
                let shown = Command::new("grep")
                    .args(["-r", "-F", "-q", &key])
                    .arg(world.place().state())
                    .status()?;
                ensure!(!shown.success(), "the state shows a key");
            }
            world.is_settled()?;
            world.expect(0, &["plan", "-f", "spec.yaml"])?;

            std::fs::remove_dir_all(world.place().state())?;
            world.expect(0, &[ADOPT, &["--keys", "none"]].concat())?;
            ensure!(listed_keys(world)?.is_empty(), "keys were adopted");
            world.is_settled()
        };
        kept().with_context(|| recording.display().to_string())
    })
}

/// The addresses of keys in the state.
fn listed_keys(world: &World) -> Result<Vec<String>> {
    let listed = world.expect(0, &["state", "list", "t1.example.com"])?.out;
    let addresses = listed.lines().filter_map(|line| line.split_whitespace().next());
    Ok(addresses.filter(|address| address.starts_with("keypair.")).map(str::to_owned).collect())
}

/// The private keys of a recording, as their documents have them, and a line of each as it is in PEM.
fn private_keys(calls: &Path) -> Result<Vec<String>> {
    let mut keys = Vec::new();
    for line in std::fs::read_to_string(calls)?.lines() {
        let call: Json = serde_json::from_str(line)?;
        if !call["path"].as_str().unwrap_or_default().contains("/keyset.yaml") {
            continue;
        }
        let body = String::from_utf8(STANDARD.decode(call["body"].as_str().context("no body")?)?)?;
        let encoded = body.split_once("privateMaterial: ").context("no key")?.1;
        let encoded = encoded.split_whitespace().next().context("no key")?;
        let text = String::from_utf8(STANDARD.decode(encoded)?)?;
        keys.push(text.lines().nth(2).context("no line of a key")?.to_owned());
        keys.push(encoded.to_owned());
    }
    ensure!(!keys.is_empty(), "no keys were recorded");
    Ok(keys)
}

/// Replays a recording, and writes its spec; returns the file of the calls.
pub fn replay(world: &World, recording: &Path, key: Key) -> Result<PathBuf> {
    // The recording has a zone of its own.
    world.cloud.reset()?;
    let script = world.place().write("replay.py", REPLAY)?;
    let calls = recording.join("calls.jsonl");
    let mut command = Command::new(Moto::install()?);
    let sent = command.arg(script).arg(world.cloud.moto().endpoint()).arg(&calls).output()?;
    ensure!(sent.status.success(), "not replayed: {}", String::from_utf8_lossy(&sent.stderr));
    let mut spec = std::fs::read_to_string(recording.join("spec.yaml"))?;
    if key == Key::Named {
        spec.push_str(&credential(&calls)?);
    }
    world.spec(&spec)?;
    Ok(calls)
}

/// Replays a recording and adopts the cluster; returns the objects after that.
fn take_over(world: &World, recording: &Path, key: Key) -> Result<Vec<crate::cloud::Object>> {
    replay(world, recording, key)?;
    let before = world.cloud.objects()?;
    world.calls();
    world.expect(2, &["adopt", "-f", "spec.yaml", "--dry-run"])?;
    let told = world.expect(0, ADOPT)?;
    ensure!(!told.out.contains("\n  ? "), "not everything was found: {}", told.out);
    Ok(before)
}

/// The document with which kOps has an SSH key, from the recording of how it was kept.
fn credential(calls: &Path) -> Result<String> {
    for line in std::fs::read_to_string(calls)?.lines() {
        let call: Json = serde_json::from_str(line)?;
        if !call["path"].as_str().unwrap_or_default().contains("/pki/ssh/public/admin/") {
            continue;
        }
        let body = STANDARD.decode(call["body"].as_str().context("no body")?)?;
        let text = String::from_utf8(body)?;
        let key = text.lines().find(|line| line.starts_with("ssh-")).context("no key")?;
        return Ok(format!(
            "\n---\n\napiVersion: kops.k8s.io/v1alpha2\nkind: SSHCredential\nmetadata:\n  name: admin\n  labels:\n    \
             kops.k8s.io/cluster: t1.example.com\nspec:\n  publicKey: {}\n",
            key.trim()
        ));
    }
    bail!("no key was recorded")
}

/// Whether a call only reads.
fn reads(call: &Call) -> bool {
    let words = ["Describe", "Get", "List", "Search", "Lookup", "Simulate", "GET ", "HEAD "];
    words.iter().any(|word| call.action.starts_with(word))
}
