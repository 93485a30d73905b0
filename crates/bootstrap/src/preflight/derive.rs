//! From a configuration to what is to be looked at on the host.

use std::net::IpAddr;

use super::questions::{ExpectedFile, ExpectedPort, KernelSetting, Purpose, Questions, RangeQuestion};
use crate::configuration::{ApiBalancer, Configuration, PullPolicy};
use crate::version::Images;

/// Where static pods are declared.
const MANIFESTS: &str = "/etc/kubernetes/manifests";
/// The file that makes the kubelet run.
const KUBELET_FILE: &str = "/var/lib/kubelet/config.yaml";
/// The file of the balancer that listens on the node.
const BALANCER_FILE: &str = "/etc/slipway/api-balancer.json";

/// The free space that a control plane's etcd needs, and any node for images and containers, in MiB.
const SPACE_ETCD: u64 = 1024;
const SPACE_NODE: u64 = 2048;

impl Questions {
    /// The questions of the checks before an init or a join.
    #[must_use]
    pub fn of(configuration: &Configuration, purpose: Purpose) -> Self {
        let mut questions = Self {
            purpose,
            node_name: configuration.node.name.clone(),
            kubernetes_version: Some(format!("v{}", configuration.cluster.kubernetes_version)),
            programs: ["losetup", "mount", "cp"].map(str::to_owned).to_vec(),
            space_mib: vec![("/var/lib/kubelet".to_owned(), SPACE_NODE)],
            ..Self::default()
        };
        let setting = |name: &str| configuration.kubelet.as_ref().and_then(|kubelet| kubelet.get(name));
        let driver = setting("cgroupDriver").and_then(serde_json::Value::as_str);
        questions.cgroup_driver = Some(driver.unwrap_or("systemd").to_owned());
        let fails = setting("failCgroupV1").and_then(serde_json::Value::as_bool);
        questions.cgroup_v1_tolerated = fails.map(|fails| !fails);
        questions.swap_tolerated = setting("failSwapOn").and_then(serde_json::Value::as_bool) == Some(false);
        questions.port(10250, KUBELET_FILE);
        if configuration.cluster.api_balancer.is_some() {
            questions.port(ApiBalancer::PORT, BALANCER_FILE);
        }
        if purpose.is_control_plane() {
            questions.control_plane(configuration);
        } else {
            questions.worker(configuration);
        }
        questions.network(configuration);
        questions
    }

    /// The questions of the checks before a reset.
    #[must_use]
    pub fn of_reset() -> Self {
        Self { purpose: Purpose::Reset, ..Self::default() }
    }

    fn port(&mut self, number: u16, owner: &str) {
        self.ports.push(ExpectedPort { number, owner: owner.to_owned() });
    }

    fn control_plane(&mut self, configuration: &Configuration) {
        let (cluster, node) = (&configuration.cluster, &configuration.node);
        let manifest = |component: &str| format!("{MANIFESTS}/{component}.yaml");
        let mut components = vec!["kube-apiserver", "kube-controller-manager", "kube-scheduler"];
        self.port(node.bind_port, &manifest("kube-apiserver"));
        self.port(10259, &manifest("kube-scheduler"));
        self.port(10257, &manifest("kube-controller-manager"));
        if let Some(local) = cluster.etcd.local() {
            components.push("etcd");
            self.port(2379, &manifest("etcd"));
            self.port(2380, &manifest("etcd"));
            // A volume may have the data of the member that this node continues.
            if node.etcd_member.is_none() {
                self.empty_directories.push(local.data_dir.clone());
            }
            self.space_mib.push((local.data_dir.clone(), SPACE_ETCD));
        }
        self.absent_files = components.iter().map(|name| ExpectedFile { path: manifest(name) }).collect();
        if let Some(external) = cluster.etcd.external() {
            self.external_etcd.clone_from(&external.endpoints);
            for (path, purpose) in [
                (&external.ca_file, "the CA of the external etcd"),
                (&external.cert_file, "the client certificate for the external etcd"),
                (&external.key_file, "the key of the client certificate for the external etcd"),
            ] {
                if !path.is_empty() {
                    self.present_files.push((path.clone(), purpose.to_owned()));
                }
            }
        }
        if node.image_pull_policy != PullPolicy::Never {
            self.images = Images::of(cluster).for_control_plane(cluster);
        }
        self.advertise_address = Some(node.advertise_address);
        self.advertise_address_given = true;
    }

    fn worker(&mut self, configuration: &Configuration) {
        let files = ["/etc/kubernetes/kubelet.conf", "/etc/kubernetes/bootstrap-kubelet.conf"];
        self.absent_files = files.map(|path| ExpectedFile { path: path.to_owned() }).to_vec();
        if let Some(join) = &configuration.join {
            self.absent_files.push(ExpectedFile { path: join.ca_cert_path.clone() });
        }
        self.empty_directories.push(MANIFESTS.to_owned());
    }

    fn network(&mut self, configuration: &Configuration) {
        let networking = &configuration.cluster.networking;
        let endpoint = configuration.server_endpoint();
        if endpoint.host.parse::<IpAddr>().is_err() {
            self.endpoint_name = Some(endpoint.host.clone());
        }
        self.direct.push(endpoint.url());
        let named =
            [("serviceSubnet", networking.service_subnets()), ("podSubnet", networking.pod_subnets())];
        for (purpose, ranges) in named {
            for range in ranges {
                self.direct.push(range.to_string());
                self.ranges.push(RangeQuestion { purpose: purpose.to_owned(), range });
            }
        }
        let six = self.ranges.iter().any(|question| question.range.addr().is_ipv6())
            || configuration.node.advertise_address.is_ipv6();
        let four = self.ranges.iter().any(|question| question.range.addr().is_ipv4());
        let mut setting = |path: &str| {
            self.kernel_settings.push(KernelSetting { path: path.to_owned(), value: "1".to_owned() });
        };
        if four {
            setting("net/ipv4/ip_forward");
        }
        if six {
            setting("net/ipv6/conf/default/forwarding");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{Detected, Etcd, ExternalEtcd};

    fn names(questions: &Questions) -> Vec<String> {
        super::super::check(questions, &super::super::Facts::default()).checks
    }

    #[test]
    fn an_init_is_checked_as_kubeadm_does_and_more() {
        let configuration = Configuration::new(&Detected::default());
        let names = names(&Questions::of(&configuration, Purpose::Init));
        for wanted in [
            "IsPrivilegedUser",
            "NumCPU",
            "Mem",
            "Port-6443",
            "Port-10259",
            "Port-10257",
            "Port-10250",
            "Port-2379",
            "Port-2380",
            "FileAvailable--etc-kubernetes-manifests-kube-apiserver.yaml",
            "FileAvailable--etc-kubernetes-manifests-kube-controller-manager.yaml",
            "FileAvailable--etc-kubernetes-manifests-kube-scheduler.yaml",
            "FileAvailable--etc-kubernetes-manifests-etcd.yaml",
            "Swap",
            "FileExisting-losetup",
            "FileExisting-mount",
            "FileExisting-cp",
            "SystemVerification",
            "Hostname",
            "FileContent--proc-sys-net-ipv4-ip_forward",
            "DirAvailable--var-lib-etcd",
            "DiskSpace--var-lib-etcd",
        ] {
            assert!(names.iter().any(|name| name == wanted), "{wanted} is missing in {names:?}");
        }
    }

    #[test]
    fn an_external_etcd_needs_its_certificates_and_no_directory() {
        let mut configuration = Configuration::new(&Detected::default());
        configuration.cluster.etcd = Etcd::External(ExternalEtcd {
            endpoints: vec!["https://10.0.0.9:2379".to_owned()],
            ca_file: "/etc/etcd/ca.crt".to_owned(),
            cert_file: "/etc/etcd/client.crt".to_owned(),
            key_file: "/etc/etcd/client.key".to_owned(),
        });
        let questions = Questions::of(&configuration, Purpose::Init);
        assert_eq!(questions.external_etcd.len(), 1);
        let names = names(&questions);
        assert!(names.contains(&"ExternalEtcdClientCertificates".to_owned()), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("var-lib-etcd") || name == "Port-2379"), "{names:?}");
    }

    #[test]
    fn a_worker_needs_no_images_and_no_ports_of_a_control_plane() {
        let configuration = Configuration::new(&Detected::default());
        let questions = Questions::of(&configuration, Purpose::JoinWorker);
        let names = names(&questions);
        for wanted in ["FileAvailable--etc-kubernetes-kubelet.conf", "DirAvailable--etc-kubernetes-manifests"]
        {
            assert!(names.iter().any(|name| name == wanted), "{wanted} is missing in {names:?}");
        }
        assert!(questions.images.is_empty());
        assert!(!names.contains(&"Port-6443".to_owned()));
    }
}
