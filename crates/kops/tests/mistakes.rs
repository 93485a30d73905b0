//! Documents with mistakes: each is named once, with its place and a way out.

use slipway_kops::KopsReader;
use slipway_spec::{diagnostic::Severity, load::load_files, source::SourceFile};

const GOOD: &str = "\
apiVersion: kops.k8s.io/v1alpha2
kind: Cluster
metadata:
  name: demo.example.org
spec:
  cloudProvider: aws
  kubernetesVersion: 1.35.2
  networkCIDR: 10.0.0.0/16
  networking:
    cilium: {}
  kubernetesApiAccess: [10.0.0.0/8]
  etcdClusters:
  - name: main
    etcdMembers:
    - name: a
      instanceGroup: masters
  subnets:
  - name: a
    zone: eu-west-1a
    type: Public
    cidr: 10.0.0.0/20
---
apiVersion: kops.k8s.io/v1alpha2
kind: InstanceGroup
metadata:
  name: masters
  labels:
    kops.k8s.io/cluster: demo.example.org
spec:
  role: Master
  machineType: m5.large
  minSize: 1
  maxSize: 1
  subnets: [a]
";

/// The errors of a text, as `line:column message | hint`.
fn errors(text: &str) -> Vec<String> {
    let loaded = load_files(vec![SourceFile::new("demo.yaml", text)], &[&KopsReader::default()]);
    loaded
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(|diagnostic| {
            let place = diagnostic.location.as_ref().map(|at| format!("{}:{}", at.line, at.column));
            let hint = diagnostic.hint.as_deref().unwrap_or_default();
            format!("{} {} | {hint}", place.unwrap_or_default(), diagnostic.message)
        })
        .collect()
}

/// The one error of the good documents with a stretch replaced.
fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    let found = errors(&GOOD.replacen(from, to, 1));
    assert_eq!(found.len(), 1, "{found:#?}");
    found.into_iter().next().unwrap_or_default()
}

#[test]
fn good_documents_are_good() {
    assert_eq!(errors(GOOD), Vec::<String>::new());
    // The newest release that kOps takes, and the one after it.
    assert_eq!(errors(&GOOD.replace("1.35.2", "1.37.0-alpha.1")), Vec::<String>::new());
    assert_eq!(errors(&GOOD.replace("1.35.2", "1.37.0")), Vec::<String>::new());
    assert_eq!(
        error("1.35.2", "1.38.0"),
        "7:22 Kubernetes 1.38.0 is not supported | supported are 1.31 to 1.37; the nearest is 1.37"
    );
}

#[test]
fn fields_that_do_not_exist() {
    assert_eq!(
        error("  cloudProvider: aws\n", "  cloudProvider: aws\n  sshAcess: []\n"),
        "7:3 spec.sshAcess is not a field of a kOps Cluster | did you mean sshAccess?"
    );
    assert_eq!(
        error("    cilium: {}\n", "    cilium: { enableNodeport: true }\n"),
        "10:15 spec.networking.cilium.enableNodeport is not a field of a kOps Cluster | did you mean enableNodePort?"
    );
    assert_eq!(
        error("  maxSize: 1\n", "  maxSize: 1\n  rootVolumeSizes: 20\n"),
        "34:3 spec.rootVolumeSizes is not a field of a kOps InstanceGroup | did you mean rootVolumeSize?"
    );
}

#[test]
fn a_field_that_kops_does_not_know_is_left_out_as_kops_does() {
    for (from, to, message, hint) in [
        (
            "  cloudProvider: aws\n",
            "  cloudProvider: aws\n  crossZoneLoadBalancing: true\n",
            "7:3 spec.crossZoneLoadBalancing has no effect: it is not a field of a kOps Cluster",
            "kOps has spec.api.loadBalancer.crossZoneLoadBalancing; is crossZoneLoadBalancing indented as it should be?",
        ),
        (
            "    cilium: {}\n",
            "    cilium: { enableNodePortRange: true, gateways: [{ name: a }] }\n",
            "10:15 spec.networking.cilium.enableNodePortRange has no effect: it is not a field of a kOps Cluster",
            "did you mean enableNodePort?",
        ),
        (
            "  maxSize: 1\n",
            "  maxSize: 1\n  nextYear: { name: 1, list: [x] }\n",
            "34:3 spec.nextYear has no effect: it is not a field of a kOps InstanceGroup",
            "go on only when the cluster can do without it, as it does in kOps",
        ),
    ] {
        let load =
            |text: String| load_files(vec![SourceFile::new("demo.yaml", text)], &[&KopsReader::default()]);
        let loaded = load(GOOD.replacen(from, to, 1));
        let said: Vec<(Severity, String, &str)> = loaded
            .diagnostics
            .iter()
            .filter_map(|said| {
                let at = said.location.as_ref()?;
                let message = format!("{}:{} {}", at.line, at.column, said.message);
                Some((said.severity, message, said.hint.as_deref()?))
            })
            .collect();
        assert!(said.contains(&(Severity::Warning, message.to_owned(), hint)), "{said:#?}");
        assert!(!said.iter().any(|(severity, ..)| *severity == Severity::Error), "{said:#?}");
        let clusters = |text: String| serde_json::to_value(&load(text).clusters).unwrap();
        let without = clusters(GOOD.to_owned());
        if !to.contains("cilium") {
            assert_eq!(clusters(GOOD.replacen(from, to, 1)), without, "nothing of it is read");
        }
    }
}

#[test]
fn a_typo_is_one_mistake() {
    // The intended field is not reported as missing.
    for (from, to, meant) in [
        ("  machineType: m5.large", "  machineTyp: m5.large", "machineType"),
        ("kubernetesVersion:", "kubernetesVersions:", "kubernetesVersion"),
        ("cloudProvider:", "cloudprovider:", "cloudProvider"),
        ("    etcdMembers:", "    etcdMember:", "etcdMembers"),
        ("  - name: a\n    zone:", "  - nmae: a\n    zone:", "name"),
    ] {
        assert!(error(from, to).ends_with(&format!("| did you mean {meant}?")), "{}", error(from, to));
    }
}

#[test]
fn values_of_the_wrong_type() {
    assert_eq!(
        error("kubernetesVersion: 1.35.2", "kubernetesVersion: 1.35"),
        "7:22 spec.kubernetesVersion is a number (1.35), and a text is wanted | write it in quotes: \"1.35\""
    );
    assert_eq!(
        error("maxSize: 1", "maxSize: \"1\""),
        "33:12 spec.maxSize is a text (\"1\"), and a whole number is wanted | write it without quotes: 1"
    );
    assert_eq!(
        error("  maxSize: 1\n", "  maxSize: 1\n  associatePublicIp: yes\n"),
        "34:22 spec.associatePublicIp is a text (yes), and a boolean is wanted | write true"
    );
    assert_eq!(
        error("subnets: [a]", "subnets: a"),
        "34:12 spec.subnets is a text (a), and a list of texts is wanted | write it as a list of one: [a]"
    );
    assert_eq!(
        error("  cloudProvider: aws\n", "  cloudProvider: aws\n  kubeAPIServer: { eventTTL: 3d }\n"),
        "7:30 spec.kubeAPIServer.eventTTL: 3d is not a duration | write numbers with the units h, m, s or ms, as in \
         15m or 1h30m"
    );
}

#[test]
fn values_that_mean_nothing() {
    assert_eq!(
        error("cidr: 10.0.0.0/20", "cidr: 10.0.1.0/20"),
        "21:11 spec.subnets[a].cidr: \"10.0.1.0/20\" has bits set behind its prefix | did you mean 10.0.0.0/20?"
    );
    assert_eq!(
        error("type: Public", "type: Pubic"),
        "20:11 the subnet a has the type \"pubic\" | did you mean Public?"
    );
    assert_eq!(error("role: Master", "role: Mater"), "30:9 spec.role is \"Mater\" | did you mean Master?");
    assert_eq!(
        error("    cilium: {}\n", "    weave: {}\n"),
        "10:5 spec.networking.weave is refused: kOps has removed Weave | choose cilium or calico"
    );
    assert_eq!(
        error("  maxSize: 1\n", "  maxSize: 1\n  taints: [\"gpu=true\"]\n"),
        "34:12 spec.taints[0]: \"gpu=true\" is not a taint | write key=value:effect with the effect NoSchedule, \
         PreferNoSchedule or NoExecute"
    );
}

#[test]
fn an_etcd_cluster_has_members() {
    let found = error("    etcdMembers:\n    - name: a\n      instanceGroup: masters\n", "");
    assert!(
        found.starts_with("13:") && found.contains("the etcd cluster main has no etcdMembers"),
        "{found}"
    );
}

#[test]
fn names_of_things_that_do_not_exist() {
    assert_eq!(
        error("instanceGroup: masters", "instanceGroup: master"),
        "16:22 the member a of the etcd cluster main names the instance group master, which does not exist | did you \
         mean masters?"
    );
    assert_eq!(
        error("kops.k8s.io/cluster: demo.example.org", "kops.k8s.io/cluster: demos.example.org"),
        "28:26 the InstanceGroup masters belongs to the cluster demos.example.org, which is not among the documents | \
         did you mean demo.example.org?"
    );
    assert_eq!(
        error("  labels:\n    kops.k8s.io/cluster: demo.example.org\n", ""),
        "25:1 the InstanceGroup masters does not say to which cluster it belongs | add the label \
         kops.k8s.io/cluster: demo.example.org"
    );
    assert!(error("subnets: [a]", "subnets: [b]").contains("the subnet `b`, which does not exist"));
}

#[test]
fn fields_that_are_missing() {
    assert_eq!(
        error("  kubernetesVersion: 1.35.2\n", ""),
        "5:1 the cluster demo.example.org gives no kubernetesVersion | kOps takes one from its channel; write the \
         release that the cluster runs, as in 1.35.2"
    );
    assert_eq!(
        error("  networking:\n    cilium: {}\n", ""),
        "5:1 the cluster demo.example.org names no pod network | write one, as in networking: { cilium: {} }"
    );
    assert_eq!(
        error("  role: Master\n", ""),
        "29:1 the instance group masters has no role | write role: Master, Node, Bastion or APIServer"
    );
    let without = GOOD.replacen("  cloudProvider: aws\n", "", 1);
    assert_eq!(
        errors(&without),
        [
            "5:1 the cluster demo.example.org has no cloudProvider | write where it lives, as in cloudProvider: aws"
        ]
    );
}

#[test]
fn groups_of_the_same_name() {
    let group = GOOD.split("---\n").nth(1).unwrap_or_default();
    let found = errors(&format!("{GOOD}---\n{group}"));
    assert!(found[0].contains("there are two instance groups named masters"), "{found:#?}");
}

#[test]
fn notes_come_with_their_line() {
    let text =
        GOOD.replacen("  cloudProvider: aws\n", "  cloudProvider: aws\n  docker: { version: 19.03.4 }\n", 1);
    let loaded = load_files(vec![SourceFile::new("demo.yaml", text)], &[&KopsReader::default()]);
    let note = loaded
        .diagnostics
        .iter()
        .find(|diagnostic| diagnostic.severity == Severity::Note)
        .expect("the field is named");
    assert_eq!(note.message, "spec.docker has no effect: kOps has removed Docker");
    assert_eq!(note.location.as_ref().map(ToString::to_string).as_deref(), Some("demo.yaml:7:3"));
}

#[test]
fn the_newer_form_is_checked_by_its_own_names() {
    let text = "\
apiVersion: kops.k8s.io/v1alpha3
kind: Cluster
metadata: { name: demo.example.org }
spec:
  cloudProvider: { aws: {} }
  kubernetesVersion: 1.35.2
  api: { access: [10.0.0.0/8] }
  controlPlaneKubelett: { maxPods: 40 }
  networking:
    cilium: {}
    networkCIDR: 10.0.0.0/16
    subnets: [{ name: a, zone: eu-west-1a, type: Public, cidr: 10.0.1.0/20 }]
  etcdClusters: [{ name: main, etcdMembers: [{ name: a, instanceGroup: masters }] }]
---
apiVersion: kops.k8s.io/v1alpha3
kind: InstanceGroup
metadata: { name: masters, labels: { kops.k8s.io/cluster: demo.example.org } }
spec: { role: ControlPlane, machineType: m5.large, subnets: [a], minSize: 1, maxSize: 1 }
";
    assert_eq!(
        errors(text),
        [
            "8:3 spec.controlPlaneKubelett is not a field of a kOps Cluster | did you mean controlPlaneKubelet?",
            "12:64 spec.subnets[a].cidr: \"10.0.1.0/20\" has bits set behind its prefix | did you mean 10.0.0.0/20?",
        ]
    );
}

#[test]
fn what_another_setting_takes_the_effect_of_is_said() {
    for (from, to, message) in [
        (
            "  cloudProvider: aws\n",
            "  cloudProvider: aws\n  dnsZone: example.org\n  topology: { dns: { type: None } }\n",
            "spec.dnsZone has no effect: no DNS records are made",
        ),
        (
            "  maxSize: 1\n",
            "  maxSize: 1\n  warmPool: { minSize: 1 }\n",
            "spec.warmPool has no effect: only workers and API servers on demand have one",
        ),
        (
            "  maxSize: 1\n",
            "  maxSize: 1\n  rollingUpdate: { maxSurge: 1 }\n",
            "spec.rollingUpdate.maxSurge has no effect: nodes of this group go before others come",
        ),
        (
            "  maxSize: 1\n",
            "  maxSize: 1\n  rollingUpdate: { drainAndTerminate: false }\n",
            "spec.rollingUpdate.drainAndTerminate has no effect: a roll here never leaves the old nodes running; they are \
             drained and end",
        ),
        (
            "  maxSize: 1\n",
            "  maxSize: 1\n  rootVolumeEncryptionKey: arn:k\n",
            "spec.rootVolumeEncryptionKey has no effect: kOps uses it only beside rootVolumeEncryption: true",
        ),
        (
            "    cilium: {}\n",
            "    amazonvpc: {}\n  podCIDR: 10.0.128.0/17\n",
            "spec.podCIDR has no effect: pods take addresses of the nodes' network",
        ),
    ] {
        let text = GOOD.replacen(from, to, 1);
        let loaded = load_files(vec![SourceFile::new("demo.yaml", text)], &[&KopsReader::default()]);
        let said: Vec<&str> = loaded.diagnostics.iter().map(|diagnostic| &*diagnostic.message).collect();
        assert!(said.contains(&message), "{said:#?}");
    }
}

/// The conversion compares subnets with each other, and unknown names with known ones.
#[test]
fn a_list_or_the_unknown_fields_are_not_converted_when_there_are_too_many() {
    let subnets: String = (0..1_001)
        .map(|number| {
            format!("  - {{ name: s{number}, zone: eu-west-1a, type: Public, cidr: 10.0.0.0/28 }}\n")
        })
        .collect();
    let more = error(
        "  subnets:\n  - name: a\n    zone: eu-west-1a\n    type: Public\n    cidr: 10.0.0.0/20\n",
        &format!("  subnets:\n{subnets}"),
    );
    assert!(more.contains("spec.subnets of a kOps Cluster has 1001 entries; Slipway handles 1000"), "{more}");
    // Each mapping is small enough; together they have too many.
    let unknown = |component: &str| {
        let fields: String = (0..501).map(|number| format!("    zz{number}: a\n")).collect();
        format!("  {component}:\n{fields}")
    };
    let unknown = format!("{}{}  kubernetesVersion: 1.35.2\n", unknown("kubelet"), unknown("kubeProxy"));
    let more = error("  kubernetesVersion: 1.35.2\n", &unknown);
    assert!(more.contains("1002 fields that kOps does not know"), "{more}");
}
