//! Fields of a cluster's spec that do nothing on machines that exist already.
//!
//! A field is either read by this crate or by the provider of the machines, or it is in this table, and a plan refuses it
//! where it is written. A test holds every field of the documents against that.

/// A field that does nothing, with what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutEffect {
    /// Its path in the spec, as `components.etcd.image`.
    pub field: String,
    /// Why it does nothing, and the way out.
    pub why: &'static str,
}

const MACHINES: &str = "machines that exist already are not made here; remove it";
const CLOUD_NETWORK: &str = "the network of machines that exist already is not made here; remove it";
const IMAGES: &str =
    "images have the names and versions of the Kubernetes version, from `assets.imageRegistry`; remove it";
const RESOURCES: &str = "static pods have kubeadm's requests; remove it";
const RUNTIME: &str = "the container runtime has the configuration of the host; remove it and set it in `/etc/containerd` there";
const ETCD: &str = "every control plane has one member of one etcd, of the version that belongs to the Kubernetes version; remove it";
const USER_DATA: &str =
    "nothing runs user data on hosts; do it with `nodeFiles.hooks` or on the hosts before, and remove it";
const PROXY_FLAGS: &str =
    "kube-proxy is set up by its document: use `components.proxy.extraArgs`, or remove it";
const ROLLOUT: &str = "hosts are changed in place, control planes one after the other; remove it";

/// Paths without names of items; each includes the paths below it.
const TABLE: &[(&str, &str)] = &[
    ("labels", "nothing on hosts has labels of the cluster; remove it"),
    ("region", "write `region` in the Host documents instead"),
    ("zones", "write `zone` in the Host documents instead"),
    ("network.id", CLOUD_NETWORK),
    ("network.cidr", CLOUD_NETWORK),
    ("network.additionalCidrs", CLOUD_NETWORK),
    ("network.ipv6Cidr", CLOUD_NETWORK),
    ("network.topology", CLOUD_NETWORK),
    ("network.subnets", CLOUD_NETWORK),
    ("network.dnsAddress", "the DNS has the tenth address of `serviceCidrs`; remove it"),
    ("controlPlane.dns", "nothing writes DNS records for hosts; remove it and keep the record yourself"),
    (
        "controlPlane.access",
        "nothing filters packets on hosts; remove it and use the firewall of your network",
    ),
    ("etcd[].version", ETCD),
    ("etcd[].members", ETCD),
    ("etcd[].cpuRequest", RESOURCES),
    ("etcd[].memoryRequest", RESOURCES),
    ("components.etcd.image", IMAGES),
    ("components.proxy.image", IMAGES),
    (
        "components.kubelet.image",
        "list the kubelet in `assets.programs`, or install it on the hosts before; remove it",
    ),
    ("components.apiServer.resources", RESOURCES),
    ("components.controllerManager.resources", RESOURCES),
    ("components.scheduler.resources", RESOURCES),
    ("components.etcd.resources", RESOURCES),
    ("components.proxy.resources", RESOURCES),
    ("components.kubelet.resources", "use `kubelet.systemReserved`, or remove it"),
    ("components.kubelet.environment", "use `components.kubelet.extraArgs`, or remove it"),
    ("components.etcd.environment", "use `components.etcd.extraArgs`, or remove it"),
    ("components.proxy.environment", PROXY_FLAGS),
    ("components.proxy.featureGates", PROXY_FLAGS),
    ("components.proxy.logLevel", PROXY_FLAGS),
    (
        "components.cloudController",
        "no cloud controller is installed on hosts; bring yours as an add-on with a `manifest`",
    ),
    ("containerRuntime.sandboxImage", RUNTIME),
    ("containerRuntime.extraConfig", RUNTIME),
    (
        "addons[].version",
        "the version is that of the Kubernetes version, or what your `manifest` says; remove it",
    ),
    ("addons[].replicas", "bring the add-on with a `manifest` of yours, or remove it"),
    ("addons[].minimumAvailable", "bring the add-on with a `manifest` of yours, or remove it"),
    ("addons[].config", "bring the add-on with a `manifest` of yours, or remove it"),
    (
        "authentication",
        "nothing sets it up on hosts yet: remove it, and give the API server an `authentication-config` of yours with `components.apiServer.extraArgs`",
    ),
    (
        "serviceAccounts.discoveryStore",
        "nothing publishes the issuer's keys for hosts; remove it and publish `/openid/v1/jwks` yourself",
    ),
    ("assets.fileRepository", "name mirrors of the kubelet in `assets.programs`; remove it"),
    ("ssh", "users of the hosts are yours; remove it and write `ssh` in the Host documents"),
    ("rollout", ROLLOUT),
    ("pools[].labels", "nothing on hosts has labels of the pool; use `nodeLabels`"),
    ("pools[].machineType", MACHINES),
    ("pools[].image", MACHINES),
    ("pools[].architecture", MACHINES),
    ("pools[].subnets", CLOUD_NETWORK),
    ("pools[].zones", "write `zone` in the Host documents instead"),
    ("pools[].publicIp", CLOUD_NETWORK),
    ("pools[].additionalSecurityGroups", CLOUD_NETWORK),
    ("pools[].rootVolume", MACHINES),
    ("pools[].volumes", MACHINES),
    ("pools[].spot", MACHINES),
    ("pools[].mixedInstances", MACHINES),
    ("pools[].warmPool", MACHINES),
    ("pools[].userData", USER_DATA),
    ("pools[].rollout", ROLLOUT),
    ("pools[].providerConfig", MACHINES),
];

/// Those of the written fields that do nothing on machines that exist: each one once, at the outermost place.
pub fn without_effect<'a>(written: impl Iterator<Item = &'a str>) -> Vec<WithoutEffect> {
    let mut found: Vec<WithoutEffect> = Vec::new();
    for field in written {
        let plain = without_names(field);
        let is_below = |outer: &str| {
            plain.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let Some((_, why)) = TABLE.iter().find(|(outer, _)| is_below(outer)) else { continue };
        let is_inside = |known: &WithoutEffect| {
            field.strip_prefix(known.field.as_str()).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        if !found.iter().any(is_inside) {
            found.push(WithoutEffect { field: field.to_owned(), why });
        }
    }
    found
}

/// A path without the names of items: `pools[workers].zones[0]` is `pools[].zones[]`.
fn without_names(path: &str) -> String {
    let mut plain = String::new();
    let mut inside = false;
    for letter in path.chars() {
        match letter {
            '[' => {
                inside = true;
                plain.push('[');
            }
            ']' => {
                inside = false;
                plain.push(']');
            }
            letter if !inside => plain.push(letter),
            _ => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use slipway_spec::leaves::leaves;

    use super::*;

    /// Fields that are read on hosts, remarked on by a plan, or used by the caller. Paths as in the table.
    const READ: &[&str] = &[
        "metadata.name",
        "provider",
        "profile",
        "kubernetesVersion",
        "network.podCidrs",
        "network.serviceCidrs",
        "network.clusterDomain",
        "network.nodePortRange",
        "network.proxyMode",
        "network.cni",
        // Validation holds the ranges against it.
        "network.ipFamily",
        "controlPlane.endpoint",
        "controlPlane.nodeLocalBalancer",
        "controlPlane.hosting",
        // Upgrades use them.
        "controlPlane.soak",
        "controlPlane.onBrokenGate",
        "controlPlane.gates",
        "containerRuntime.registryMirrors",
        "egressProxy",
        "controlPlane.additionalSans",
        "controlPlane.schedulable",
        "etcd[].name",
        "etcd[].backups",
        "components.apiServer",
        "components.controllerManager",
        "components.scheduler",
        "components.etcd",
        "components.kubelet",
        "components.proxy.extraArgs",
        "kubelet",
        "addons[].name",
        "addons[].enabled",
        "addons[].manifest",
        "encryption",
        "audit",
        "podSecurity",
        "serviceAccounts.issuer",
        "serviceAccounts.additionalAudiences",
        "assets.imageRegistry",
        // Those of a cloud are refused by their names.
        "assets.programs",
        // Refused without a listed containerd.
        "containerRuntime.version",
        "sysctls",
        "nodeFiles.files",
        // Refused by their names.
        "nodeFiles.hooks",
        "cloudLabels",
        "deletionProtection",
        "ignoreChanges",
        "moved",
        "removed",
        "import",
        "pools[].metadata.name",
        "pools[].cluster",
        "pools[].role",
        "pools[].size",
        "pools[].hosts",
        // Refused without a listed kubelet, where it is not the version of the cluster.
        "pools[].kubernetesVersion",
        "pools[].nodeLabels",
        "pools[].taints",
        "pools[].kubelet",
        "pools[].sysctls",
        "pools[].nodeFiles.files",
        "pools[].nodeFiles.hooks",
        "pools[].packages",
        "pools[].cloudLabels",
    ];

    #[test]
    fn every_field_is_read_on_hosts_or_refused() {
        let field = |document: &str, path: &str| {
            let path = path.strip_prefix("spec.").unwrap_or(path);
            let path =
                path.strip_prefix("metadata.labels").map_or(path.to_owned(), |rest| format!("labels{rest}"));
            if document == "NodePool" { format!("pools[].{path}") } else { path }
        };
        let undecided: Vec<String> = leaves()
            .into_iter()
            .filter(|leaf| leaf.document != "Host")
            .map(|leaf| field(leaf.document, &leaf.path))
            .filter(|field| {
                let is_read = |outer: &&str| {
                    let rest = field.strip_prefix(*outer);
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
                };
                !READ.iter().any(is_read) && without_effect([field.as_str()].into_iter()).is_empty()
            })
            .collect();
        assert!(undecided.is_empty(), "neither read on hosts nor refused: {undecided:#?}");
    }

    #[test]
    fn a_written_field_is_told_once_at_its_outermost_place() {
        let written = [
            "kubernetesVersion",
            "components.apiServer.extraArgs",
            "components.etcd.image",
            "etcd[main].backups.enabled",
            "etcd[main].members",
            "etcd[main].members[a].volume",
            "pools[workers].rootVolume",
            "pools[workers].rootVolume.sizeGib",
            "pools[workers].hosts",
            "sshKeys",
        ];
        let found = without_effect(written.into_iter());
        let fields: Vec<&str> = found.iter().map(|found| found.field.as_str()).collect();
        assert_eq!(fields, ["components.etcd.image", "etcd[main].members", "pools[workers].rootVolume"]);
    }
}
