//! Plans for machines that exist, without entering any: their addresses, and the endpoint of the control plane.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};

use crate::PROGRAM;

/// One host with an address for every rule.
const HOST: &str = "apiVersion: slipway.dev/v1alpha1
kind: Host
metadata: { name: server, labels: { role: control-plane } }
spec:
  inventory: home
  addresses:
    - { type: public, address: 203.0.113.10, interface: eth1 }
    - { type: internal, address: 10.0.0.10, interface: eth0 }
    - { type: internal, address: 10.9.0.10, interface: vlan9 }
  ssh: { hostKeys: [ ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ] }
";

/// The offline plan of the example with one machine, with an endpoint and a rule for addresses.
fn plan(endpoint: &str, rule: &str) -> Result<(Json, String)> {
    let place = Place::new(PROGRAM)?;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs/hosts-single/cluster.yaml");
    let spec = std::fs::read_to_string(example)?
        .replace("elected: {}", endpoint)
        .replace("inventory: home\n", &format!("inventory: home\n    {rule}\n"));
    place.write("spec.yaml", &format!("{spec}---\n{HOST}"))?;
    let run = |form: &str| -> Result<Ended> {
        let mut command = place.command(&["plan", "-f", "spec.yaml", "--offline", "-o", form]);
        Ended::of(command.env("TUNNELS", "[Interface]").output()?)
    };
    let (json, text) = (run("json")?, run("text")?);
    ensure!(json.code == Some(2) && text.code == Some(2), "{}{}", json.err, text.err);
    Ok((serde_json::from_str(&json.out)?, text.out))
}

/// The attributes of a resource after the plan, as text.
fn after(plan: &Json, address: &str) -> Result<String> {
    let changes = plan["resource_changes"].as_array().context("changes")?;
    let change = changes.iter().find(|change| change["address"] == address);
    Ok(change.with_context(|| address.to_owned())?["change"]["after"].to_string())
}

fn has(plan: &Json, part: &str) -> bool {
    let changes = plan["resource_changes"].as_array();
    changes
        .into_iter()
        .flatten()
        .any(|change| change["address"].as_str().is_some_and(|name| name.contains(part)))
}

/// An unreachable host is named at its place in the spec. Each attempt is reported once, although several
/// calls wait for the host at once.
#[test]
fn a_host_that_cannot_be_reached_is_named_at_its_place() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs/hosts-single/cluster.yaml");
    let spec = format!("{}---\n{HOST}", std::fs::read_to_string(example)?);
    place.write("spec.yaml", &spec)?;
    let client = place.write("bin/ssh", "#!/bin/sh\necho 'nobody is there' >&2\nexit 255\n")?;
    std::fs::set_permissions(&client, std::fs::Permissions::from_mode(0o755))?;
    let path = format!("{}:{}", place.path().join("bin").display(), std::env::var("PATH")?);
    let refused = Ended::of(place.command(&["plan", "-f", "spec.yaml"]).env("PATH", path).output()?)?;
    let line = spec.lines().position(|line| line.contains("ssh: {")).context("the line")? + 1;
    for part in ["error[PROVIDER0000]: server (203.0.113.10:22)", &format!("(spec.yaml:{line}:")] {
        ensure!(refused.code == Some(1) && refused.err.contains(part), "no {part}\n{}", refused.err);
    }
    ensure!(refused.err.matches("(spec.yaml:").count() == 1, "{}", refused.err);
    // Each repetition is reported once for both questions that fail for this reason. Two waits may be equal by chance.
    let tried = refused.err.split_once("(tried ").and_then(|(_, rest)| rest.split_once(" times)"));
    let tried: usize = tried.context("how often it was tried")?.0.parse()?;
    let again = refused.err.lines().filter(|line| line.contains("trying again")).count();
    ensure!((1..=tried).contains(&again), "{tried}: {}", refused.err);
    Ok(())
}

#[test]
fn which_address_a_node_has_is_a_rule_of_its_pool() -> Result<()> {
    for (rule, address) in [
        ("", "10.0.0.10"),
        ("address: { type: internal }", "10.0.0.10"),
        ("address: { type: public }", "203.0.113.10"),
        ("address: { interface: vlan9 }", "10.9.0.10"),
        ("address: { interface: eth1 }", "203.0.113.10"),
    ] {
        let (plan, _) = plan("elected: {}", rule)?;
        let pod = after(&plan, "static_pod.server/kube-apiserver")?;
        ensure!(pod.contains(&format!("--advertise-address={address}\\n")), "{rule}: {pod}");
        // Elected is the address that the machine has by the rule.
        let kubeconfig = after(&plan, "kubeconfig.server/kubelet")?;
        ensure!(kubeconfig.contains(&format!("https://{address}:6443")), "{rule}: {kubeconfig}");
        let flags = after(&plan, "file.server/kubelet-flags")?;
        ensure!(flags.contains(&format!("--node-ip={address}")), "{rule}: {flags}");
    }
    Ok(())
}

#[test]
fn an_endpoint_that_the_user_gives_is_the_endpoint_of_all() -> Result<()> {
    let (plan, _) = plan("given: { host: api.example.com, port: 8443 }", "")?;
    // The machine gets no administrator's credentials.
    ensure!(!has(&plan, "/admin") && !has(&plan, "/super-admin"));
    // No machine is elected as the endpoint, so the machine's own address is not used as one.
    for address in [
        "kubernetes_object.ConfigMap/kube-system/kubeadm-config",
        "kubernetes_object.ConfigMap/kube-public/cluster-info",
    ] {
        let object = after(&plan, address)?;
        ensure!(object.contains("api.example.com:8443"), "{address}: {object}");
        ensure!(!object.contains("10.0.0.10:6443"), "{address}: {object}");
    }
    let certificate = after(&plan, "certificate.server/apiserver")?;
    ensure!(certificate.contains("api.example.com") && certificate.contains("10.0.0.10"), "{certificate}");
    ensure!(!has(&plan, "kube-vip"));
    Ok(())
}

#[test]
fn a_virtual_address_is_rendered_and_the_plan_says_what_it_needs() -> Result<()> {
    let bgp = "mode: bgp, bgp: { autonomousSystem: 65010, peers: [ { address: 10.0.0.1, autonomousSystem: 65001 } ] }";
    let wireguard = "mode: wireguard, wireguard: { tunnels: { env: TUNNELS } }";
    for (mode, parts, note) in [
        ("interface: eth0", &["vip_arp", "10.0.0.40"][..], "its image has to be there"),
        (
            bgp,
            &["bgp_as", "65010", "10.0.0.1:65001::false"][..],
            "the routers have to accept the nodes as peers",
        ),
        (wireguard, &[][..], "only when the server at the other end of the tunnels forwards it"),
    ] {
        let (plan, text) = plan(&format!("virtualIp: {{ address: 10.0.0.40, {mode} }}"), "")?;
        // Notes are wrapped.
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let kubeconfig = after(&plan, "kubeconfig.server/admin")?;
        ensure!(kubeconfig.contains("https://10.0.0.40:6443"), "{mode}: {kubeconfig}");
        if parts.is_empty() {
            ensure!(has(&plan, "DaemonSet/kube-system/kube-vip-ds"), "{mode}");
        } else {
            let pod = after(&plan, "static_pod.server/kube-vip")?;
            ensure!(parts.iter().all(|part| pod.contains(part)), "{mode}: {pod}");
        }
        let notes = plan["notes"].to_string();
        for said in ["kube-vip is rendered as its documentation has it", note] {
            ensure!(notes.contains(said), "{mode}: {said} in {notes}");
            ensure!(text.replace("\n", " ").contains(said), "{mode}: {said} in {text}");
        }
    }
    Ok(())
}

#[test]
fn a_virtual_address_without_kube_vip_is_a_service_of_the_control_plane() -> Result<()> {
    let (plan, _) = plan("virtualIp: { address: 10.0.0.40, holder: slipway }", "")?;
    let service = after(&plan, "virtual_address.server/virtual-address")?;
    ensure!(service.contains("10.0.0.40") && service.contains("10.0.0.10"), "{service}");
    let object = after(&plan, "kubernetes_object.ConfigMap/kube-public/cluster-info")?;
    ensure!(object.contains("https://10.0.0.40:6443"), "{object}");
    ensure!(!has(&plan, "kube-vip") && !has(&plan, "kubeconfig.server/admin"), "{plan}");
    ensure!(!plan["notes"].to_string().contains("kube-vip"), "{}", plan["notes"]);
    Ok(())
}

#[test]
fn a_self_hosted_control_plane_keeps_its_manifests() -> Result<()> {
    let (plan, _) = plan("elected: {} }\n    hosting: selfHosted #", "")?;
    for component in ["kube-apiserver", "kube-controller-manager", "kube-scheduler"] {
        let hosted = after(&plan, &format!("self_hosted_pod.server/{component}"))?;
        ensure!(hosted.contains(&format!("/etc/kubernetes/manifests/{component}.yaml")), "{hosted}");
        let pod = after(&plan, &format!("static_pod.server/{component}"))?;
        ensure!(!pod.contains("permit-port-sharing"), "{pod}");
    }
    ensure!(
        has(&plan, "control_plane_recovery.server/control-plane")
            && !has(&plan, "self_hosted_pod.server/etcd")
    );
    Ok(())
}

#[test]
fn everything_that_is_wrong_with_the_hosts_is_told_at_once() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs/hosts-ha/cluster.yaml");
    let spec = std::fs::read_to_string(example)?;
    // One control plane of three, no worker, and a host of an inventory that no pool uses.
    let host = HOST.replace("inventory: home", "inventory: rack");
    let other = HOST.replace("name: server", "name: other").replace("10.0.0.10", "10.0.0.11");
    let other = other.replace("203.0.113.10", "203.0.113.11").replace("10.9.0.10", "10.9.0.11");
    place.write("spec.yaml", &format!("{spec}---\n{host}---\n{other}"))?;
    for verb in [&["plan"][..], &["apply", "--yes"]] {
        let ended = place.expect(1, &[verb, &["-f", "spec.yaml"]].concat())?;
        for said in [
            "the pool `control-plane` asks for 3 hosts, and the inventory `rack` has 1 that fit",
            "the pool `workers` asks for 2 hosts, and the inventory `rack` has 0 that fit",
        ] {
            ensure!(ended.err.contains(said), "{said} in {}", ended.err);
        }
    }
    ensure!(!place.state().exists(), "something was written");
    Ok(())
}

#[test]
fn fields_without_effect_are_refused_together_where_they_are_written() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs/hosts-single/cluster.yaml");
    let spec = std::fs::read_to_string(example)?;
    let line = |spec: &str, text: &str| -> Result<usize> {
        Ok(1 + spec.lines().position(|line| line.contains(text)).context("the line")?)
    };
    let wrong = spec
        .replace(
            "  network:\n",
            "  containerRuntime: { version: 2.1.4 }\n  sysctls: { vm.swappiness: \"0\" }\n  network:\n",
        )
        .replace("  role: controlPlane\n", "  role: controlPlane\n  publicIp: true\n");
    place.write("spec.yaml", &format!("{wrong}---\n{HOST}"))?;
    let refused = place.expect(1, &["plan", "-f", "spec.yaml", "--offline"])?;
    let said = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(said.contains("HOST0001"), "{said}");
    for (field, text) in
        [("containerRuntime", "containerRuntime:"), ("pools[control-plane].publicIp", "publicIp:")]
    {
        let place = format!("spec.yaml:{}:", line(&wrong, text)?);
        ensure!(said.contains(&place) && said.contains(field), "{place} {field} in {said}");
    }
    ensure!(!said.contains("sysctls"), "{said}");
    // Supported fields are in the plan.
    let programs = format!(
        "  containerRuntime: {{ version: 2.1.4 }}\n  assets:\n    programs:\n      mirrors: [ \"https://mirror.example.com\" ]\n      \
         files: [ {{ name: containerd, path: containerd.tgz, sha256: \"{}\" }} ]\n",
        "a".repeat(64)
    );
    let right = spec.replace(
        "  network:\n",
        &format!(
            "  sysctls: {{ vm.swappiness: \"0\" }}\n  nodeFiles: {{ files: [ {{ name: motd, path: /etc/motd, content: hello }} \
             ] }}\n{programs}  network:\n"
        ),
    );
    place.write("spec.yaml", &format!("{right}---\n{HOST}"))?;
    let planned = place.expect(2, &["plan", "-f", "spec.yaml", "--offline", "-o", "json"])?;
    let plan: Json = serde_json::from_str(&planned.out)?;
    ensure!(after(&plan, "sysctl.server/vm.swappiness")?.contains("\"0\""), "{}", planned.out);
    ensure!(after(&plan, "file.server/node-file-motd")?.contains("hello"), "{}", planned.out);
    let containerd = after(&plan, "installed_programs.server/containerd")?;
    ensure!(containerd.contains("\"version\":\"2.1.4\""), "{containerd}");
    ensure!(
        after(&plan, "program.server/containerd-aaaaaaaaaaaa")?.contains("containerd.tgz"),
        "{}",
        planned.out
    );
    Ok(())
}

/// A spec with all defaults sets every field that has no effect on hosts, each to what it is without it.
#[test]
fn a_spec_with_all_defaults_plans_the_same() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs/hosts-ha").display().to_string();
    let planned = |spec: &str| -> Result<String> {
        let out = place.expect(2, &["plan", "-f", spec, "--offline"])?.out;
        Ok(out.lines().find(|line| line.starts_with("Plan: ")).context("the sum")?.to_owned())
    };
    place.write("full.yaml", &place.expect(0, &["spec", "show", "--full", "-f", &example])?.out)?;
    place.write("written.yaml", &place.expect(0, &["spec", "show", "-f", &example])?.out)?;
    let expected = planned(&example)?;
    for spec in ["full.yaml", "written.yaml"] {
        let found = planned(spec)?;
        ensure!(found == expected, "{spec}: {found} is not {expected}");
    }
    Ok(())
}
