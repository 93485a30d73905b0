//! The stages of the rotation of an authority.

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

fn stages(subject: Subject) -> [Vec<Desired>; 4] {
    let rest = Rotation::default();
    let (added, used) = (rest.next(), rest.next().next());
    [rest, added, used, used.next()].map(|stage| rotated(subject, stage))
}

#[test]
fn an_authority_is_accepted_then_used_then_alone() {
    for (subject, file, name, leaf) in [
        (Subject::FrontProxyCa, "front-proxy-ca", "front-proxy-ca", "front-proxy-client"),
        (Subject::EtcdCa, "etcd/ca", "etcd-ca", "etcd-peer"),
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
        for (stage, former) in stages.iter().zip([Some(&*new), None, None, Some(name)]) {
            let trust = format!("authority_trust.cp-0/{}", subject.name());
            let before = stands_on(stage, &trust);
            for machine in ["cp-0", "cp-1", "cp-2"] {
                assert!(before.contains(&format!("file.{machine}/pki/{file}.crt")), "{before:?}");
            }
            let shown = attribute(stage, &trust, "former");
            assert_eq!(shown.contains("-ca"), former.is_some(), "{shown}");
        }
    }
}

#[test]
fn authorities_that_were_never_rotated_leave_no_trace() {
    let resources = expand(&cluster("elected: {}"), &placement(3), &[]).unwrap().resources;
    let all = format!("{resources:?}");
    for part in ["authority_trust", "signed_by", "etcd-authorities", "etcd-snapshots-"] {
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
        let [rest, added, used, after] = stages(Subject::EtcdCa).map(|stage| inputs(&stage, pod));
        assert!(rest != added && used != after && after != rest, "{pod} is restarted");
        assert_eq!(added, used, "stage 2 restarts no {pod}");
    }
    for pod in ["kube-controller-manager", "kube-scheduler"] {
        let [rest, added, used, after] = stages(Subject::EtcdCa).map(|stage| inputs(&stage, pod));
        assert!(rest == added && added == used && used == after, "{pod}");
    }
    for pod in ["etcd", "kube-apiserver", "kube-controller-manager"] {
        let [rest, added, used, after] = stages(Subject::FrontProxyCa).map(|stage| inputs(&stage, pod));
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
    let [rest, added, used, after] = stages(Subject::EtcdCa);
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
    let after = stages(Subject::FrontProxyCa)[3].clone();
    assert!(after.iter().all(|desired| desired.address.to_string() != "keypair.front-proxy-ca"));
}
