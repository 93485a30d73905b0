//! A small cluster, and for every field of kOps values to try in it.

use serde_json::{Map, Value, json};
use slipway_kops::{
    KopsReader,
    fields::{Kind, Leaf, Type},
};
use slipway_spec::{
    diagnostic::Diagnostic,
    model::Cluster,
    reader::{Document, Reader},
    source::SourceFile,
    yaml,
};

/// A small cluster with a control plane and workers; the field under test is added to the document of its kind.
pub fn base(kind: Kind) -> Value {
    match kind {
        Kind::Cluster => json!({
            "apiVersion": "kops.k8s.io/v1alpha2",
            "kind": "Cluster",
            "metadata": { "name": "leaf.example.com" },
            "spec": {
                "cloudProvider": "aws",
                "kubernetesVersion": "1.35.2",
                "networkCIDR": "10.0.0.0/16",
                "networking": { "cilium": {} },
                "subnets": [{ "name": "a", "zone": "eu-west-1a", "type": "Public", "cidr": "10.0.1.0/24" }],
                "etcdClusters": [{ "name": "main", "etcdMembers": [{ "name": "a", "instanceGroup": "masters" }] }],
            },
        }),
        Kind::InstanceGroup => group("nodes", "Node"),
        Kind::SshCredential => json!({
            "apiVersion": "kops.k8s.io/v1alpha2",
            "kind": "SSHCredential",
            "metadata": { "name": "admin", "labels": { "kops.k8s.io/cluster": "leaf.example.com" } },
            "spec": { "publicKey": "ssh-ed25519 AAAA one" },
        }),
    }
}

/// An instance group.
pub fn group(name: &str, role: &str) -> Value {
    json!({
        "apiVersion": "kops.k8s.io/v1alpha2",
        "kind": "InstanceGroup",
        "metadata": { "name": name, "labels": { "kops.k8s.io/cluster": "leaf.example.com" } },
        "spec": { "role": role, "subnets": ["a"], "machineType": "m5.large", "image": "ubuntu", "minSize": 1, "maxSize": 1 },
    })
}

/// The fields that some fields need to have a meaning, by the prefix of their path.
pub fn beside(kind: Kind, path: &str) -> Value {
    let cases: [(&str, Value); 18] = [
        ("spec.api.dns", json!({ "spec": { "topology": { "dns": { "type": "None" } } } })),
        (
            "spec.kubeAPIServer.oidc",
            json!({ "spec": { "kubeAPIServer": { "oidcIssuerURL": "https://id.example.com", "oidcClientID": "k8s" } } }),
        ),
        (
            "spec.api.loadBalancer",
            json!({ "spec": { "api": { "loadBalancer": { "class": "Network", "sslCertificate": "arn:c", "accessLog": { "bucket": "logs" } } } } }),
        ),
        (
            "spec.egressProxy",
            json!({ "spec": { "egressProxy": { "httpProxy": { "host": "proxy.example.com" } } } }),
        ),
        ("spec.fileAssets", json!({ "spec": { "fileAssets": [{ "name": "f", "content": "aGVsbG8=" }] } })),
        (
            "spec.hooks",
            json!({ "spec": { "hooks": [{ "name": "h", "manifest": "Type=oneshot", "execContainer": { "image": "busybox" } }] } }),
        ),
        ("spec.hooks[].manifest", json!({ "spec": { "hooks": [{ "name": "h", "execContainer": null }] } })),
        (
            "spec.subnets[].additionalRoutes",
            json!({ "spec": { "subnets": [{ "additionalRoutes": [{ "cidr": "192.168.0.0/24", "target": "tgw-1" }] }] } }),
        ),
        (
            "spec.volumeMounts",
            json!({ "spec": { "volumes": [{ "device": "/dev/xvdd", "size": 8 }], "volumeMounts": [{ "device": "/dev/xvdd", "path": "/data" }] } }),
        ),
        ("spec.volumes", json!({ "spec": { "volumes": [{ "device": "/dev/xvdd", "size": 8 }] } })),
        (
            "spec.mixedInstancesPolicy",
            json!({ "spec": { "mixedInstancesPolicy": { "instances": ["m5.large"] } } }),
        ),
        (
            "spec.additionalUserData",
            json!({ "spec": { "additionalUserData": [{ "name": "u", "type": "text/x-shellscript", "content": "#!" }] } }),
        ),
        ("spec.rootVolumeEncryptionKey", json!({ "spec": { "rootVolumeEncryption": true } })),
        ("spec.warmPool", json!({ "spec": { "warmPool": { "minSize": 1 } } })),
        (
            "spec.kubeAPIServer.env",
            json!({ "spec": { "kubeAPIServer": { "env": [{ "name": "A", "value": "1" }] } } }),
        ),
        (
            "spec.etcdClusters[].manager.env",
            json!({ "spec": { "etcdClusters": [{ "manager": { "env": [{ "name": "A", "value": "1" }] } }] } }),
        ),
        (
            "spec.kubeAPIServer.auditPolicyFile",
            json!({ "spec": { "fileAssets": [{ "name": "audit", "path": "/srv/audit.yaml", "content": "rules: []" }] } }),
        ),
        (
            "spec.cloudConfig.awsEBSCSIDriver",
            json!({ "spec": { "cloudConfig": { "awsEBSCSIDriver": { "version": "v1" } } } }),
        ),
    ];
    let mut all = json!({});
    if kind == Kind::Cluster && path.starts_with("spec.containerd.nri") {
        all = json!({ "spec": { "containerd": { "nri": { "enabled": true } } } });
    }
    for (prefix, value) in cases {
        if path.starts_with(prefix) {
            merge(&mut all, &value);
        }
    }
    all
}

/// Merges mappings by key and lists by index.
pub fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Array(into), Value::Array(from)) => {
            for (index, value) in from.iter().enumerate() {
                match into.get_mut(index) {
                    Some(item) => merge(item, value),
                    None => into.push(value.clone()),
                }
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// Values to try: those of the field, or those of its type. One of them must make a difference.
pub fn samples(kind: Kind, leaf: &Leaf) -> Vec<Value> {
    let own: Option<&[&str]> = match (kind, leaf.path.as_str()) {
        (Kind::Cluster, "spec.kubernetesVersion") => Some(&["v1.34.1"]),
        (Kind::Cluster, "spec.cloudProvider") => Some(&["gce"]),
        (Kind::Cluster, "spec.nonMasqueradeCIDR" | "spec.podCIDR" | "spec.serviceClusterIPRange") => {
            Some(&["100.80.0.0/12"])
        }
        (
            Kind::Cluster,
            "spec.kubeAPIServer.serviceClusterIPRange" | "spec.kubeControllerManager.clusterCIDR",
        ) => Some(&["100.80.0.0/12"]),
        (Kind::Cluster, "spec.networkCIDR" | "spec.subnets[].cidr") => Some(&["10.0.0.0/20"]),
        (Kind::Cluster, "spec.subnets[].ipv6CIDR") => Some(&["2001:db8::/64"]),
        (Kind::Cluster, "spec.subnets[].type") => Some(&["Utility"]),
        (Kind::Cluster, "spec.subnets[].egress") => Some(&["External"]),
        (Kind::Cluster, "spec.subnets[].additionalRoutes[].cidr") => Some(&["192.168.7.0/24"]),
        (Kind::Cluster, "spec.topology.dns.type") => Some(&["Private"]),
        (Kind::Cluster, "spec.api.loadBalancer.type") => Some(&["Internal"]),
        (Kind::Cluster, "spec.api.loadBalancer.class") => Some(&["Classic"]),
        (Kind::Cluster, "spec.etcdClusters[].provider") => Some(&["Legacy"]),
        (Kind::Cluster, "spec.externalDns.provider") => Some(&["external-dns"]),
        (Kind::Cluster, "spec.kubeDNS.serverIP") => Some(&["100.64.0.53"]),
        (Kind::Cluster, "spec.kubeAPIServer.serviceNodePortRange") => Some(&["28000-32000"]),
        (Kind::Cluster, "spec.kubeAPIServer.auditPolicyFile") => Some(&["/srv/audit.yaml"]),
        (Kind::Cluster, "spec.kubeProxy.proxyMode") => Some(&["ipvs"]),
        (Kind::InstanceGroup, "spec.role") => Some(&["Bastion"]),
        (Kind::InstanceGroup, "spec.additionalUserData[].type") => Some(&["text/cloud-config"]),
        (Kind::Cluster, "metadata.name") => Some(&["other.example.com"]),
        (_, path) if path.ends_with("evictionHard") || path.ends_with("evictionSoft") => {
            Some(&["memory.available<9%"])
        }
        (_, path) if path.ends_with("evictionSoftGracePeriod") => Some(&["memory.available=90s"]),
        (_, path) if path.ends_with("evictionMinimumReclaim") => Some(&["memory.available=1Gi"]),
        _ => None,
    };
    if let Some(own) = own {
        return own.iter().map(|text| json!(text)).collect();
    }
    match (kind, leaf.path.as_str()) {
        (Kind::Cluster, "spec.additionalNetworkCIDRs" | "spec.kubernetesApiAccess" | "spec.sshAccess") => {
            return vec![json!(["10.9.0.0/16"])];
        }
        (_, "spec.sysctlParameters") => return vec![json!(["a.b=1"])],
        (_, "metadata.labels") => {
            return vec![json!({ "tier": "one", "kops.k8s.io/cluster": "leaf.example.com" })];
        }
        (Kind::InstanceGroup, path) if path.ends_with("roles") => return vec![json!(["Bastion"])],
        (_, path) if path.ends_with("roles") => return vec![json!(["Node"])],
        (_, path) if path.ends_with("before") => return vec![json!(["kubelet.service"])],
        (_, path) if path.ends_with("taints") => return vec![json!(["a=b:NoSchedule"])],
        (_, path) if path.ends_with("oidcRequiredClaim") => return vec![json!(["hd=example.com"])],
        (_, path) if path.ends_with("featureGates") => {
            return vec![match leaf.kind {
                Type::Text => json!("a=true"),
                Type::BoolMap => json!({ "Some": true }),
                _ => json!({ "Some": "true" }),
            }];
        }
        (_, path) if path.ends_with("Reserved") => return vec![json!({ "cpu": "100m" })],
        _ => {}
    }
    match leaf.kind {
        Type::Text | Type::Any | Type::Unknown => vec![json!("sample")],
        Type::Bool => vec![json!(true), json!(false)],
        Type::Integer(..) => vec![json!(7)],
        Type::Quantity => vec![json!("70m")],
        Type::Duration => vec![json!("7m0s")],
        Type::IntOrString => vec![json!(3)],
        Type::Texts => vec![json!(["sample"])],
        Type::TextMap => vec![json!({ "name": "sample" })],
        Type::BoolMap => vec![json!({ "name": true })],
        Type::TextsMap => vec![json!({ "name": ["sample"] })],
        Type::Object => vec![json!({})],
    }
}

/// Puts a value at a path such as `spec.subnets[].zone`, into the first item of lists.
pub fn put(node: &mut Value, path: &str, value: Value) {
    let mut node = node;
    for part in path.split('.') {
        node = field(node, part.trim_end_matches("[]").trim_end_matches("{}"));
        if part.ends_with("[]") {
            if node.as_array().is_none_or(Vec::is_empty) {
                *node = json!([{}]);
            }
            node = &mut node[0];
        } else if part.ends_with("{}") {
            node = field(node, "key");
        }
    }
    *node = value;
}

fn field<'a>(node: &'a mut Value, name: &str) -> &'a mut Value {
    if !node.is_object() {
        *node = Value::Object(Map::new());
    }
    &mut node[name]
}

fn documents(values: &[Value]) -> Vec<Document> {
    let text = values.iter().map(|value| format!("---\n{value}\n")).collect::<String>();
    let file = std::sync::Arc::new(SourceFile::new("leaf.yaml", text));
    let (parsed, problems) = yaml::parse(&file);
    assert!(problems.is_empty(), "{problems:?}");
    parsed
        .into_iter()
        .map(|parsed| Document {
            file: std::sync::Arc::clone(&file),
            api_version: parsed
                .root
                .get("apiVersion")
                .and_then(yaml::Node::as_str)
                .unwrap_or_default()
                .to_owned(),
            kind: parsed.root.get("kind").and_then(yaml::Node::as_str).unwrap_or_default().to_owned(),
            root: parsed.root,
            truncated: false,
        })
        .collect()
}

/// The cluster with one of its documents in another form, and what is said about it.
pub fn read(reader: &KopsReader, kind: Kind, document: &Value) -> (Option<Cluster>, Vec<Diagnostic>) {
    read_beside(reader, kind, document, &[])
}

/// The same, with further documents; a further cluster is merged into the one there is.
pub fn read_beside(
    reader: &KopsReader,
    kind: Kind,
    document: &Value,
    more: &[Value],
) -> (Option<Cluster>, Vec<Diagnostic>) {
    let mut all = vec![base(Kind::Cluster), group("masters", "Master"), base(Kind::InstanceGroup)];
    for document in more {
        if document["kind"] == "Cluster" {
            merge(&mut all[0], document);
        } else {
            all.push(document.clone());
        }
    }
    match kind {
        Kind::Cluster => all[0] = document.clone(),
        Kind::InstanceGroup => all[2] = document.clone(),
        Kind::SshCredential => all.push(document.clone()),
    }
    let mut reading = reader.read(&documents(&all));
    (reading.clusters.pop().map(|read| read.cluster), reading.diagnostics)
}
