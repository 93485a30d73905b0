//! Every check stays silent on a good host, and speaks on the one thing that is wrong with a bad one.

use std::collections::BTreeMap;

use super::*;

fn questions() -> Questions {
    let manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml";
    Questions {
        purpose: Purpose::Init,
        node_name: "cp-0".into(),
        kubernetes_version: Some("v1.34.4".into()),
        kubelet_version: None,
        absent_files: vec![ExpectedFile { path: manifest.into() }],
        empty_directories: vec!["/var/lib/etcd".into()],
        present_files: Vec::new(),
        ports: vec![ExpectedPort { number: 6443, owner: manifest.into() }],
        programs: vec!["mount".into()],
        kernel_settings: vec![KernelSetting { path: "net/ipv4/ip_forward".into(), value: "1".into() }],
        images: vec!["registry.k8s.io/pause:3.10.1".into()],
        cri_socket: None,
        cgroup_driver: Some("systemd".into()),
        cgroup_v1_tolerated: None,
        swap_tolerated: false,
        endpoint_name: Some("api.example.test".into()),
        advertise_address: Some([10, 0, 0, 1].into()),
        advertise_address_given: true,
        ranges: vec![
            RangeQuestion { purpose: "serviceSubnet".into(), range: "10.96.0.0/12".parse().unwrap() },
            RangeQuestion { purpose: "podSubnet".into(), range: "10.244.0.0/16".parse().unwrap() },
        ],
        direct: vec!["https://10.0.0.1:6443".into(), "10.96.0.0/12".into()],
        space_mib: vec![("/var/lib/kubelet".into(), 1024)],
        external_etcd: vec!["https://10.0.0.9:2379".into()],
    }
}

fn good() -> Facts {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Facts {
        user_id: 0,
        processors: 2,
        memory_mib: 2048,
        operating_system: "Linux".into(),
        kernel: "6.1.0-18-amd64".into(),
        kernel_options: None,
        cgroups: Cgroups { version: 2, controllers: set(&["cpu", "cpuset", "memory", "pids", "io"]) },
        systemd: Some(true),
        swap: Vec::new(),
        machine_id: Some("7c0a".into()),
        hostname: "cp-0".into(),
        addresses: vec![InterfaceAddress {
            interface: "eth0".into(),
            address: [10, 0, 0, 1].into(),
            prefix: 24,
            mtu: 1500,
        }],
        programs: BTreeMap::from([("mount".into(), Some("/bin/mount".into()))]),
        paths: BTreeMap::from([
            ("/etc/kubernetes/manifests/kube-apiserver.yaml".into(), PathState::Absent),
            ("/var/lib/etcd".into(), PathState::EmptyDirectory),
        ]),
        etcd_data: BTreeMap::new(),
        owned: BTreeSet::new(),
        ports: BTreeMap::from([(6443, PortState::Free)]),
        kernel_settings: BTreeMap::from([
            ("net/ipv4/ip_forward".into(), Some("1".into())),
            ("net/bridge/bridge-nf-call-iptables".into(), Some("1".into())),
        ]),
        services: BTreeMap::from([(
            "kubelet".into(),
            ServiceState { exists: true, enabled: true, active: false },
        )]),
        runtime: Some(Ok(Runtime {
            version: "containerd 2.1.0".into(),
            cgroup_driver: Some("systemd".into()),
            images: set(&["registry.k8s.io/pause:3.10.1"]),
            ..Runtime::default()
        })),
        kubelet: Some(Ok("v1.34.4".into())),
        names: BTreeMap::from([
            ("api.example.test".into(), Ok(vec![[10, 0, 0, 1].into()])),
            ("cp-0".into(), Ok(vec![[10, 0, 0, 1].into()])),
        ]),
        free_mib: BTreeMap::from([("/var/lib/kubelet".into(), 9000)]),
        clock_synchronised: Some(true),
        clock_ahead_seconds: Some(0),
        proxies: BTreeMap::new(),
        etcd: BTreeMap::from([("https://10.0.0.9:2379".into(), Ok("3.6.5".into()))]),
    }
}

/// Each line: the check, how bad it is, and what is wrong with the host.
type Bad = (&'static str, Severity, fn(&mut Facts));

const BAD: &[Bad] = &[
    ("IsPrivilegedUser", Severity::Error, |facts| facts.user_id = 1000),
    ("NumCPU", Severity::Error, |facts| facts.processors = 1),
    ("Mem", Severity::Error, |facts| facts.memory_mib = 1699),
    ("Swap", Severity::Warning, |facts| facts.swap = vec!["/dev/sda2".into()]),
    ("FileExisting-mount", Severity::Error, |facts| {
        facts.programs.insert("mount".into(), None);
    }),
    ("SystemVerification", Severity::Error, |facts| facts.operating_system = "FreeBSD".into()),
    ("SystemVerification", Severity::Error, |facts| facts.kernel = "4.19.0".into()),
    ("SystemVerification", Severity::Error, |facts| facts.kernel = "5.12.1".into()),
    ("SystemVerification", Severity::Error, |facts| facts.kernel_options = Some(BTreeSet::new())),
    ("SystemVerification", Severity::Error, |facts| {
        facts.cgroups.controllers.remove("memory");
    }),
    ("CgroupVersion", Severity::Warning, |facts| {
        let names = ["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory"];
        facts.cgroups = Cgroups { version: 1, controllers: names.map(str::to_owned).into() };
    }),
    ("CgroupDriver", Severity::Error, |facts| facts.systemd = Some(false)),
    ("Hostname", Severity::Warning, |facts| {
        facts.names.insert("cp-0".into(), Err("no such host".into()));
    }),
    ("MachineId", Severity::Warning, |facts| facts.machine_id = Some(String::new())),
    ("ClockSynchronised", Severity::Warning, |facts| facts.clock_synchronised = Some(false)),
    ("ClockSkew", Severity::Error, |facts| facts.clock_ahead_seconds = Some(-31)),
    ("Port-6443", Severity::Error, |facts| {
        facts.ports.insert(6443, PortState::Taken(Some("nginx".into())));
    }),
    ("FileAvailable--etc-kubernetes-manifests-kube-apiserver.yaml", Severity::Error, |facts| {
        facts.paths.insert("/etc/kubernetes/manifests/kube-apiserver.yaml".into(), PathState::File);
    }),
    ("DirAvailable--var-lib-etcd", Severity::Error, |facts| {
        facts.paths.insert("/var/lib/etcd".into(), PathState::Directory);
    }),
    ("DiskSpace--var-lib-kubelet", Severity::Warning, |facts| {
        facts.free_mib.insert("/var/lib/kubelet".into(), 1023);
    }),
    ("Firewalld", Severity::Warning, |facts| {
        let active = ServiceState { exists: true, enabled: true, active: true };
        facts.services.insert("firewalld".into(), active);
    }),
    ("CRI", Severity::Error, |facts| facts.runtime = Some(Err("no such file".into()))),
    ("CRI", Severity::Error, |facts| {
        if let Some(Ok(runtime)) = &mut facts.runtime {
            runtime.not_ready = vec!["RuntimeReady is false".into()];
        }
    }),
    ("CgroupDriver", Severity::Error, |facts| {
        if let Some(Ok(runtime)) = &mut facts.runtime {
            runtime.cgroup_driver = Some("cgroupfs".into());
        }
    }),
    ("ImagePull", Severity::Error, |facts| {
        if let Some(Ok(runtime)) = &mut facts.runtime {
            runtime.images.clear();
        }
    }),
    ("KubeletVersion", Severity::Error, |facts| facts.kubelet = Some(Ok("v1.30.9".into()))),
    ("KubeletVersion", Severity::Error, |facts| facts.kubelet = Some(Ok("v1.35.0".into()))),
    ("KubeletVersion", Severity::Error, |facts| facts.kubelet = Some(Err("no such program".into()))),
    ("Service-Kubelet", Severity::Warning, |facts| {
        facts.services.insert("kubelet".into(), ServiceState::default());
    }),
    ("FileContent--proc-sys-net-ipv4-ip_forward", Severity::Error, |facts| {
        facts.kernel_settings.insert("net/ipv4/ip_forward".into(), Some("0".into()));
    }),
    ("BridgeNetfilter", Severity::Warning, |facts| {
        facts.kernel_settings.insert("net/bridge/bridge-nf-call-iptables".into(), None);
    }),
    ("EndpointName", Severity::Error, |facts| {
        facts.names.insert("api.example.test".into(), Err("no such host".into()));
    }),
    ("AdvertiseAddress", Severity::Error, |facts| {
        facts.addresses.iter_mut().for_each(|found| found.address = [10, 0, 0, 2].into());
    }),
    ("Mtu", Severity::Warning, |facts| facts.addresses.iter_mut().for_each(|found| found.mtu = 1280)),
    ("NetworkRanges", Severity::Error, |facts| {
        let address = InterfaceAddress {
            interface: "eth1".into(),
            address: [10, 244, 0, 9].into(),
            prefix: 24,
            mtu: 1500,
        };
        facts.addresses.push(address);
    }),
    ("HTTPProxy", Severity::Warning, |facts| {
        facts.proxies.insert("HTTPS_PROXY".into(), "http://proxy.example.test:3128".into());
        facts.proxies.insert("NO_PROXY".into(), "10.96.0.0/12".into());
    }),
    ("HTTPProxyCIDR", Severity::Warning, |facts| {
        facts.proxies.insert("https_proxy".into(), "http://proxy.example.test:3128".into());
        facts.proxies.insert("no_proxy".into(), "10.0.0.0/24".into());
    }),
    ("ExternalEtcdVersion", Severity::Error, |facts| {
        facts.etcd.insert("https://10.0.0.9:2379".into(), Ok("3.5.23".into()));
    }),
];

#[test]
fn a_good_host_has_no_findings() {
    let report = check(&questions(), &good());
    assert_eq!(report.findings, [], "{report:#?}");
    assert!(report.is_clear());
}

#[test]
fn every_check_finds_the_one_thing_that_is_wrong() {
    for (name, severity, spoil) in BAD {
        let mut facts = good();
        spoil(&mut facts);
        let report = check(&questions(), &facts);
        let found: Vec<(&str, Severity)> =
            report.findings.iter().map(|finding| (finding.check.as_str(), finding.severity)).collect();
        assert_eq!(found, [(*name, *severity)], "{report:#?}");
        assert!(
            report.findings.iter().all(|finding| !finding.message.is_empty() && !finding.hint.is_empty())
        );
    }
}

#[test]
fn every_check_has_a_host_that_fails_it() {
    let spoken: BTreeSet<&str> = BAD.iter().map(|(name, _, _)| *name).collect();
    let silent: Vec<String> = check(&questions(), &good())
        .checks
        .into_iter()
        .filter(|name| !spoken.contains(name.as_str()) && name != "NodeName")
        .collect();
    assert_eq!(silent, Vec::<String>::new());
    let report = check(&Questions { node_name: "Node_1".into(), ..questions() }, &good());
    assert_eq!(report.errors().map(|finding| finding.check.as_str()).collect::<Vec<_>>(), ["NodeName"]);
}

#[test]
fn all_failures_are_reported_at_once_and_errors_come_first() {
    let mut facts = Facts::default();
    facts.swap.push("/dev/sda2".into());
    let report = check(&questions(), &facts);
    assert!(report.errors().count() > 4, "{report:#?}");
    let severities: Vec<Severity> = report.findings.iter().map(|finding| finding.severity).collect();
    assert!(severities.is_sorted());
}

#[test]
fn what_an_earlier_run_made_is_expected() {
    let mut facts = good();
    let manifest = "/etc/kubernetes/manifests/kube-apiserver.yaml";
    facts.ports.insert(6443, PortState::Taken(Some("kube-apiserver".into())));
    facts.paths.insert(manifest.into(), PathState::File);
    assert_eq!(check(&questions(), &facts).errors().count(), 2);
    facts.owned.insert(manifest.into());
    assert!(check(&questions(), &facts).is_clear());
}

#[test]
fn named_errors_become_warnings() {
    let mut facts = good();
    (facts.processors, facts.memory_mib) = (1, 1);
    let mut report = check(&questions(), &facts);
    let unknown = report.ignore(&["numcpu".to_owned(), "NoSuchCheck".to_owned()]);
    assert_eq!(unknown, ["NoSuchCheck"]);
    assert_eq!(report.errors().map(|finding| finding.check.as_str()).collect::<Vec<_>>(), ["Mem"]);
    assert_eq!(report.ignore(&["all".to_owned()]), Vec::<String>::new());
    assert!(report.is_clear());
    assert!(report.findings.iter().all(|finding| finding.ignored));
}

#[test]
fn a_reset_needs_root_alone() {
    let report = check(&Questions { purpose: Purpose::Reset, ..questions() }, &Facts::default());
    assert!(report.checks.iter().all(|name| {
        name == "IsPrivilegedUser"
            || name.starts_with("Port")
            || name.starts_with("FileA")
            || name.starts_with("Di")
    }));
    let empty = Questions { purpose: Purpose::Reset, ..Questions::default() };
    assert_eq!(check(&empty, &Facts::default()).checks, ["IsPrivilegedUser"]);
}

#[test]
fn a_kubelet_that_ends_at_once_on_its_control_groups_is_an_error() {
    let names = ["cpu", "cpuacct", "cpuset", "devices", "freezer", "memory"];
    let cgroups = Cgroups { version: 1, controllers: names.map(str::to_owned).into() };
    for (kubelet, tolerated, severity) in [
        ("v1.34.4", None, Severity::Warning),
        ("v1.34.4", Some(false), Severity::Error),
        ("v1.35.0", None, Severity::Error),
        ("v1.35.0", Some(true), Severity::Warning),
    ] {
        let facts = Facts { cgroups: cgroups.clone(), kubelet: Some(Ok(kubelet.to_owned())), ..good() };
        let questions = Questions {
            cgroup_v1_tolerated: tolerated,
            kubernetes_version: Some(kubelet.to_owned()),
            ..questions()
        };
        let report = check(&questions, &facts);
        let found = report.findings.iter().find(|finding| finding.check == "CgroupVersion").unwrap();
        assert_eq!(found.severity, severity, "{kubelet} {tolerated:?}");
    }
    // A runtime that groups by files tells its kubelet to do the same.
    let by_files = Runtime { cgroup_driver: Some("cgroupfs".to_owned()), ..Runtime::default() };
    let facts = Facts { systemd: Some(false), runtime: Some(Ok(by_files)), ..good() };
    let questions =
        Questions { cgroup_driver: Some("cgroupfs".to_owned()), images: Vec::new(), ..questions() };
    assert!(check(&questions, &facts).is_clear(), "{:?}", check(&questions, &facts));
}

#[test]
fn the_hint_on_cgroup_drivers_names_the_field_of_the_spec() {
    let mut facts = good();
    facts.systemd = Some(false);
    let report = check(&questions(), &facts);
    let finding = report.findings.iter().find(|finding| finding.check == "CgroupDriver").unwrap();
    let field = "`spec.kubelet.extraConfig.cgroupDriver: cgroupfs` of the Cluster";
    assert!(finding.hint.contains(field), "{}", finding.hint);
}
