//! Commands that need no cluster: documents, requests for an external CA, an image's files, checks, and dry
//! runs.

use anyhow::{Result, ensure};
use slipway_testkit::kubeadm::Kubeadm;
use slipway_testkit::network::Network;

use crate::place::{CONFIG, CRI, files, machine, node};

/// Where a node's files are.
const PLACES: [&str; 3] = ["/etc/kubernetes", "/var/lib/kubelet", "/var/lib/slipway"];

#[test]
#[ignore = "needs root and namespaces"]
fn documents_requests_images_checks_and_dry_runs() -> Result<()> {
    let network = Network::new()?;
    let machine = machine(&network, "n1")?;
    machine.write(CONFIG, "600", Kubeadm::configuration(&machine))?;

    // Documents that we write are kubeadm's, and what it lists we list.
    for which in ["init-defaults", "join-defaults", "reset-defaults", "upgrade-defaults"] {
        let printed = node(&machine, 0, &["config", "print", which])?;
        machine.write("/root/printed.yaml", "600", printed.out)?;
        machine.check(["kubeadm", "config", "validate", "--config", "/root/printed.yaml"])?;
    }
    let old = "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\nkubernetesVersion: v1.34.4\n\
               apiServer: {extraArgs: {v: \"3\"}}\n";
    machine.write("/root/old.yaml", "600", old)?;
    node(
        &machine,
        0,
        &["config", "migrate", "--old-config", "/root/old.yaml", "--new-config", "/root/new.yaml"],
    )?;
    machine.check(["kubeadm", "config", "validate", "--config", "/root/new.yaml"])?;
    let new = String::from_utf8(machine.read("/root/new.yaml")?)?;
    ensure!(new.contains("kubeadm.k8s.io/v1beta4") && new.contains("name: v\n"), "{new}");
    node(&machine, 0, &["config", "validate", "--config", CONFIG])?;
    machine.write("/root/bad.yaml", "600", old.replace("extraArgs", "extraArg"))?;
    let bad = node(&machine, 1, &["config", "validate", "--config", "/root/bad.yaml"])?;
    ensure!(bad.err.contains("extraArgs"), "{}", bad.err);
    let ours = node(&machine, 0, &["config", "images", "list", "--config", CONFIG])?;
    let theirs = machine.check(["kubeadm", "config", "images", "list", "--config", CONFIG])?;
    ensure!(ours.out.trim() == theirs.trim(), "{}\n{theirs}", ours.out);

    // Requests for a CA elsewhere are those of kubeadm, and what it signs is taken as it is.
    let folders = ["--cert-dir", "/root/requests", "--kubeconfig-dir", "/root/requests", "--config", CONFIG];
    let ours: Vec<&str> = ["certs", "generate-csr"].into_iter().chain(folders).collect();
    node(&machine, 0, &ours)?;
    let theirs = "sed 's#^kind: ClusterConfiguration#&\\ncertificatesDir: /root/theirs#' /root/kubeadm.yaml > /root/theirs.yaml && \
                  kubeadm certs generate-csr --cert-dir /root/theirs --kubeconfig-dir /root/theirs --config /root/theirs.yaml";
    machine.check(["sh", "-c", theirs])?;
    let subjects = "for request in $(find . -name '*.csr' | sort); do openssl req -in $request -noout -subject -text | \
                    grep -E 'subject=|DNS:|IP Address' | tr -d ' ' | sed \"s#^#$request #\"; done";
    let of = |folder: &str| machine.check(["sh", "-c", &format!("cd {folder} && {subjects}")]);
    let (ours, theirs) = (of("/root/requests")?, of("/root/theirs")?);
    ensure!(ours == theirs && ours.contains("./apiserver.csr"), "{ours}\n---\n{theirs}");

    // An image gets files, and nothing is started or written elsewhere.
    let image = ["--rootfs", "/root/image", "--config", CONFIG];
    let nowhere = node(&machine, 1, &["phase", "init", "certs", "all", "--rootfs", "/root/image"])?;
    ensure!(nowhere.err.contains("/root/image"), "{}", nowhere.err);
    machine.check(["mkdir", "/root/image"])?;
    for phase in [["certs", "all"], ["kubeconfig", "all"], ["control-plane", "all"]] {
        let words: Vec<&str> = ["phase", "init"].into_iter().chain(phase).chain(image).collect();
        node(&machine, 0, &words)?;
        node(&machine, 0, &words)?;
    }
    ensure!(files(&machine, &PLACES)?.is_empty(), "{:?}", files(&machine, &PLACES)?);
    let made = files(&machine, &["/root/image/etc/kubernetes"])?;
    for file in ["pki/apiserver.crt", "admin.conf", "manifests/kube-apiserver.yaml"] {
        ensure!(made.contains(&format!("/root/image/etc/kubernetes/{file}")), "{file} is not in {made:?}");
    }
    let report = node(&machine, 0, &["certs", "check-expiration", "--rootfs", "/root/image", "-o", "json"])?;
    let elsewhere = ["certs", "check-expiration", "--cert-dir", "/root/image/etc/kubernetes/pki"];
    let elsewhere =
        elsewhere.into_iter().chain(["--kubeconfig-dir", "/root/image/etc/kubernetes", "-o", "json"]);
    ensure!(report.out.contains("apiserver"), "{}", report.out);
    let named = |report: &str| {
        report.lines().filter(|line| !line.contains("residual")).collect::<Vec<_>>().join("\n")
    };
    ensure!(named(&report.out) == named(&node(&machine, 0, &elsewhere.collect::<Vec<_>>())?.out));
    node(&machine, 0, &["certs", "generate-csr", "--rootfs", "/root/image", "--config", CONFIG])?;
    machine.check([
        "ls",
        "/root/image/etc/kubernetes/pki/apiserver.csr",
        "/root/image/etc/kubernetes/admin.conf.csr",
    ])?;
    // A kubeconfig that has its certificate stays as it was.
    machine.check(["grep", "-q", "client-certificate-data", "/root/image/etc/kubernetes/admin.conf"])?;
    let pods = machine.check(["ctr", "-n", "k8s.io", "containers", "ls", "-q"])?;
    ensure!(pods.trim().is_empty(), "{pods}");

    // Obstacles are reported all at once, as text and as JSON, and may be ignored by name.
    machine.check(["mkdir", "-p", "/etc/kubernetes/manifests"])?;
    machine.write("/etc/kubernetes/manifests/etcd.yaml", "600", "somebody's")?;
    let name = "FileAvailable--etc-kubernetes-manifests-etcd.yaml";
    let preflight = ["phase", "init", "preflight", "--config", CONFIG];
    let refused = node(&machine, 1, &preflight)?;
    ensure!(refused.err.contains("NODE0002") && refused.err.contains(name), "{}", refused.err);
    let words: Vec<&str> = preflight.into_iter().chain(["-o", "json"]).collect();
    let report = node(&machine, 1, &words)?;
    let report: serde_json::Value = serde_json::from_str(&report.out)?;
    ensure!(report["findings"].to_string().contains(name), "{report}");
    let words: Vec<&str> = preflight.into_iter().chain(["--ignore-preflight-errors", name]).collect();
    let ignored = node(&machine, 0, &words)?;
    ensure!(ignored.err.contains("(ignored)"), "{}", ignored.err);
    machine.check(["rm", "-r", "/etc/kubernetes"])?;

    // A dry run is a plan: it shows all and writes nothing.
    let init = node(&machine, 2, &["init", "--config", CONFIG, "--dry-run"])?;
    for wanted in ["static_pod", "apiserver-etcd-client", "kubernetes_object"] {
        ensure!(init.out.contains(wanted), "{wanted} is not in {}", init.out);
    }
    let json = node(&machine, 2, &["init", "--config", CONFIG, "--dry-run", "-o", "json"])?;
    let plan: serde_json::Value = serde_json::from_str(&json.out)?;
    ensure!(plan["resource_changes"].as_array().is_some_and(|changes| changes.len() > 40), "{}", json.out);
    ensure!(files(&machine, &PLACES)?.is_empty(), "{:?}", files(&machine, &PLACES)?);
    let join = format!(
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\nnodeRegistration: {{criSocket: \"{CRI}\"}}\n\
         discovery: {{bootstrapToken: {{token: abcdef.0123456789abcdef, apiServerEndpoint: \"{}:6443\", \
         unsafeSkipCAVerification: true}}}}\ntimeouts: {{discovery: 2s}}\n",
        machine.address()
    );
    machine.write("/root/join.yaml", "600", join)?;
    let unreachable = node(&machine, 1, &["join", "--config", "/root/join.yaml", "--dry-run"])?;
    ensure!(unreachable.err.contains("NODE0014"), "{}", unreachable.err);
    ensure!(files(&machine, &PLACES)?.is_empty(), "{:?}", files(&machine, &PLACES)?);
    Ok(())
}
