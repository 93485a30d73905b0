//! Manifests of add-ons, by what a spec says.

use std::collections::BTreeMap;

use serde_json::Value;
use slipway_cluster_input::ClusterInput;
use slipway_kops::KopsReader;
use slipway_spec::load::load_files;
use slipway_spec::source::SourceFile;

use crate::{Addons, Facts, NodeGroup, address_name, install};

const SPEC: &str = "
apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata: { name: a.example.org }
spec:
  api: { dns: {} }
  cloudProvider: aws
  etcdClusters:
  - { name: main, etcdMembers: [{ name: a, instanceGroup: control }] }
  - { name: events, etcdMembers: [{ name: a, instanceGroup: control }] }
  kubernetesVersion: 1.34.0
  networkCIDR: 10.0.0.0/16
  networking: { cni: {} }
  subnets: [{ name: a, zone: eu-west-1a, type: Public, cidr: 10.0.0.0/19 }]
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: { name: control, labels: { kops.k8s.io/cluster: a.example.org } }
spec: { role: Master, machineType: m6i.large, image: ami-0aa, minSize: 1, maxSize: 1, subnets: [a] }
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata: { name: nodes, labels: { kops.k8s.io/cluster: a.example.org } }
spec: { role: Node, machineType: m6i.large, image: ami-0aa, minSize: 1, maxSize: 3, subnets: [a] }
";

/// The cluster with further lines in its `spec`.
fn cluster(lines: &str) -> ClusterInput {
    let text = SPEC.replacen("spec:\n", &format!("spec:\n{lines}"), 1);
    let loaded = load_files(vec![SourceFile::new("a.yaml", text)], &[&KopsReader::default()]);
    assert_eq!(loaded.clusters.len(), 1, "{:?}", loaded.diagnostics);
    ClusterInput::from(&loaded.clusters[0])
}

fn facts() -> Facts {
    let group = |name: &str, priority| NodeGroup { name: name.to_owned(), minimum: 1, maximum: 3, priority };
    Facts {
        region: "eu-west-1".to_owned(),
        roles: None,
        termination_queue: Some("https://sqs.example.org/1/a-nth".to_owned()),
        node_groups: vec![group("nodes.a.example.org", None), group("spare.a.example.org", Some(5))],
        storage_classes: true,
    }
}

/// The objects of all add-ons by their names.
fn objects(addons: &Addons) -> BTreeMap<String, Value> {
    let objects = addons.installed.iter().flat_map(|addon| &addon.objects);
    let named: BTreeMap<String, Value> =
        objects.clone().map(|object| (address_name(object), object.clone())).collect();
    assert_eq!(named.len(), objects.count(), "two objects have one name");
    named
}

fn installed(lines: &str) -> BTreeMap<String, Value> {
    objects(&install(&cluster(lines), &facts()))
}

/// The texts of a list.
fn texts<'a>(object: &'a Value, pointer: &str) -> Vec<&'a str> {
    object.pointer(pointer).unwrap().as_array().unwrap().iter().filter_map(Value::as_str).collect()
}

/// The value of an environment variable of the first container.
fn variable<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    let all = object.pointer("/spec/template/spec/containers/0/env")?.as_array()?;
    all.iter().find(|variable| variable["name"] == name)?["value"].as_str()
}

const POD: &str = "/spec/template/spec";
const ARGUMENTS: &str = "/spec/template/spec/containers/0/args";
const CONTROLLER: &str = "DaemonSet/kube-system/aws-cloud-controller-manager";
const DRIVER: &str = "Deployment/kube-system/ebs-csi-controller";
const HANDLER: &str = "Deployment/kube-system/aws-node-termination-handler";
const AUTOSCALER: &str = "Deployment/kube-system/cluster-autoscaler";

#[test]
fn a_plain_cluster_has_what_kops_installs_unasked() {
    let addons = install(&cluster(""), &facts());
    let names: Vec<&str> = addons.installed.iter().map(|addon| addon.name).collect();
    assert_eq!(
        names,
        [
            "aws-cloud-controller-manager",
            "aws-ebs-csi-driver",
            "storage-classes",
            "coredns",
            "node-termination-handler"
        ]
    );
    assert!(addons.missing.is_empty() && addons.remarks.is_empty(), "{:?}", addons.missing);
    assert_eq!(objects(&addons).len(), 52);
}

#[test]
fn the_cloud_controller_follows_the_network() {
    let arguments = |lines: &str| -> Vec<String> {
        let all = installed(lines);
        texts(&all[CONTROLLER], ARGUMENTS).into_iter().map(str::to_owned).collect()
    };
    let plain = arguments("");
    assert!(plain.contains(&"--cluster-cidr=100.96.0.0/11".to_owned()), "{plain:?}");
    assert!(plain.contains(&"--allocate-node-cidrs=true".to_owned()) && plain.contains(&"--v=2".to_owned()));
    let own = arguments("  cloudControllerManager: { logLevel: 5, concurrentNodeSyncs: 7 }\n");
    assert!(
        own.contains(&"--v=5".to_owned()) && own.contains(&"--concurrent-node-syncs=7".to_owned()),
        "{own:?}"
    );
    assert!(!own.contains(&"--v=2".to_owned()));
}

#[test]
fn the_driver_follows_its_settings() {
    let all = installed(
        "  cloudConfig: { awsEBSCSIDriver: { version: v1.40.0, volumeAttachLimit: 9 } }\n  cloudLabels: { z: 1, A: b }\n",
    );
    let node = &all["DaemonSet/kube-system/ebs-csi-node"];
    assert!(texts(node, ARGUMENTS).contains(&"--volume-attach-limit=9"));
    let image = all[DRIVER].pointer(&format!("{POD}/containers/0/image")).unwrap();
    assert_eq!(image, "registry.k8s.io/provider-aws/aws-ebs-csi-driver:v1.40.0");
    let arguments = texts(&all[DRIVER], ARGUMENTS);
    assert!(arguments.contains(&"--extra-tags=A=b,KubernetesCluster=a.example.org,z=1"), "{arguments:?}");
    let managed = installed("  cloudConfig: { awsEBSCSIDriver: { managed: false } }\n");
    assert!(!managed.contains_key(DRIVER) && managed.contains_key("StorageClass//kops-csi-1-21"));
}

#[test]
fn snapshots_add_a_helper_to_the_driver() {
    let count = |lines: &str| {
        let all = installed(lines);
        all[DRIVER].pointer(&format!("{POD}/containers")).unwrap().as_array().unwrap().len()
    };
    assert_eq!(count("") + 1, count("  snapshotController: { enabled: true }\n"));
}

#[test]
fn core_dns_reads_names_of_machines_only_without_records() {
    let corefile = |lines: &str| {
        let all = installed(lines);
        all["ConfigMap/kube-system/coredns"]["data"]["Corefile"].as_str().unwrap().to_owned()
    };
    assert!(!corefile("").contains("hosts"));
    assert!(corefile("").starts_with(".:53 {\n    errors\n") && corefile("").ends_with("loadbalance\n}"));
    let given = corefile("  kubeDNS: { upstreamNameservers: [10.0.0.2, 10.0.0.3] }\n");
    assert!(given.contains("forward . 10.0.0.2 10.0.0.3 {"), "{given}");
    let own = corefile("  kubeDNS: { externalCoreFile: \". { whoami }\" }\n");
    assert_eq!(own, ". { whoami }");
}

#[test]
fn a_fixed_number_of_dns_servers_has_no_autoscaler() {
    let all = installed("  kubeDNS: { replicas: 4 }\n");
    assert_eq!(all["Deployment/kube-system/coredns"]["spec"]["replicas"], 4);
    assert!(!all.contains_key("Deployment/kube-system/coredns-autoscaler"));
}

#[test]
fn the_termination_handler_hears_of_machines_or_asks_each() {
    let all = installed("  nodeTerminationHandler: { managedASGTag: mine, prometheusEnable: true }\n");
    assert_eq!(variable(&all[HANDLER], "QUEUE_URL"), Some("https://sqs.example.org/1/a-nth"));
    assert_eq!(variable(&all[HANDLER], "MANAGED_TAG"), Some("mine"));
    assert_eq!(variable(&all[HANDLER], "ENABLE_PROMETHEUS_SERVER"), Some("true"));
    let facts = Facts { termination_queue: None, ..facts() };
    let alone = objects(&install(&cluster(""), &facts));
    assert!(!alone.contains_key(HANDLER));
    let each = &alone["DaemonSet/kube-system/aws-node-termination-handler"];
    assert_eq!(variable(each, "ENABLE_SQS_TERMINATION_DRAINING"), Some("false"));
}

#[test]
fn the_autoscaler_knows_the_groups_and_their_priorities() {
    let all = installed("  clusterAutoscaler: { enabled: true, expander: priority }\n");
    let command = texts(&all[AUTOSCALER], "/spec/template/spec/containers/0/command");
    assert!(command.contains(&"--nodes=1:3:nodes.a.example.org") && command.contains(&"--expander=priority"));
    let image = all[AUTOSCALER].pointer(&format!("{POD}/containers/0/image")).unwrap();
    assert_eq!(image, "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.4");
    let priorities = &all["ConfigMap/kube-system/cluster-autoscaler-priority-expander"]["data"]["priorities"];
    assert_eq!(priorities, "5:\n- spare.a.example.org");
}

#[test]
fn pods_with_roles_run_anywhere_and_prove_who_they_are() {
    let role = ("cluster-autoscaler".to_owned(), "arn:aws:iam::1:role/autoscaler".to_owned());
    let facts = Facts { roles: Some([role].into()), ..facts() };
    let all = objects(&install(&cluster("  clusterAutoscaler: { enabled: true }\n"), &facts));
    assert_eq!(variable(&all[AUTOSCALER], "AWS_ROLE_ARN"), Some("arn:aws:iam::1:role/autoscaler"));
    let pod = all[AUTOSCALER].pointer(POD).unwrap();
    assert!(pod.get("hostNetwork").is_none() && pod.get("tolerations").is_none());
    assert_eq!(
        pod["volumes"][0]["projected"]["sources"][0]["serviceAccountToken"]["audience"],
        "amazonaws.com"
    );
    assert_eq!(variable(&all["Deployment/kube-system/coredns"], "AWS_ROLE_ARN"), None);
}

#[test]
fn the_metrics_server_has_a_certificate_where_it_is_asked_to() {
    let all = installed("  metricsServer: { enabled: true, insecure: false }\n");
    assert!(all.contains_key("cert-manager.io.Certificate/kube-system/metrics-server"));
    let service = &all["APIService//v1beta1.metrics.k8s.io"];
    assert!(service["spec"].get("insecureSkipTLSVerify").is_none());
    let addons = install(&cluster("  metricsServer: { enabled: true, insecure: false }\n"), &facts());
    assert_eq!(addons.remarks[0].field, "addons[metrics-server].config.insecure");
}

#[test]
fn flannel_leaves_the_cluster_s_own_addresses_alone() {
    let text = SPEC.replace("{ cni: {} }", "{ flannel: { backend: vxlan } }");
    let loaded = load_files(vec![SourceFile::new("a.yaml", text)], &[&KopsReader::default()]);
    let all = objects(&install(&ClusterInput::from(&loaded.clusters[0]), &facts()));
    let network = all["ConfigMap/kube-flannel/kube-flannel-cfg"]["data"]["net-conf.json"].as_str().unwrap();
    assert!(network.contains("\"Network\": \"100.64.0.0/10\"") && network.contains("\"vxlan\""), "{network}");
    assert!(all.contains_key("DaemonSet/kube-flannel/kube-flannel-ds"));
}

#[test]
fn what_is_not_known_is_named() {
    let addons = install(&cluster("  certManager: { enabled: true }\n"), &facts());
    let names: Vec<&str> = addons.missing.iter().map(|missing| missing.name.as_str()).collect();
    assert_eq!(names, ["cert-manager"]);
    assert!(addons.missing[0].message().contains("cert-manager is not installed"));
    let replaced = install(&cluster("  kubeDNS: { provider: KubeDNS }\n"), &facts());
    assert_eq!(replaced.missing[0].name, "kube-dns");
    assert!(!objects(&replaced).contains_key("Deployment/kube-system/coredns"));
}

#[test]
fn images_come_from_a_registry_of_ones_own() {
    let addons = install(&cluster("  assets: { containerProxy: r.example.org/copies }\n"), &facts());
    for object in objects(&addons).values() {
        let Some(containers) = object.pointer(&format!("{POD}/containers")) else { continue };
        for container in containers.as_array().unwrap() {
            let image = container["image"].as_str().unwrap();
            assert!(image.starts_with("r.example.org/copies/"), "{image}");
        }
    }
}
