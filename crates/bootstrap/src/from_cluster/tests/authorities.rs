//! The stages of the rotation of an authority.

use slipway_resource::Reference;

use super::*;

/// The keys that a file is made of, in their order.
fn of_file(resources: &[Desired], file: &str) -> String {
    let content = find(resources, &format!("file.cp-1/pki/{file}")).attributes.get("content").unwrap();
    let mut names = Vec::new();
    content.for_each_reference(&mut |reference| names.push(reference.address.name().to_owned()));
    names.join(" ")
}

fn attribute(resources: &[Desired], address: &str, name: &str) -> String {
    find(resources, address).attributes.get(name).map(|value| format!("{value:?}")).unwrap_or_default()
}

fn stages(subject: RotatedKey) -> [Vec<Desired>; 4] {
    let rest = Rotation::default();
    let (added, used) = (rest.next(), rest.next().next());
    [rest, added, used, used.next()].map(|stage| rotated(subject, stage))
}

#[test]
fn an_authority_is_accepted_then_used_then_alone() {
    for (subject, file, name, leaf) in [
        (RotatedKey::FrontProxyCa, "front-proxy-ca", "front-proxy-ca", "front-proxy-client"),
        (RotatedKey::EtcdCa, "etcd/ca", "etcd-ca", "etcd-peer"),
        (RotatedKey::KubernetesCa, "ca", "kubernetes-ca", "apiserver"),
    ] {
        let new = format!("{name}-2");
        let stages = stages(subject);
        let certificates = stages.each_ref().map(|stage| of_file(stage, &format!("{file}.crt")));
        assert_eq!(
            certificates,
            [name.to_owned(), format!("{name} {new}"), format!("{new} {name}"), new.clone()]
        );
        let keys = stages.each_ref().map(|stage| kept_by(find(stage, &format!("file.cp-1/pki/{file}.key"))));
        let key = |name: &str| format!("keypair.{name}#private_key_pem");
        assert_eq!(keys, [key(name), key(name), key(&new), key(&new)]);
        let leaf = format!("certificate.cp-1/{leaf}");
        let signers = stages.each_ref().map(|stage| attribute(stage, &leaf, "signed_by").contains(&new));
        assert_eq!(signers, [false, false, true, true]);
        // The state has authorities with names of their own.
        let authority = attribute(&stages[1], &format!("keypair.{new}"), "certificate_authority");
        assert!(authority.contains(&new), "{authority}");
        // The leader is the last one, and every server is awaited after its files.
        let old = if subject == RotatedKey::KubernetesCa { "kubernetes" } else { name };
        for (stage, former) in stages.iter().zip([Some(&*new), None, None, Some(old)]) {
            let trust = format!("authority_trust.cp-0/{}", subject.name());
            let before = stands_on(stage, &trust);
            for machine in ["cp-0", "cp-1", "cp-2"] {
                assert!(before.contains(&format!("file.{machine}/pki/{file}.crt")), "{before:?}");
            }
            let shown = attribute(stage, &trust, "former");
            assert_eq!(
                former.is_some_and(|former| shown.contains(&format!("{former:?}"))),
                former.is_some(),
                "{shown}"
            );
            assert_eq!(shown.contains("String"), former.is_some(), "{shown}");
        }
    }
}

/// A certificate of an adopted cluster is written as it was found, maybe without a line break at its end.
#[test]
fn a_certificate_begins_a_line() {
    let [_, added, ..] = stages(RotatedKey::KubernetesCa);
    let content = find(&added, "file.cp-1/pki/ca.crt").attributes.get("content").unwrap();
    let mut name = |reference: &Reference| Value::from(format!("<{}>", reference.address.name()));
    assert_eq!(content.resolve(&mut name), Value::from("<kubernetes-ca>\n<kubernetes-ca-2>"));
}

#[test]
fn authorities_that_were_never_rotated_leave_no_trace() {
    let resources = expand(&cluster("elected: {}"), &placement(3), &[]).unwrap().resources;
    let all = format!("{resources:?}");
    for part in [
        "authority_trust",
        "signed_by",
        "trusts",
        "keep_authorities",
        "etcd-authorities",
        "api-authorities",
        "serving-authority",
        "cluster-signing.crt",
        "cross_certificate",
        "chain_pem",
        "etcd-snapshots-",
    ] {
        assert!(!all.contains(part), "{part}");
    }
}

#[test]
fn only_what_reads_an_authority_once_is_restarted() {
    let inputs = |resources: &[Desired], pod: &str| {
        let pod = find(resources, &format!("static_pod.cp-1/{pod}"));
        pod.attributes.get("volatile_inputs").map(|inputs| format!("{inputs:?}")).unwrap_or_default()
    };
    for pod in ["etcd", "kube-apiserver"] {
        let [rest, added, used, after] = stages(RotatedKey::EtcdCa).map(|stage| inputs(&stage, pod));
        assert!(rest != added && used != after && after != rest, "{pod} is restarted");
        assert_eq!(added, used, "stage 2 restarts no {pod}");
    }
    for pod in ["kube-controller-manager", "kube-scheduler"] {
        let [rest, added, used, after] = stages(RotatedKey::EtcdCa).map(|stage| inputs(&stage, pod));
        assert!(rest == added && added == used && used == after, "{pod}");
    }
    for pod in ["etcd", "kube-apiserver", "kube-controller-manager"] {
        let [rest, added, used, after] = stages(RotatedKey::FrontProxyCa).map(|stage| inputs(&stage, pod));
        assert!(rest == added && added == used && used == after, "{pod}");
    }
}

#[test]
fn keys_of_snapshots_outlive_the_authority_of_etcd() {
    let names = |stage: &[Desired], machine: &str| -> Vec<String> {
        let prefix = format!("file.{machine}/etcd-snapshots-");
        let addresses = stage.iter().map(|desired| desired.address.to_string());
        addresses.filter(|address| address.starts_with(&prefix)).collect()
    };
    let [rest, added, used, after] = stages(RotatedKey::EtcdCa);
    assert_eq!(names(&rest, "cp-1").len(), 0);
    for stage in [&added, &used, &after] {
        assert_eq!(names(stage, "cp-1").len(), 2);
        let paths = attribute(stage, "etcd_backup.cp-1/etcd", "former_key_paths");
        assert!(paths.contains("/etc/slipway/etcd-snapshots-1.key"), "{paths}");
        let old = find(stage, "file.cp-1/etcd-snapshots-1.key");
        assert_eq!(kept_by(old), "keypair.etcd-ca#private_key_pem");
        find(stage, "keypair.etcd-ca");
    }
    // The key of front proxies seals nothing.
    let after = stages(RotatedKey::FrontProxyCa)[3].clone();
    assert!(after.iter().all(|desired| desired.address.to_string() != "keypair.front-proxy-ca"));
}

#[test]
fn the_authority_of_the_api_reaches_all_that_use_it() {
    let [_, added, used, after] = stages(RotatedKey::KubernetesCa);
    let names = |stage: &[Desired], address: &str, attribute: &str| {
        let mut names = Vec::new();
        if let Some(value) = find(stage, address).attributes.get(attribute) {
            value.for_each_reference(&mut |reference| names.push(reference.address.name().to_owned()));
        }
        names.join(" ")
    };
    let (old, new) = ("kubernetes-ca", "kubernetes-ca-2");
    for address in ["kubeconfig.cp-1/scheduler", "kubelet_credentials.cp-1/kubelet"] {
        for (stage, trusted, signer) in [
            (&added, format!("{old} {new}"), old),
            (&used, format!("{old} {new}"), new),
            (&after, new.to_owned(), new),
        ] {
            assert_eq!(names(stage, address, "trusts"), trusted, "{address}");
            assert_eq!(names(stage, address, "signed_by"), signer, "{address}");
        }
    }
    // The signer takes a file with one certificate.
    for (stage, signer) in [(&added, old), (&used, new), (&after, new)] {
        assert_eq!(of_file(stage, "cluster-signing.crt"), signer);
        let manifest = attribute(stage, "static_pod.cp-1/kube-controller-manager", "manifest");
        assert!(
            manifest.contains("--cluster-signing-cert-file=/etc/kubernetes/pki/cluster-signing.crt"),
            "{manifest}"
        );
        let before = stands_on(stage, "static_pod.cp-1/kube-controller-manager");
        assert!(before.contains("file.cp-1/pki/cluster-signing.crt"), "{before:?}");
    }
    // While the new one signs and both are trusted, clients of the old one accept API servers too.
    for (stage, is_there) in [(&added, false), (&used, true), (&after, false)] {
        let cross =
            stage.iter().any(|desired| desired.address.to_string() == "cross_certificate.kubernetes-ca-2");
        let chain = names(stage, "certificate.cp-1/apiserver", "chain_pem");
        assert_eq!((cross, chain.as_str()), (is_there, if is_there { new } else { "" }));
        assert_eq!(names(stage, "certificate.cp-1/apiserver-kubelet-client", "chain_pem"), "");
    }
    // API servers trust the same authorities in the first two stages.
    let inputs =
        |stage: &[Desired], pod: &str| attribute(stage, &format!("static_pod.cp-1/{pod}"), "volatile_inputs");
    let [first, second, third] = [&added, &used, &after].map(|stage| inputs(stage, "kube-apiserver"));
    assert!(first == second && second != third, "{first} {second} {third}");
    let [first, second, third] =
        [&added, &used, &after].map(|stage| inputs(stage, "kube-controller-manager"));
    assert!(first != second && second != third, "{first} {second} {third}");
    // The files change on one control plane after the other, as the pods that read them. The elected one is the last.
    for stage in [&added, &used, &after] {
        for file in ["ca.crt", "ca.key", "cluster-signing.crt"] {
            let after = ["cp-0", "cp-1", "cp-2"].map(|machine| {
                let file = find(stage, &format!("file.{machine}/pki/{file}"));
                let after = file.lifecycle.update_after.iter().map(ToString::to_string);
                after.collect::<Vec<String>>().join(" ")
            });
            let signer = |machine: &str| format!("static_pod.{machine}/kube-controller-manager");
            assert_eq!(after, [signer("cp-2"), String::new(), signer("cp-1")], "{file}");
        }
    }
    // The leader's certificate is the last one, and pods are restarted when they get the authorities.
    let in_turn = &find(&used, "certificate.cp-0/apiserver").lifecycle.update_after;
    assert!(in_turn.iter().any(|address| address.to_string() == "authority_trust.cp-2/ca"), "{in_turn:?}");
    let proxies = find(&added, "kubernetes_object.DaemonSet/kube-system/kube-proxy");
    assert!(proxies.depends_on.iter().any(|address| address.to_string() == "authority_trust.cp-0/ca"));
    let restarted = |stage: &[Desired]| {
        attribute(stage, "kubernetes_object.DaemonSet/kube-system/kube-proxy", "manifest").contains("\"1 2\"")
    };
    assert_eq!([&added, &used, &after].map(|stage| restarted(stage)), [true, true, false]);
    // A rotation does not write the file that the kubelet uses but for the step of its credentials.
    for stage in [&added, &used, &after] {
        let own = find(stage, "kubeconfig.cp-0/kubelet");
        assert_eq!(own.attributes.get("keep_authorities"), Some(&Value::from(true)));
    }
    let node = attribute(&used, "kubernetes_node.cp-1", "annotations");
    assert!(node.contains("slipway.dev/serving-authority") && node.contains(new), "{node}");
}

/// A kubeconfig that trusts the old authority alone would lose the API in the second stage.
#[test]
fn every_kubeconfig_of_a_control_plane_follows_the_authorities() {
    for endpoint in [
        "elected: {}",
        "virtualIp: { address: 192.0.2.40 }",
        "virtualIp: { address: 192.0.2.40, holder: slipway }",
    ] {
        let mut placed = placement(2);
        placed.rotations.insert(RotatedKey::KubernetesCa, Rotation::default().next());
        let resources = expand(&cluster(endpoint), &placed, &[]).unwrap().resources;
        let has = |desired: &Desired, name: &str| desired.attributes.get(name).is_some();
        let made = resources.iter().filter(|desired| desired.address.kind() == "kubeconfig");
        let made: Vec<&Desired> = made.filter(|desired| has(desired, "ca_key_path")).collect();
        assert!(made.len() >= 3, "{endpoint}");
        for desired in made {
            let of_kubelet = desired.address.name().ends_with("/kubelet");
            let follows = ["trusts", "signed_by"].map(|name| has(desired, name));
            assert_eq!(follows, [!of_kubelet; 2], "{endpoint}: {}", desired.address);
        }
    }
}

/// A cluster with a worker: it has the certificates of the authorities only.
#[test]
fn workers_trust_the_authorities_of_the_stage() {
    let pool = "---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {name: workers}\nspec:\n  \
                role: worker\n  size: { fixed: 1 }\n  hosts: { inventory: rack }\n";
    let mut placed = placement(3);
    let worker = serde_json::json!({ "name": "w-0", "pool": "workers", "address": "192.0.2.20" });
    placed.machines.push(serde_json::from_value(worker).unwrap());
    let of = |placed: &Placement| expand(&with_pool("elected: {}", pool), placed, &[]).unwrap().resources;
    let plain = of(&placed);
    assert_eq!(find(&plain, "file.w-0/ca").attributes.get("keep_existing"), Some(&Value::from(true)));
    placed.rotations.insert(RotatedKey::KubernetesCa, Rotation::default().next().next());
    let used = of(&placed);
    let file = find(&used, "file.w-0/ca");
    let mut names = Vec::new();
    file.attributes.for_each_reference(&mut |reference| names.push(reference.address.name().to_owned()));
    assert_eq!(
        names,
        ["kubernetes-ca-2", "kubernetes-ca", "kubernetes-ca"],
        "the content, and what it replaces"
    );
    assert_eq!(file.attributes.get("keep_existing"), Some(&Value::from(false)));
    let credentials = find(&used, "kubelet_credentials.w-0/kubelet");
    let signer = "static_pod.cp-2/kube-controller-manager";
    assert!(credentials.lifecycle.update_after.iter().any(|address| address.to_string() == signer));
    assert!(credentials.lifecycle.turn.is_some());
    find(&used, "kubernetes_node.w-0");
}
