//! The user data of a machine: a long text with the configuration of the whole node, so that every change of
//! it makes a new template.

use serde::Serialize;
use serde_json::{Value as Json, json};
use slipway_cluster_input::{ClusterInput, ComponentName, Endpoint, NodePool, Role};
use slipway_resource::{TemplatePart, Value};

use super::endpoint::Reached;

/// The user data of a pool.
pub(super) fn user_data(cluster: &ClusterInput, pool: &NodePool, reached: &Reached) -> Value {
    let mut text = Text { parts: Vec::new(), tail: String::new() };
    text.push("#!/bin/slipway-boot\n# Configuration of a node; made by slipway, changed by nobody else.\n");
    text.push(&format!("cluster: {}\npool: {}\nrole: {}\n", cluster.name, pool.name, pool.role.as_str()));
    if pool.role.is_node() {
        text.push("endpoint: https://");
        text.part(reached.host.clone());
        text.push(&format!(":{}\n", reached.port));
        for (name, document) in node_sections(cluster, pool) {
            text.section(name, &document);
        }
    }
    if matches!(pool.role, Role::ControlPlane | Role::ApiServer) {
        for (name, document) in control_plane_sections(cluster) {
            text.section(name, &document);
        }
    }
    for (name, document) in machine_sections(cluster, pool) {
        text.section(name, &document);
    }
    for part in &pool.user_data {
        text.push(&format!("--- user data {} ({:?})\n{}\n", part.name, part.kind, part.content));
    }
    text.finish()
}

/// The sections of every machine, bastions included.
fn machine_sections(cluster: &ClusterInput, pool: &NodePool) -> Vec<(&'static str, Json)> {
    vec![
        ("files and units", to_json(&pool.node_files)),
        ("sysctls", to_json(&pool.sysctls)),
        ("packages", to_json(&pool.packages)),
        ("ssh keys", to_json(&cluster.ssh.keys)),
        ("assets", to_json(&cluster.assets)),
        ("egress proxy", to_json(&cluster.egress_proxy)),
        ("region", to_json(&cluster.region)),
    ]
}

fn node_sections(cluster: &ClusterInput, pool: &NodePool) -> Vec<(&'static str, Json)> {
    let network = &cluster.network;
    vec![
        ("kubelet", to_json(&pool.kubelet)),
        ("components", components(cluster, &[ComponentName::Kubelet, ComponentName::Proxy])),
        ("container runtime", to_json(&cluster.container_runtime)),
        (
            "network",
            json!({
                "clusterDomain": network.cluster_domain,
                "cni": network.cni.name,
                "dnsAddress": network.dns_address,
                "ipFamily": network.ip_family,
                "podCidrs": network.pod_cidrs,
                "proxyMode": network.proxy_mode,
                "serviceCidrs": network.service_cidrs,
                "topology": network.topology,
            }),
        ),
    ]
}

fn control_plane_sections(cluster: &ClusterInput) -> Vec<(&'static str, Json)> {
    let names = [
        ComponentName::ApiServer,
        ComponentName::ControllerManager,
        ComponentName::Scheduler,
        ComponentName::Etcd,
        ComponentName::CloudController,
    ];
    let virtual_ip = match &cluster.control_plane.endpoint {
        Endpoint::VirtualIp(virtual_ip) => to_json(virtual_ip),
        _ => Json::Null,
    };
    let at_rest = cluster.encryption.at_rest.as_ref().map(|at_rest| {
        json!({
            "provider": at_rest.provider,
            "keyFrom": at_rest.key,
            "kmsEndpoint": at_rest.kms_endpoint,
            "resources": at_rest.resources,
        })
    });
    let etcd: Vec<Json> = cluster
        .etcd
        .iter()
        .map(|etcd| {
            let members: Vec<Json> = etcd
                .members
                .iter()
                .map(|member| {
                    json!({ "name": member.name, "pool": member.pool, "subnet": member.subnet,
                            "hasVolume": member.volume.is_some() })
                })
                .collect();
            json!({ "name": etcd.name, "version": etcd.version, "cpuRequest": etcd.cpu_request,
                    "memoryRequest": etcd.memory_request, "members": members })
        })
        .collect();
    let mut sections = vec![
        ("control-plane components", components(cluster, &names)),
        ("profile", to_json(&cluster.profile)),
        ("api server names", to_json(&cluster.control_plane.additional_sans)),
        ("schedulable", to_json(&cluster.control_plane.schedulable)),
        ("node port range", to_json(&cluster.network.node_port_range)),
        ("virtual address", virtual_ip),
        ("audit", to_json(&cluster.audit)),
        ("authentication", to_json(&cluster.authentication)),
        ("service accounts", to_json(&cluster.service_accounts)),
        ("encryption at rest", to_json(&at_rest)),
        ("etcd", Json::Array(etcd)),
        ("kubernetes", json!({ "version": cluster.kubernetes_version })),
    ];
    // Machines of clusters that were made before there was such a setting keep their configuration.
    sections.extend(cluster.pod_security.as_ref().map(|settings| ("pod security", to_json(settings))));
    sections
}

fn components(cluster: &ClusterInput, names: &[ComponentName]) -> Json {
    names
        .iter()
        .filter_map(|name| Some((name.as_str().to_owned(), to_json(cluster.components.get(name)?))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

fn to_json(value: &impl Serialize) -> Json {
    serde_json::to_value(value).unwrap_or_default()
}

struct Text {
    parts: Vec<TemplatePart>,
    tail: String,
}

impl Text {
    fn push(&mut self, text: &str) {
        self.tail.push_str(text);
    }

    fn part(&mut self, part: TemplatePart) {
        match part {
            TemplatePart::Text(text) => self.push(&text),
            reference => {
                self.parts.push(TemplatePart::Text(std::mem::take(&mut self.tail)));
                self.parts.push(reference);
            }
        }
    }

    /// A section with its document laid out over lines; nothing for one that is empty.
    fn section(&mut self, name: &str, document: &Json) {
        let is_empty = match document {
            Json::Null => true,
            Json::Array(items) => items.is_empty(),
            Json::Object(fields) => fields.is_empty(),
            _ => false,
        };
        if !is_empty {
            let laid_out = serde_json::to_string_pretty(document).unwrap_or_default();
            self.push(&format!("--- {name}\n{laid_out}\n"));
        }
    }

    fn finish(mut self) -> Value {
        if self.parts.is_empty() {
            return Value::String(self.tail);
        }
        self.parts.push(TemplatePart::Text(self.tail));
        Value::Template(self.parts)
    }
}
