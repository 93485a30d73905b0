//! Clusters that kOps itself made, as recordings of its calls: taken over, they are left as they are until the spec changes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value as Json;
use slipway_testkit::{Moto, http};

use crate::adopted::CASES;
use crate::disturbance::Call;
use crate::several::each_anew;
use crate::world::World;

const REPLAY: &str = include_str!("replay.py");
const ADOPT: &[&str] = &["adopt", "-f", "spec.yaml", "--yes"];

/// The recordings, which are kept beside the cases.
fn recordings() -> Result<Vec<PathBuf>> {
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
enum Key {
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

/// What a field of the spec asks for is planned, and that alone.
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

/// What a changed pool and a changed control plane ask for: their machines alone are rolled, and boot by the user data of
/// kOps as before.
pub fn pools_are_rolled_with_the_user_data_of_kops() -> Result<()> {
    each_anew(&recordings()?, |world, recording| {
        let rolled = || -> Result<()> {
            take_over(world, recording, Key::LeftOut)?;
            world.is_settled()?;
            for pool in ["nodes-us-east-1a", "control-plane-us-east-1a"] {
                rolls(world, pool).with_context(|| pool.to_owned())?;
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

/// Gives the machines of a pool another type.
fn rolls(world: &World, pool: &str) -> Result<()> {
    let (machines, scripts) = (instances(world)?, scripts(world)?);
    ensure!(scripts.values().any(|script| !script.is_empty()), "no user data: {scripts:?}");
    let spec = std::fs::read_to_string(world.place().path().join("spec.yaml"))?;
    let of_pool = spec.find(&format!("  name: {pool}\n")).context("no such pool")?;
    let (before, after) = spec.split_at(of_pool);
    world
        .spec(&format!("{before}{}", after.replacen("machineType: t2.micro", "machineType: t3.medium", 1)))?;
    let changes = world.plan()?;
    let kinds: Vec<&str> = changes.keys().filter_map(|address| address.split('.').next()).collect();
    ensure!(kinds == ["aws_autoscaling_group", "aws_launch_template"], "{changes:#?}");
    ensure!(changes.keys().all(|address| address.contains(&format!(".{pool}"))), "{changes:#?}");
    world.expect(0, &["apply", "saved.plan", "--yes"])?;
    world.disturbance.only_what_was_asked_for()?;
    world.is_settled()?;
    let after = instances(world)?;
    let stayed = machines.iter().filter(|machine| after.contains(machine)).count();
    ensure!(after.len() == machines.len() && stayed + 1 == machines.len(), "{machines:?} became {after:?}");
    ensure!(self::scripts(world)? == scripts, "other user data");
    Ok(())
}

fn instances(world: &World) -> Result<Vec<String>> {
    let objects = world.cloud.objects()?.into_iter().filter(|object| object.kind == "instance");
    Ok(objects.map(|object| object.id).collect())
}

/// The user data of the newest version of each launch template, by name.
fn scripts(world: &World) -> Result<BTreeMap<String, String>> {
    let headers = [
        (
            "Authorization",
            "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, \
                           Signature=0",
        ),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    let port = world.cloud.moto().port();
    let ask = |body: &str| -> Result<String> {
        let answer = http::request("POST", port, "/", &headers, body.as_bytes())?;
        Ok(String::from_utf8(answer.body)?)
    };
    let values = |text: &str, tag: &str| -> Vec<String> {
        let parts = text.split(&format!("<{tag}>")).skip(1);
        parts.filter_map(|part| Some(part.split_once('<')?.0.to_owned())).collect()
    };
    let templates = ask("Version=2016-11-15&Action=DescribeLaunchTemplates")?;
    let mut scripts = BTreeMap::new();
    for name in values(&templates, "launchTemplateName") {
        let versions = ask(&format!(
            "Version=2016-11-15&Action=DescribeLaunchTemplateVersions&LaunchTemplateName={name}&LaunchTemplateVersion.1=%24Latest"
        ))?;
        scripts.insert(name, values(&versions, "userData").concat());
    }
    Ok(scripts)
}

/// Replays a recording and takes the cluster over; what there is then.
fn take_over(world: &World, recording: &Path, key: Key) -> Result<Vec<crate::cloud::Object>> {
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
