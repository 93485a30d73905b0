//! Each component of a cluster has an identity of its own, with the rights that a reviewed file lists.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use slipway_testkit::Said;

use crate::lab::Lab;

/// The reviewed rights.
const REVIEWED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../fixtures/identities/hosts.txt");

/// Everybody who has proved who they are.
const ANYBODY: (&str, &str) = ("somebody", "system:authenticated");

/// The components, each with its user and its further group.
const IDENTITIES: [(&str, &str, &str); 7] = [
    ("kubelet", "system:node:server", "system:nodes"),
    ("scheduler", "system:kube-scheduler", ""),
    ("controller manager", "system:kube-controller-manager", ""),
    ("CoreDNS", "system:serviceaccount:kube-system:coredns", "system:serviceaccounts:kube-system"),
    ("kube-proxy", "system:serviceaccount:kube-system:kube-proxy", "system:serviceaccounts:kube-system"),
    ("flannel", "system:serviceaccount:kube-flannel:flannel", "system:serviceaccounts:kube-flannel"),
    ("a machine that joins", "system:bootstrap:abcdef", "system:bootstrappers:kubeadm:default-node-token"),
];

/// Asks for the rights of each identity, and compares them with the file. `UPDATE_FIXTURES=1` writes the file.
pub(crate) fn have_the_reviewed_rights(lab: &Lab) {
    let everybody = rights(lab, ANYBODY.0, ANYBODY.1);
    let mut found = String::new();
    let mut list = |name: &str, user: &str, lines: &BTreeSet<String>| {
        let _ = writeln!(found, "# {name}: {user}");
        for line in lines {
            let _ = writeln!(found, "{line}");
        }
    };
    list("every user", ANYBODY.1, &everybody);
    for (name, user, group) in IDENTITIES {
        let own = rights(lab, user, group).difference(&everybody).cloned().collect();
        list(name, user, &own);
    }
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        fs::create_dir_all(Path::new(REVIEWED).parent().unwrap()).unwrap();
        fs::write(REVIEWED, &found).unwrap();
    }
    let reviewed = fs::read_to_string(REVIEWED).unwrap();
    assert!(reviewed == found, "fixtures/identities/hosts.txt lists other rights than\n{found}");
}

/// The rights of a user in `kube-system` and cluster-wide, one on a line.
fn rights(lab: &Lab, user: &str, group: &str) -> BTreeSet<String> {
    let administrator = lab.administrator();
    let mut words = vec!["auth", "can-i", "--list", "--no-headers", "-n", "kube-system", "--as", user];
    words.extend(["--as-group", ANYBODY.1]);
    if !group.is_empty() && group != ANYBODY.1 {
        words.extend(["--as-group", group]);
    }
    let said = Said::by(&mut lab.hosts().kubectl(&administrator, &words).unwrap()).unwrap();
    let said = said.wanted(0, "kubectl auth can-i --list").unwrap();
    said.out
        .lines()
        .map(|line| sorted_lists(&line.split_whitespace().collect::<Vec<_>>().join(" ")))
        .collect()
}

/// A line with the words of each list in order: the API server lists them as it found them in a map.
fn sorted_lists(line: &str) -> String {
    let list = |list: &str| {
        let mut words: Vec<&str> = list.split(' ').collect();
        words.sort_unstable();
        words.join(" ")
    };
    let parts = line.split('[').map(|part| match part.split_once(']') {
        Some((words, rest)) => format!("{}]{rest}", list(words)),
        None => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("[")
}
