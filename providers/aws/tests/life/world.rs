//! A place in which a test runs the program against a moto of its own, through a proxy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anyhow::{Context as _, Result, anyhow, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};
use slipway_testkit::http;
use slipway_testkit::proxy::Proxy;

use crate::cloud::{Cloud, Object, shape};
use crate::cluster_api::ClusterApi;
use crate::disturbance::{Call, Disturbance};

/// Plans the infrastructure. The machines of this cloud run nothing, so that there is no API and nothing inside the cluster.
pub const PLAN: &[&str] = &["plan", "-f", "spec.yaml", "--infrastructure-only"];
/// Brings the infrastructure to the spec.
pub const APPLY: &[&str] = &["apply", "-f", "spec.yaml", "--yes", "--infrastructure-only"];
/// Deletes a cluster of the specs below. The names confirm the deletion of their etcd.
#[rustfmt::skip]
pub const DELETE: &[&str] = &[
    "delete", "-f", "spec.yaml", "--yes", "--delete-backups", "--confirm", "minimal.example.com", "--confirm",
    "ha.example.com",
];
/// With this in its environment the test is the program.
pub const PROGRAM: &str = "SLIPWAY_TEST_PROGRAM";

/// One zone, one control plane, two workers, all public; the test serves the cluster's API.
pub const PUBLIC: &str = include_str!("specs/public.yaml");
/// One zone, one control plane, one node: a spec of kOps.
pub const MINIMAL: &str = include_str!("specs/kops-minimal.yaml");
/// Three control planes in three zones, behind NAT and a load balancer, with a bastion and three groups of
/// nodes: a spec of kOps.
pub const HIGHLY_AVAILABLE: &str = include_str!("specs/kops-ha.yaml");

const SIGNED: (&str, &str) = (
    "Authorization",
    "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/route53/aws4_request, SignedHeaders=host, Signature=0",
);
const ZONE: &str = "<CreateHostedZoneRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\">\
    <Name>example.com</Name><CallerReference>test</CallerReference></CreateHostedZoneRequest>";

/// The executables under new names, so that a long run is not affected by a build.
pub struct Executables {
    program: PathBuf,
    provider: PathBuf,
}

static EXECUTABLES: OnceLock<Executables> = OnceLock::new();

impl Executables {
    /// Links the executables into a folder beside them, which must exist as long as they run.
    pub fn keep(folder: &Path) -> Result<()> {
        let built = Self { program: folder.join("slipway"), provider: folder.join("slipway-provider-aws") };
        std::fs::hard_link(std::env::current_exe()?, &built.program)?;
        std::fs::hard_link(env!("CARGO_BIN_EXE_slipway-provider-aws"), &built.provider)?;
        EXECUTABLES.set(built).map_err(|_| anyhow!("they have names already"))
    }

    fn of_this_run() -> Result<&'static Self> {
        EXECUTABLES.get().context("they have no names yet")
    }
}

/// The program, its state, its specs, and the cloud behind a proxy.
pub struct World {
    pub cloud: Arc<Cloud>,
    pub disturbance: Arc<Disturbance>,
    /// The objects that existed before.
    pub before: Vec<Object>,
    /// The cluster's API: every running instance is a ready node.
    pub api: ClusterApi,
    _proxy: Proxy,
    place: Place,
    /// The state as it was kept.
    kept: Option<Place>,
}

impl World {
    /// A new one with a moto of its own, in which there is one hosted zone.
    pub fn new() -> Result<Self> {
        Self::on(Arc::new(Cloud::start()?))
    }

    /// A new one with nothing but a hosted zone in a moto that may have been used before.
    pub fn on(cloud: Arc<Cloud>) -> Result<Self> {
        cloud.reset()?;
        let port = cloud.moto().port();
        let answer = http::request("POST", port, "/2013-04-01/hostedzone", &[SIGNED], ZONE.as_bytes())?;
        ensure!(answer.status == 201, "no zone: {}", String::from_utf8_lossy(&answer.body));
        let disturbance = Arc::new(Disturbance::new());
        let judge = Arc::clone(&disturbance);
        let proxy = Proxy::start(port, move |request| judge.judge(request))?;
        let environment = [
            (PROGRAM, "1"),
            ("SLIPWAY_PROVIDER_PATH", "providers"),
            ("AWS_ENDPOINT_URL", &proxy.endpoint()),
            ("AWS_ACCESS_KEY_ID", "testing"),
            ("AWS_SECRET_ACCESS_KEY", "testing"),
            ("AWS_REGION", "us-west-2"),
            ("AWS_EC2_METADATA_DISABLED", "true"),
            ("AWS_CONFIG_FILE", "/dev/null"),
            ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let built = Executables::of_this_run()?;
        let place = Place::new(&built.program)?.with_environment(environment);
        let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("provider.toml");
        let manifest = std::fs::read_to_string(manifest)?
            .replace("../../target/release/slipway-provider-aws-offline", "slipway-provider-aws")
            .replace("../../target/release/", "");
        place.write("providers/aws/provider.toml", &manifest)?;
        let executable = place.path().join("providers/aws/slipway-provider-aws");
        std::os::unix::fs::symlink(&built.provider, executable)?;
        place.expect(0, &["provider", "lock", "aws"])?;
        let before = cloud.objects()?;
        let api = ClusterApi::start(port);
        Ok(Self { cloud, disturbance, before, api, _proxy: proxy, place, kept: None })
    }

    /// The same, but steps check their objects by reads of any age: how many calls a run needs then does not depend on how long
    /// it takes.
    pub fn without_hurry(self) -> Self {
        let age = ("SLIPWAY_TEST_READ_AGE".to_owned(), "86400".to_owned());
        Self { place: self.place.with_environment([age]), ..self }
    }

    /// Keeps the cloud and the state as they are now.
    pub fn keep(&mut self) -> Result<()> {
        self.cloud.keep()?;
        let kept = Place::new(&Executables::of_this_run()?.program)?;
        kept.copy_from(&self.place)?;
        self.kept = Some(kept);
        Ok(())
    }

    /// Makes the cloud and the state as they were kept.
    pub fn restore(&self) -> Result<()> {
        let kept = self.kept.as_ref().context("nothing was kept")?;
        self.cloud.restore()?;
        let state = self.place.state();
        if state.exists() {
            std::fs::remove_dir_all(&state)?;
        }
        self.place.copy_from(kept)
    }

    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Writes the spec.
    pub fn spec(&self, text: &str) -> Result<()> {
        self.place.write("spec.yaml", text).map(drop)
    }

    /// Writes the public spec with some replacements, and the address of the cluster's API.
    pub fn public(&self, edits: &[(&str, &str)]) -> Result<()> {
        let mut text = PUBLIC.replace("CLUSTER_API", &self.api.endpoint());
        for (from, to) in edits {
            ensure!(text.contains(from), "the spec has no {from}");
            text = text.replace(from, to);
        }
        self.spec(&text)
    }

    /// Runs the program and wants an exit code.
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Result<Ended> {
        self.place.expect(code, arguments)
    }

    /// Plans the spec: the changed addresses, each with its change and the attributes that differ.
    pub fn plan(&self) -> Result<BTreeMap<String, String>> {
        let ended = self.place.run(&[PLAN, &["--out", "saved.plan", "-o", "json"]].concat())?;
        ensure!(matches!(ended.code, Some(0 | 2)), "plan ended with {:?}:\n{}", ended.code, ended.err);
        let plan: Json = serde_json::from_str(&ended.out)?;
        let changes = changes_of(&plan)?;
        ensure!(
            changes.is_empty() == (ended.code == Some(0)),
            "the exit code is {:?} for {changes:?}",
            ended.code
        );
        Ok(changes)
    }

    /// Brings the cluster to the spec, by no call that the preflight did not ask for.
    pub fn apply(&self) -> Result<Ended> {
        let ended = self.expect(0, APPLY)?;
        self.disturbance.only_what_was_asked_for()?;
        Ok(ended)
    }

    /// Deletes the cluster; all calls must have been checked in preflight. Its name in the spec confirms the
    /// deletion of its etcd.
    pub fn delete(&self) -> Result<Ended> {
        let text = std::fs::read_to_string(self.place.path().join("spec.yaml"))?;
        let name = cluster_name(&text).context("the spec has no cluster")?;
        let ended =
            self.expect(0, &["delete", "-f", "spec.yaml", "--yes", "--delete-backups", "--confirm", name])?;
        self.disturbance.only_what_was_asked_for()?;
        Ok(ended)
    }

    /// Sees that nothing is left to do.
    pub fn is_settled(&self) -> Result<()> {
        let changes = self.plan()?;
        ensure!(changes.is_empty(), "a plan is left: {changes:#?}");
        Ok(())
    }

    /// The objects beyond those that existed before.
    pub fn shape(&self) -> Result<Vec<String>> {
        shape(&self.before, &self.cloud.objects()?)
    }

    /// Checks that only the objects from before exist.
    pub fn is_empty(&self) -> Result<()> {
        let left: Vec<Object> =
            self.cloud.objects()?.into_iter().filter(|object| !self.before.contains(object)).collect();
        ensure!(left.is_empty(), "left: {left:#?}");
        self.shape().map(drop)
    }

    /// The calls since the last time, except those that read the account; the most frequent ones first.
    pub fn calls(&self) -> (usize, Vec<(usize, Call)>) {
        let calls = self.disturbance.take();
        let mut calls: Vec<(usize, Call)> = calls.into_iter().map(|(call, count)| (count, call)).collect();
        calls.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        (calls.iter().map(|(count, _)| count).sum(), calls)
    }
}

/// The changed addresses, each with its change, the attributes that differ, and the number of machines that
/// are removed.
pub fn changes_of(plan: &Json) -> Result<BTreeMap<String, String>> {
    let list = |value: &Json| value.as_array().cloned().unwrap_or_default();
    let mut paths: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in list(&plan["reasons"]) {
        let address = entry["address"].as_str().context("no address")?;
        let reasons = list(&entry["reasons"]);
        let named = reasons.iter().filter_map(|reason| reason["path"].as_str()).map(str::to_owned);
        paths.entry(address.to_owned()).or_default().extend(named);
    }
    let steps = list(&plan["steps"]);
    let mut changes = BTreeMap::new();
    for change in list(&plan["resource_changes"]) {
        let actions = list(&change["change"]["actions"]);
        let actions: Vec<&str> = actions.iter().filter_map(Json::as_str).collect();
        if actions == ["no-op"] || actions == ["read"] {
            continue;
        }
        let address = change["address"].as_str().context("no address")?;
        let mut text = actions.join("+");
        if actions == ["update"] {
            let of_it = paths.remove(address).unwrap_or_default();
            text = format!("{text} {}", of_it.into_iter().collect::<Vec<_>>().join(" "));
        }
        let is_removal = |step: &&Json| step["address"] == address && step["action"] == "remove";
        match steps.iter().filter(is_removal).count() {
            0 => {}
            machines => text.push_str(&format!(", {machines} machines go")),
        }
        changes.insert(address.to_owned(), text);
    }
    Ok(changes)
}

/// The name of the cluster that a spec describes, whose metadata is in block or in flow form.
fn cluster_name(text: &str) -> Option<&str> {
    let document =
        text.split("\n---").find(|document| document.lines().any(|line| line == "kind: Cluster"))?;
    let (_, metadata) = document.split_once("\nmetadata:")?;
    let (_, name) = metadata.split_once(" name: ")?;
    name.split([' ', '\n', '}']).next().map(|name| name.trim_matches('"'))
}
