//! The control plane and etcd.

use slipway_cluster_input as input;

use super::all;
use crate::model;

impl From<model::ControlPlane> for input::ControlPlane {
    fn from(from: model::ControlPlane) -> Self {
        let model::ControlPlane {
            endpoint,
            node_local_balancer,
            hosting,
            soak,
            on_broken_gate,
            // Plans are made with them, not resources.
            gates: _,
            dns,
            additional_sans,
            access,
            schedulable,
        } = from;
        Self {
            endpoint: endpoint.into(),
            node_local_balancer,
            hosting: hosting.into(),
            soak,
            on_broken_gate: on_broken_gate.map(Into::into),
            dns: dns.into(),
            additional_sans,
            access,
            schedulable,
        }
    }
}

impl From<model::GivenEndpoint> for input::GivenEndpoint {
    fn from(from: model::GivenEndpoint) -> Self {
        let model::GivenEndpoint { host, port } = from;
        Self { host, port }
    }
}

impl From<model::LoadBalancer> for input::LoadBalancer {
    fn from(from: model::LoadBalancer) -> Self {
        let model::LoadBalancer {
            scheme,
            cross_zone,
            certificate,
            tls_policy,
            subnets,
            additional_security_groups,
            idle_timeout,
            access_log,
        } = from;
        Self {
            scheme: scheme.into(),
            cross_zone,
            certificate,
            tls_policy,
            subnets,
            additional_security_groups,
            idle_timeout,
            access_log: access_log.map(Into::into),
        }
    }
}

impl From<model::AccessLog> for input::AccessLog {
    fn from(from: model::AccessLog) -> Self {
        let model::AccessLog { bucket, prefix } = from;
        Self { bucket, prefix }
    }
}

impl From<model::VirtualIp> for input::VirtualIp {
    fn from(from: model::VirtualIp) -> Self {
        let model::VirtualIp { address, holder, mode, interface, port, bgp, wireguard, image } = from;
        Self {
            address,
            holder: holder.into(),
            mode: mode.into(),
            interface,
            port,
            bgp: bgp.map(Into::into),
            wireguard: wireguard.map(Into::into),
            image,
        }
    }
}

impl From<model::Bgp> for input::Bgp {
    fn from(from: model::Bgp) -> Self {
        let model::Bgp { autonomous_system, peers } = from;
        Self { autonomous_system, peers: all(peers) }
    }
}

impl From<model::BgpPeer> for input::BgpPeer {
    fn from(from: model::BgpPeer) -> Self {
        let model::BgpPeer { address, autonomous_system, multihop } = from;
        Self { address, autonomous_system, multihop }
    }
}

impl From<model::Wireguard> for input::Wireguard {
    fn from(from: model::Wireguard) -> Self {
        let model::Wireguard { tunnels } = from;
        Self { tunnels }
    }
}

impl From<model::Dns> for input::Dns {
    fn from(from: model::Dns) -> Self {
        let model::Dns { kind, zone } = from;
        Self { kind: kind.into(), zone }
    }
}

impl From<model::Endpoint> for input::Endpoint {
    fn from(from: model::Endpoint) -> Self {
        match from {
            model::Endpoint::Given(inner) => Self::Given(inner.into()),
            model::Endpoint::LoadBalancer(inner) => Self::LoadBalancer(inner.into()),
            model::Endpoint::VirtualIp(inner) => Self::VirtualIp(inner.into()),
            model::Endpoint::Elected {} => Self::Elected {},
        }
    }
}

impl From<model::Scheme> for input::Scheme {
    fn from(from: model::Scheme) -> Self {
        match from {
            model::Scheme::Public => Self::Public,
            model::Scheme::Internal => Self::Internal,
        }
    }
}

impl From<model::BrokenGate> for input::BrokenGate {
    fn from(from: model::BrokenGate) -> Self {
        match from {
            model::BrokenGate::Stop => Self::Stop,
            model::BrokenGate::Back => Self::Back,
        }
    }
}

impl From<model::Hosting> for input::Hosting {
    fn from(from: model::Hosting) -> Self {
        match from {
            model::Hosting::StaticPods => Self::StaticPods,
            model::Hosting::SelfHosted => Self::SelfHosted,
        }
    }
}

impl From<model::VirtualIpHolder> for input::VirtualIpHolder {
    fn from(from: model::VirtualIpHolder) -> Self {
        match from {
            model::VirtualIpHolder::KubeVip => Self::KubeVip,
            model::VirtualIpHolder::Slipway => Self::Slipway,
        }
    }
}

impl From<model::VirtualIpMode> for input::VirtualIpMode {
    fn from(from: model::VirtualIpMode) -> Self {
        match from {
            model::VirtualIpMode::Arp => Self::Arp,
            model::VirtualIpMode::Bgp => Self::Bgp,
            model::VirtualIpMode::Wireguard => Self::Wireguard,
        }
    }
}

impl From<model::DnsKind> for input::DnsKind {
    fn from(from: model::DnsKind) -> Self {
        match from {
            model::DnsKind::None => Self::None,
            model::DnsKind::Public => Self::Public,
            model::DnsKind::Private => Self::Private,
        }
    }
}

impl From<model::Encryption> for input::Encryption {
    fn from(from: model::Encryption) -> Self {
        let model::Encryption { at_rest } = from;
        Self { at_rest: at_rest.map(Into::into) }
    }
}

impl From<model::AtRest> for input::AtRest {
    fn from(from: model::AtRest) -> Self {
        let model::AtRest { provider, key, kms_endpoint, resources } = from;
        Self { provider: provider.into(), key, kms_endpoint, resources }
    }
}

impl From<model::AtRestProvider> for input::AtRestProvider {
    fn from(from: model::AtRestProvider) -> Self {
        match from {
            model::AtRestProvider::Secretbox => Self::Secretbox,
            model::AtRestProvider::Aescbc => Self::Aescbc,
            model::AtRestProvider::Kms => Self::Kms,
        }
    }
}

impl From<model::Audit> for input::Audit {
    fn from(from: model::Audit) -> Self {
        let model::Audit { enabled, policy, max_age_days, max_backups, max_size_mebibytes } = from;
        Self { enabled, policy, max_age_days, max_backups, max_size_mebibytes }
    }
}

impl From<model::Authentication> for input::Authentication {
    fn from(from: model::Authentication) -> Self {
        let model::Authentication { open_id_connect, anonymous_health_checks } = from;
        Self { open_id_connect: all(open_id_connect), anonymous_health_checks }
    }
}

impl From<model::OpenIdConnect> for input::OpenIdConnect {
    fn from(from: model::OpenIdConnect) -> Self {
        let model::OpenIdConnect {
            issuer,
            client_id,
            username_claim,
            username_prefix,
            groups_claim,
            groups_prefix,
            required_claims,
        } = from;
        Self {
            issuer,
            client_id,
            username_claim,
            username_prefix,
            groups_claim,
            groups_prefix,
            required_claims,
        }
    }
}

impl From<model::ServiceAccounts> for input::ServiceAccounts {
    fn from(from: model::ServiceAccounts) -> Self {
        let model::ServiceAccounts { issuer, discovery_store, additional_audiences } = from;
        Self { issuer, discovery_store, additional_audiences }
    }
}

impl From<model::EtcdCluster> for input::EtcdCluster {
    fn from(from: model::EtcdCluster) -> Self {
        let model::EtcdCluster { name, members, version, backups, cpu_request, memory_request } = from;
        Self { name, members: all(members), version, backups: backups.into(), cpu_request, memory_request }
    }
}

impl From<model::EtcdMember> for input::EtcdMember {
    fn from(from: model::EtcdMember) -> Self {
        let model::EtcdMember { name, pool, subnet, volume } = from;
        Self { name, pool, subnet, volume: volume.map(Into::into) }
    }
}

impl From<model::EtcdBackups> for input::EtcdBackups {
    fn from(from: model::EtcdBackups) -> Self {
        let model::EtcdBackups { enabled, interval, retention, store, keep_on_delete } = from;
        Self { enabled, interval, retention, store, keep_on_delete }
    }
}

impl From<model::PodSecurity> for input::PodSecurity {
    fn from(from: model::PodSecurity) -> Self {
        let model::PodSecurity { enforce, audit, warn, exempt_namespaces } = from;
        Self { enforce: enforce.into(), audit: audit.into(), warn: warn.into(), exempt_namespaces }
    }
}

impl From<model::PodSecurityLevel> for input::PodSecurityLevel {
    fn from(from: model::PodSecurityLevel) -> Self {
        match from {
            model::PodSecurityLevel::Privileged => Self::Privileged,
            model::PodSecurityLevel::Baseline => Self::Baseline,
            model::PodSecurityLevel::Restricted => Self::Restricted,
        }
    }
}
