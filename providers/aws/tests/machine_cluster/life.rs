//! From nothing to a control plane that answers behind its load balancer and a worker that joins it, and back to nothing.

use std::collections::BTreeSet;
use std::path::Path;
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

/// The name of the program.
pub const PROGRAM: &str = "slipway";
/// The name of the provider's program.
const PROVIDER: &str = "slipway-provider-aws";
/// The name under which the API of the cluster is found.
const ENDPOINT: &str = "https://api.lab.example.com";
/// The operator is outside of the network, and does not reach the API.
const APPLY: [&str; 5] = ["apply", "-f", "spec.yaml", "--yes", "--infrastructure-only"];
/// The settings of the program on the image of the machines. The emulator has no TLS.
const SETTINGS: &str = "[state]\nallow-http = true\n";
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
    let lab = Lab::start(MachineOptions {
        files: vec![
            file("/root/.config/slipway/config.toml", SETTINGS),
            file("/root/.config/slipway/age-identity.txt", &format!("{identity}\n")),
        ],
        ..MachineOptions::default()
    })?;
    let mirror = Mirror::new(&program)?;
    let _server = lab.network().serve(mirror.folder.path())?;
    let place = operator(&lab, &program, &identity, &mirror)?;

    place.expect(0, &APPLY)?;
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

    // What the worker was given is gone, and nobody gets it again for another key.
    worker.shell("! ls /var/lib/slipway/boot/node-client.* /etc/kubernetes/bootstrap-kubelet.conf")?;
    // The endpoint comes back with its provider.
    machine.shell("pkill -x slipway-provide")?;
    refused(worker, joined["node"].as_str().unwrap_or_default())?;

    // Neither user data nor console nor status says a secret.
    let places = ["/etc/slipway/bootstrap.json", "/var/lib/slipway/boot", "/var/log", "/etc/systemd/system"];
    for secret in ["PRIVATE KEY", identity.as_str()] {
        for machine in &machines {
            let found = machine.run(["grep", "-rl", "--", secret].into_iter().chain(places))?;
            ensure!(found.code == Some(1), "{}{}", found.out, found.err);
        }
    }

    place.expect(0, &["plan", "-f", "spec.yaml"])?;
    place.expect(
        0,
        &["delete", "-f", "spec.yaml", "--yes", "--delete-backups", "--confirm", "lab.example.com"],
    )?;
    running.iter().try_for_each(|id| lab.until_off(id))?;
    ensure!(lab.running()?.is_empty(), "an instance is left");
    Ok(())
}

/// A folder for mirrors, with the programs, and with other bytes below `other`.
struct Mirror {
    folder: tempfile::TempDir,
    /// The SHA-256 of the program.
    program: String,
    /// That of the provider.
    provider: String,
}

impl Mirror {
    fn new(program: &Path) -> Result<Self> {
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
    let reason = format!("got the credential of the node {node} for another key before");
    ensure!(said.contains("NODE0024") && said.contains(&reason), "{said}");
    let script = "systemctl start slipway-boot; for second in $(seq 60); do \
                  [ -e /var/lib/slipway/boot/node-client.key ] || exit 0; sleep 1; done; exit 1";
    worker.shell(script).context("the key of the machine stays")?;
    Ok(())
}

/// Where the operator works: the program, the provider, a state in a bucket, and a hosted zone.
fn operator(lab: &Lab, program: &Path, identity: &str, mirror: &Mirror) -> Result<Place> {
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
    let place = Place::new(program)?.with_environment(lab.moto().environment()).with_environment(own);
    place.write("identity.txt", &format!("{identity}\n"))?;
    let spec = include_str!("spec.yaml")
        .replace("KUBERNETES", kubernetes::VERSION)
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
fn booted(machine: &LabInstance) -> Result<Json> {
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
