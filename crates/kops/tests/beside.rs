//! Documents of other kinds in a file of kOps documents, ranges that only the cloud can tell, and what is left open.

use slipway_kops::KopsReader;
use slipway_spec::{
    diagnostic::Severity,
    load::{Loaded, load_files},
    model::Endpoint,
    source::SourceFile,
};

const CLUSTER: &str = "
apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata: { name: production.example.com }
spec:
  cloudProvider: aws
  configBase: s3://store/production.example.com
  etcdClusters:
  - name: main
    etcdMembers: [{ name: a, instanceGroup: masters }]
  kubernetesApiAccess: [0.0.0.0/0]
  kubernetesVersion: v1.34.0
  networkCIDR: 172.20.0.0/16
  networking: { cilium: {} }
  nonMasqueradeCIDR: '::/0'
  subnets:
  - { name: a, type: Private, zone: eu-west-1a, ipv6CIDR: /64#1 }
  - { name: utility-a, type: Utility, zone: eu-west-1a, cidr: 172.20.0.0/22, ipv6CIDR: /64#0 }
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: { name: masters, labels: { kops.k8s.io/cluster: production.example.com } }
spec: { role: Master, machineType: m5.large, minSize: 1, maxSize: 1, subnets: [a] }
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: { name: nodes, labels: { kops.k8s.io/cluster: production.example.com } }
spec: { role: Node, machineType: m5.large, minSize: 1, maxSize: 1, subnets: [a] }
";

const SCHEDULER: &str = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: { qps: 3 }
";

fn load(files: &[&str]) -> Loaded {
    let named = |(index, text): (usize, &&str)| SourceFile::new(format!("{index}.yaml"), (*text).to_owned());
    load_files(files.iter().enumerate().map(named).collect(), &[&KopsReader::default()])
}

fn said(loaded: &Loaded, severity: Severity) -> Vec<String> {
    let all = loaded.diagnostics.iter();
    all.filter(|found| found.severity == severity)
        .map(|found| format!("{} {}", found.code.id, found.message))
        .collect()
}

#[test]
fn a_subnet_that_does_not_exist_is_named_beside_ranges_of_the_cloud() {
    let found = said(&load(&[&CLUSTER.replacen("subnets: [a] }", "subnets: [z] }", 1)]), Severity::Error);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("lives in the subnet `z`, which does not exist"), "{found:#?}");
}

#[test]
fn an_object_beside_a_cluster_is_reported_and_not_refused() {
    let loaded = load(&[&format!("{CLUSTER}---{SCHEDULER}")]);
    assert_eq!(said(&loaded, Severity::Error), Vec::<String>::new());
    let lost =
        "KOPS0003 the KubeSchedulerConfiguration without a name beside the cluster is not installed in it";
    assert!(said(&loaded, Severity::Warning).contains(&lost.to_owned()), "{:?}", loaded.diagnostics);
    assert_eq!(loaded.clusters.len(), 1);
}

#[test]
fn elsewhere_and_misspelt_it_stays_an_error() {
    let unknown = "SPEC0010 unknown apiVersion `kubescheduler.config.k8s.io/v1`";
    assert_eq!(said(&load(&[CLUSTER, SCHEDULER]), Severity::Error), [unknown]);
    let misspelt = CLUSTER.replacen(
        "kops.k8s.io/v1alpha2\nkind: InstanceGroup",
        "kops.k8s.io/v1alpha22\nkind: InstanceGroup",
        1,
    );
    assert!(!said(&load(&[&misspelt]), Severity::Error).is_empty());
}

#[test]
fn a_part_of_the_networks_range_is_a_range() {
    let loaded = load(&[CLUSTER]);
    assert_eq!(said(&loaded, Severity::Error), Vec::<String>::new());
    let config = &loaded.clusters[0].provider.config;
    assert_eq!(config["kops"]["subnets"][0]["ipv6CIDR"], "/64#1");
}

#[test]
fn what_is_left_open_is_as_kops_has_it_and_said() {
    let open = CLUSTER
        .replace("  kubernetesApiAccess: [0.0.0.0/0]\n", "")
        .replace("role: Node, machineType: m5.large,", "role: Node,");
    let loaded = load(&[&open]);
    assert_eq!(said(&loaded, Severity::Error), Vec::<String>::new());
    let nodes = loaded.clusters[0].pool("nodes").unwrap();
    assert_eq!(nodes.machine_type.as_deref(), Some("t3.medium"));
    assert!(loaded.clusters[0].control_plane.access.is_empty());
    let notes = said(&loaded, Severity::Note);
    for note in [
        "KOPS0004 the instance group nodes names no machineType; t3.medium is assumed",
        "KOPS0004 spec.kubernetesApiAccess is empty: the API is reached from inside of the cluster only",
    ] {
        assert!(notes.contains(&note.to_owned()), "{notes:?}");
    }
}

#[test]
fn a_load_balancer_is_as_kops_makes_it() {
    let balanced = "spec:\n  topology: { dns: { type: None } }\n  api:\n    loadBalancer:\n      class: Network\n      type: Public\n      crossZoneLoadBalancing: false\n      sslCertificate: arn:aws:acm:eu-west-1:111122223333:certificate/1\n  cloudProvider";
    let loaded = load(&[&CLUSTER.replacen("spec:\n  cloudProvider", balanced, 1)]);
    assert_eq!(said(&loaded, Severity::Error), Vec::<String>::new());
    let Endpoint::LoadBalancer(balancer) = &loaded.clusters[0].control_plane.endpoint else {
        panic!("no load balancer");
    };
    assert!(balancer.cross_zone);
    assert_eq!(balancer.tls_policy.as_deref(), Some("ELBSecurityPolicy-2016-08"));
    let overruled = "KOPS0002 spec.api.loadBalancer.crossZoneLoadBalancing has no effect: without DNS requests go to all zones";
    assert!(
        said(&loaded, Severity::Note).contains(&overruled.to_owned()),
        "{:?}",
        said(&loaded, Severity::Note)
    );
}

#[test]
fn documents_of_the_first_releases_are_read() {
    let loaded = load(&[&CLUSTER.replace("kops.k8s.io/v1alpha2", "kops/v1alpha2")]);
    assert_eq!(said(&loaded, Severity::Error), Vec::<String>::new());
    assert_eq!(loaded.clusters[0].pools.len(), 2);
}

#[test]
fn machines_that_are_only_described_are_no_mistake() {
    let described =
        "manager: Karpenter, mixedInstancesPolicy: { instanceRequirements: { cpu: { min: '2' } } }";
    let loaded =
        load(&[&CLUSTER.replace("role: Node, machineType: m5.large,", &format!("role: Node, {described},"))]);
    assert_eq!(said(&loaded, Severity::Error), Vec::<String>::new());
    let nodes = loaded.clusters[0].pool("nodes").unwrap();
    assert_eq!(nodes.mixed_instances.as_ref().unwrap().machine_types, ["t3.medium"]);
    let kept = &nodes.provider_config["kops"]["mixedInstancesPolicy"]["instanceRequirements"];
    assert_eq!(kept["cpu"]["min"], "2");
}

#[test]
fn every_part_that_cloud_init_knows_is_read() {
    let parts =
        |kind: &str| format!("role: Node, additionalUserData: [{{ name: a, type: {kind}, content: x }}],");
    for kind in [
        "text/x-shellscript",
        "text/cloud-config",
        "text/cloud-boothook",
        "text/cloud-config-archive",
        "text/x-include-url",
        "text/x-include-once-url",
        "text/jinja2",
        "text/part-handler",
    ] {
        let loaded = load(&[&CLUSTER.replace("role: Node,", &parts(kind))]);
        assert_eq!(said(&loaded, Severity::Error), Vec::<String>::new(), "{kind}");
        assert_eq!(loaded.clusters[0].pool("nodes").unwrap().user_data.len(), 1);
    }
    let other = said(&load(&[&CLUSTER.replace("role: Node,", &parts("text/html"))]), Severity::Error);
    assert_eq!(other, ["SPEC0006 spec.additionalUserData[a].type is \"text/html\""]);
}

#[test]
fn a_disk_that_no_volume_stands_for_is_said_not_to_be_mounted() {
    let mount = "role: Node, volumeMounts: [{ device: /dev/nvme1n1, path: /data, filesystem: ext4 }],";
    let loaded = load(&[&CLUSTER.replace("role: Node,", mount)]);
    assert_eq!(said(&loaded, Severity::Error), Vec::<String>::new());
    let lost = "KOPS0003 nothing is mounted from \"/dev/nvme1n1\": no volume has this device";
    assert!(said(&loaded, Severity::Warning).contains(&lost.to_owned()));
}

#[test]
fn what_a_group_s_warm_pool_leaves_open_is_as_the_cluster_s() {
    let text = CLUSTER
        .replacen(
            "spec:\n",
            "spec:\n  warmPool: { minSize: 2, maxSize: 5, enableLifecycleHook: true, lifecycleHookTimeout: 900 }\n",
            1,
        )
        .replace("role: Node,", "role: Node, warmPool: { minSize: 1 },");
    let loaded = load(&[&text]);
    assert_eq!(said(&loaded, Severity::Error), Vec::<String>::new());
    let nodes = loaded.clusters[0].pool("nodes").unwrap();
    let pool = nodes.warm_pool.as_ref().unwrap();
    assert_eq!((pool.min_size, pool.max_size, pool.lifecycle_hook), (1, Some(5), true));
    assert_eq!(nodes.provider_config["kops"]["warmPool"]["lifecycleHookTimeout"], 900);
}
