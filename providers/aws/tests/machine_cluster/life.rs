//! From nothing to a healthy cluster, by the commands of an operator, and back to nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::Place;
use slipway_resource::Digest;
use slipway_secrets::age;
use slipway_testkit::lab::LabInstance;
use slipway_testkit::machine::Stripped;
use slipway_testkit::wait::until_within;
use slipway_testkit::{Lab, MachineOptions, Said, http, kubernetes};

use crate::{control_plane, settings};

/// The name of the program.
pub const PROGRAM: &str = "slipway";
/// The name of the provider's program.
const PROVIDER: &str = "slipway-provider-aws";
/// The name under which the API of the cluster is found.
pub const ENDPOINT: &str = "https://api.lab.example.com";
/// The settings of the program, for the operator and on the image of the machines. The emulator has no TLS.
pub const SETTINGS: &str = "[state]\nallow-http = true\n";
const SIGNED: (&str, &str) = (
    "Authorization",
    "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/route53/aws4_request, SignedHeaders=host, Signature=0",
);
const ZONE: &str = "<CreateHostedZoneRequest xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\">\
    <Name>example.com</Name><CallerReference>test</CallerReference></CreateHostedZoneRequest>";

pub fn a_cluster_boots_by_its_user_data() -> Result<()> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let program = folder.path().join(PROGRAM);
    std::fs::hard_link(std::env::current_exe()?, &program)?;
    let identity = age::Identity::generate()?.to_secret_text().to_string();
    let file = |path: &str, text: &str| (path.to_owned(), text.as_bytes().to_vec());
    // The image has no identity that opens the keys in the state: the control plane does so with KMS.
    let lab = Lab::start(MachineOptions {
        files: vec![file("/root/.config/slipway/config.toml", SETTINGS)],
        ..MachineOptions::default()
    })?;
    let mirror = Mirror::new(&program)?;
    let _server = lab.network().serve(mirror.folder.path())?;
    let operator = Operator::new(&lab, &program, &identity, &mirror)?;

    let applied = operator.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    let waits = format!("waiting until {ENDPOINT}:443 answers");
    ensure!(applied.err.contains(&waits), "{}{}", applied.out, applied.err);
    let running = lab.running()?;
    ensure!(running.len() == 2, "{running:?}");
    let machines: Vec<LabInstance> = running.iter().map(|id| lab.instance(id)).collect::<Result<_>>()?;
    let booted: Vec<(&LabInstance, Json)> =
        machines.iter().map(|machine| Ok((machine, booted(machine)?))).collect::<Result<_>>().with_context(
            || {
                let log =
                    |machine: &LabInstance| machine.run(["journalctl", "-u", "slipway-identity", "-n", "40"]);
                machines.iter().filter_map(|machine| Some(log(machine).ok()?.out)).collect::<String>()
            },
        )?;
    let of_pool =
        |pool: &str| booted.iter().find(|(_, status)| status["pool"] == pool).context("no such machine");
    let (machine, status) = of_pool("control-plane")?;
    let fetched = machine.check(["sha256sum", "/usr/local/bin/slipway"])?;
    ensure!(fetched.starts_with(&mirror.program), "{fetched}");
    let left = machine.check(["find", "/usr/local/bin", "-name", ".slipway*"])?;
    ensure!(left.is_empty(), "{left}");
    ensure!(status["cluster"] == "lab.example.com", "{status}");

    // The API answers behind the load balancer, by its name, with a certificate of the authority in the state.
    let authority = folder.path().join("ca.crt");
    std::fs::write(&authority, machine.check(["cat", "/etc/kubernetes/pki/ca.crt"])?)?;
    let authority = authority.display().to_string();
    let ready = ["curl", "-sS", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}", "--cacert", &authority];
    let url = format!("{ENDPOINT}/readyz");
    let answer = Said::by(&mut lab.network().command(ready.into_iter().chain([url.as_str()])))?;
    // An anonymous caller is not let in: the API itself has answered.
    let answer = answer.wanted(0, "a request through the load balancer")?.out;
    ensure!(answer == "200" || answer == "401", "{answer}");
    let kubectl = ["kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "--server", ENDPOINT];
    let ready = machine.check(kubectl.into_iter().chain(["get", "--raw", "/readyz"]))?;
    ensure!(ready == "ok", "{ready}");
    let kubectl = |words: &[&str]| machine.check(kubectl.into_iter().chain(words.iter().copied()));
    let (worker, joined) = of_pool("nodes")?;
    let name = |status: &Json| format!("node/{}", status["node"].as_str().unwrap_or_default());
    let nodes = kubectl(&["get", "nodes", "-o", "name"])?;
    let found: BTreeSet<&str> = nodes.lines().collect();
    ensure!(found == BTreeSet::from([name(status).as_str(), name(joined).as_str()]), "{nodes}");
    let gold = kubectl(&["get", "nodes", "-l", "tier=gold", "-o", "name"])?;
    ensure!(gold.trim() == name(joined), "{gold}");

    // Nodes are ready and have the values of the cloud controller; the pods of the add-ons run on them.
    let health = operator.expect(0, &["validate", "lab.example.com", "--wait", "2m"])?.out;
    for node in [name(status), name(joined)] {
        let node = node.trim_start_matches("node/");
        ensure!(health.lines().any(|line| line.contains(node) && line.contains("ready")), "{health}");
    }
    ensure!(health.contains("lab.example.com is healthy."), "{health}");
    let ids = kubectl(&["get", "nodes", "-o", "jsonpath={.items[*].spec.providerID}"])?;
    ensure!(running.iter().all(|id| ids.contains(&format!("aws:///us-east-1a/{id}"))), "{ids}");
    let zones = kubectl(&["get", "nodes", "-l", "topology.kubernetes.io/zone=us-east-1a", "-o", "name"])?;
    ensure!(zones == nodes, "{zones}");
    let kubeconfig = operator.expect(0, &["kubeconfig", "lab.example.com"])?.out;
    let own = format!(
        "cat > /tmp/own.conf <<'END'\n{kubeconfig}\nEND\nkubectl --kubeconfig /tmp/own.conf get nodes -o name"
    );
    let seen = machine.shell(&own)?;
    ensure!(seen == nodes, "{seen}");

    // The worker's credential files are removed, and the endpoint does not issue another credential for
    // another key.
    worker.shell("! ls /var/lib/slipway/boot/node-client.* /etc/kubernetes/bootstrap-kubelet.conf")?;
    // The endpoint works again after a restart of its provider.
    machine.shell("pkill -x slipway-provide")?;
    refused(worker, joined["node"].as_str().unwrap_or_default())?;

    // Neither user data nor console nor status contains a secret.
    let places = ["/etc/slipway/bootstrap.json", "/var/lib/slipway/boot", "/var/log", "/etc/systemd/system"];
    for secret in ["PRIVATE KEY", identity.as_str()] {
        for machine in &machines {
            let found = machine.run(["grep", "-rl", "--", secret].into_iter().chain(places))?;
            ensure!(found.code == Some(1), "{}{}", found.out, found.err);
        }
    }

    operator.expect(0, &["plan", "-f", "spec.yaml"])?;
    silent(&operator, (worker, joined), &kubectl)?;
    settings::reach_running_machines(&operator, [(*machine, status), (*worker, joined)], &kubectl)?;
    let left = rolls(&operator, joined["node"].as_str().unwrap_or_default(), &kubectl)?;
    let silver = kubectl(&["get", "nodes", "-l", "tier=silver", "-o", "name"])?;
    ensure!(silver.lines().count() == 1 && silver.trim() != name(joined), "{silver}");
    ensure!(!lab.running()?.contains(&left), "{left} still runs");
    control_plane::the_only_one_is_replaced(&operator, &lab, machine)?;

    operator.expect(
        0,
        &["delete", "-f", "spec.yaml", "--yes", "--delete-backups", "--confirm", "lab.example.com"],
    )?;
    ensure!(lab.running()?.is_empty(), "an instance is left");
    let keys: Vec<String> = kms(&lab, "ListKeys", &serde_json::json!({}))?["Keys"]
        .as_array()
        .context("no list of keys")?
        .iter()
        .filter_map(|key| key["KeyId"].as_str().map(str::to_owned))
        .collect();
    let mut own = 0;
    for key in &keys {
        let described = kms(&lab, "DescribeKey", &serde_json::json!({ "KeyId": key }))?;
        let metadata = &described["KeyMetadata"];
        // The cloud itself has made the key of disks that name none.
        if metadata["Description"].as_str().is_some_and(|text| text.starts_with("Default master key")) {
            continue;
        }
        ensure!(metadata["KeyState"] == "PendingDeletion", "{described}");
        own += 1;
    }
    ensure!(own == 1, "{keys:?}");
    Ok(())
}

/// The answer of KMS to a call.
fn kms(lab: &Lab, action: &str, body: &Json) -> Result<Json> {
    let target = format!("TrentService.{action}");
    let signed = SIGNED.1.replace("route53", "kms");
    let headers = [
        (SIGNED.0, signed.as_str()),
        ("X-Amz-Target", target.as_str()),
        ("Content-Type", "application/x-amz-json-1.1"),
    ];
    let answer = http::request("POST", lab.moto().port(), "/", &headers, body.to_string().as_bytes())?;
    Ok(serde_json::from_slice(&answer.body)?)
}

/// A machine that is no node is reported with its last message. Its kubelet registers it again when it is
/// started.
fn silent(
    operator: &Operator<'_>,
    (worker, status): (&LabInstance, &Json),
    kubectl: &dyn Fn(&[&str]) -> Result<String>,
) -> Result<()> {
    let node = status["node"].as_str().unwrap_or_default();
    kubectl(&["delete", "node", node])?;
    let health = operator.expect(1, &["validate", "lab.example.com"])?.out;
    for part in ["launched", "0 of at least 1 worker machines are nodes", "CONSOLE of i-"] {
        ensure!(health.contains(part), "no {part}: {health}");
    }
    ensure!(health.contains(&format!("this machine is the node {node} of lab.example.com")), "{health}");
    worker.check(["systemctl", "restart", "kubelet"])?;
    operator.expect(0, &["validate", "lab.example.com", "--wait", "2m"]).map(drop)
}

/// Changes the type of machines, so that the worker is replaced: its node is drained through the API of the cluster. Returns the instance that
/// left.
fn rolls(operator: &Operator<'_>, node: &str, kubectl: &dyn Fn(&[&str]) -> Result<String>) -> Result<String> {
    operator.edit("role: worker\n  machineType: t3.medium", "role: worker\n  machineType: t3.large")?;
    let planned: Json =
        serde_json::from_str(&operator.expect(2, &["plan", "-f", "spec.yaml", "-o", "json"])?.out)?;
    let steps = planned["steps"].as_array().context("no steps")?;
    let of = |action: &str| {
        let step = steps.iter().find(|step| step["action"] == action);
        step.with_context(|| format!("no {action}: {steps:#?}"))
    };
    for action in ["cordon", "drain"] {
        ensure!(of(action)?["address"] == format!("kubernetes_node.{node}"), "{:#}", of(action)?);
    }
    let verified = of("verify")?["address"].as_str().unwrap_or_default();
    ensure!(verified.starts_with("kubernetes_node.nodes"), "{verified}");
    let left = of("remove")?["arguments"]["member"].as_str().context("no member")?.to_owned();
    operator.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    // The cloud controller removes a node whose kubelet is silent and whose instance is gone.
    until_within(Duration::from_secs(180), "the node of the instance is gone", || {
        Ok((!kubectl(&["get", "nodes", "-o", "name"])?.contains(node)).then_some(()))
    })?;
    operator.expect(0, &["validate", "lab.example.com", "--wait", "2m"])?;
    operator.expect(0, &["plan", "-f", "spec.yaml"])?;
    Ok(left)
}

/// A folder for mirrors, with the programs, and with other bytes below `other`.
pub struct Mirror {
    pub folder: tempfile::TempDir,
    /// The SHA-256 of the program.
    program: String,
    /// That of the provider.
    provider: String,
}

impl Mirror {
    pub fn new(program: &Path) -> Result<Self> {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        std::fs::create_dir(folder.path().join("other"))?;
        std::fs::write(folder.path().join("other").join(PROGRAM), "another program")?;
        let put = |name: &str, program: &Path| -> Result<String> {
            let copy = Stripped::of(program)?;
            let bytes = std::fs::read(copy.path())?;
            std::fs::write(folder.path().join(name), &bytes)?;
            Ok(Digest::of_bytes(&bytes).hex().to_owned())
        };
        let program = put(PROGRAM, program)?;
        let provider = put(PROVIDER, Path::new(env!("CARGO_BIN_EXE_slipway-provider-aws")))?;
        Ok(Self { folder, program, provider })
    }
}

/// Asks again for the credential of a node with another key, as a pod could that reaches the credentials of the machine.
fn refused(worker: &LabInstance, node: &str) -> Result<()> {
    let script = "systemctl stop slipway-boot; rm -rf /tmp/again; mkdir /tmp/again; \
                  mv /etc/kubernetes/kubelet.conf /tmp/again/; \
                  timeout 15 systemctl start slipway-boot; sleep 5; systemctl stop slipway-boot; \
                  mv /tmp/again/kubelet.conf /etc/kubernetes/; journalctl -u slipway-boot -n 60 --no-pager";
    let said = worker.shell(script)?;
    let reason = format!("the cluster has a node {node}, and it is ready");
    ensure!(said.contains("NODE0024") && said.contains(&reason), "{said}");
    let script = "systemctl start slipway-boot; for second in $(seq 60); do \
                  [ -e /var/lib/slipway/boot/node-client.key ] || exit 0; sleep 1; done; exit 1";
    worker.shell(script).context("the key of the machine stays")?;
    Ok(())
}

/// The operator: a machine in the network with the program, the provider, and a state in a bucket.
pub struct Operator<'a> {
    lab: &'a Lab,
    place: Place,
}

impl Operator<'_> {
    /// Replaces a text of the spec by another.
    pub fn edit(&self, from: &str, to: &str) -> Result<()> {
        let path = self.place.path().join("spec.yaml");
        let spec = std::fs::read_to_string(&path)?;
        ensure!(spec.contains(from), "the spec has no {from:?}");
        Ok(std::fs::write(&path, spec.replace(from, to))?)
    }

    /// Runs the program in the network, and wants an exit code.
    pub fn expect(&self, code: i32, arguments: &[&str]) -> Result<Said> {
        let own = self.place.command(arguments);
        let words = std::iter::once(own.get_program()).chain(own.get_args());
        let mut command = self.lab.network().command_in(self.place.path(), words);
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let said = Said::by(command.stdin(Stdio::null()))?;
        said.wanted(code, &format!("slipway {}", arguments.join(" ")))
    }
}

impl<'a> Operator<'a> {
    pub fn new(lab: &'a Lab, program: &Path, identity: &str, mirror: &Mirror) -> Result<Self> {
        Ok(Self { lab, place: place(lab, program, identity, mirror)? })
    }
}

/// Where the operator works. There is a hosted zone.
fn place(lab: &Lab, program: &Path, identity: &str, mirror: &Mirror) -> Result<Place> {
    lab.moto().create_bucket("states")?;
    let port = lab.moto().port();
    let answer = http::request("POST", port, "/2013-04-01/hostedzone", &[SIGNED], ZONE.as_bytes())?;
    ensure!(answer.status == 201, "no zone: {}", String::from_utf8_lossy(&answer.body));
    let own = [
        ("SLIPWAY_PROVIDER_PATH", "providers"),
        ("SLIPWAY_STATE", "s3://states/all"),
        ("SLIPWAY_AGE_IDENTITY_FILE", "identity.txt"),
        ("AWS_CONFIG_FILE", "/dev/null"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/dev/null"),
    ];
    let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let place = Place::new(program)?.with_environment(lab.environment()).with_environment(own);
    let trust = format!("{SETTINGS}[trust]\nendpoints = [\"{}\"]\n", lab.endpoint());
    place.write("config/slipway/config.toml", &trust)?;
    place.write("identity.txt", &format!("{identity}\n"))?;
    let spec = include_str!("spec.yaml")
        .replace("KUBERNETES", kubernetes::VERSION)
        .replace("COREDNS", &format!("v{}", kubernetes::COREDNS_VERSION))
        .replace("ENDPOINT", &lab.endpoint())
        .replace("MIRROR", &lab.network().address())
        .replace("PROVIDER", &mirror.provider)
        .replace("SHA256", &mirror.program);
    place.write("spec.yaml", &spec)?;
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("provider.toml");
    let manifest = std::fs::read_to_string(manifest)?
        .replace("../../target/release/slipway-provider-aws-offline", "slipway-provider-aws")
        .replace("../../target/release/", "");
    place.write("providers/aws/provider.toml", &manifest)?;
    let executable = place.path().join("providers/aws/slipway-provider-aws");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_slipway-provider-aws"), executable)?;
    place.expect(0, &["provider", "lock", "aws"])?;
    Ok(place)
}

/// Waits until a machine is a node; gives its status.
pub fn booted(machine: &LabInstance) -> Result<Json> {
    let mut last = String::new();
    let done = until_within(Duration::from_secs(300), "the machine is a node", || {
        last = machine.run(["cat", "/var/lib/slipway/boot/status.json"])?.out;
        let Ok(status) = serde_json::from_str::<Json>(&last) else { return Ok(None) };
        ensure!(status["phase"] != "refused", "the boot is refused");
        Ok((status["phase"] == "done").then_some(status))
    });
    done.with_context(|| {
        let log = machine.run(["journalctl", "-u", "slipway-boot", "-n", "80"]);
        let log = log.map(|said| said.out + &said.err).unwrap_or_default();
        let cloud = machine.run(["journalctl", "-u", "cloud-final", "-n", "40"]);
        let cloud = cloud.map(|said| said.out + &said.err).unwrap_or_default();
        format!("{last}\n{log}\n{cloud}")
    })
}
