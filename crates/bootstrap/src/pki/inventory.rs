//! The certificates and keys that a control plane consists of, as data.

use std::time::Duration;

use jiff::Timestamp;

use super::{AlternativeNames, Result, Subject, Template, Usage};
use crate::configuration::Configuration;

/// The group to which kubeadm binds the role `cluster-admin`.
pub const ADMINISTRATORS: &str = "kubeadm:cluster-admins";
/// The base name of the key pair that signs tokens of service accounts: `sa.key`, `sa.pub`.
pub const SERVICE_ACCOUNT: &str = "sa";

/// One certificate of a control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The name of its phase below `certs`, and its name in reports.
    pub name: &'static str,
    /// Its path below the folder of certificates, without the ending.
    pub base_name: &'static str,
    /// Its purpose, in a few words.
    pub description: &'static str,
    /// The CA that signs it, by its name; absent for a CA.
    pub authority: Option<&'static str>,
    common_name: CommonName,
    organization: Option<&'static str>,
    usages: &'static [Usage],
    names: Names,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommonName {
    Fixed(&'static str),
    Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    None,
    ApiServer,
    EtcdServer,
    EtcdPeer,
}

const fn authority(
    name: &'static str,
    base_name: &'static str,
    common_name: &'static str,
    description: &'static str,
) -> Entry {
    Entry {
        name,
        base_name,
        description,
        authority: None,
        common_name: CommonName::Fixed(common_name),
        organization: None,
        usages: &[],
        names: Names::None,
    }
}

const fn client(
    name: &'static str,
    base_name: &'static str,
    common_name: &'static str,
    authority: &'static str,
    description: &'static str,
) -> Entry {
    Entry {
        name,
        base_name,
        description,
        authority: Some(authority),
        common_name: CommonName::Fixed(common_name),
        organization: None,
        usages: &[Usage::Client],
        names: Names::None,
    }
}

/// Every certificate, each CA before what it signs, in the order of kubeadm's phases.
pub const CERTIFICATES: [Entry; 10] = [
    authority(
        "ca",
        "ca",
        "kubernetes",
        "self-signed Kubernetes CA to provision identities for other Kubernetes components",
    ),
    Entry {
        usages: &[Usage::Server],
        names: Names::ApiServer,
        ..client(
            "apiserver",
            "apiserver",
            "kube-apiserver",
            "ca",
            "certificate for serving the Kubernetes API",
        )
    },
    Entry {
        organization: Some(ADMINISTRATORS),
        ..client(
            "apiserver-kubelet-client",
            "apiserver-kubelet-client",
            "kube-apiserver-kubelet-client",
            "ca",
            "certificate for the API server to connect to kubelet",
        )
    },
    authority(
        "front-proxy-ca",
        "front-proxy-ca",
        "front-proxy-ca",
        "self-signed CA to provision identities for front proxy",
    ),
    client(
        "front-proxy-client",
        "front-proxy-client",
        "front-proxy-client",
        "front-proxy-ca",
        "certificate for the front proxy client",
    ),
    authority("etcd-ca", "etcd/ca", "etcd-ca", "self-signed CA to provision identities for etcd"),
    Entry {
        common_name: CommonName::Node,
        usages: &[Usage::Server, Usage::Client],
        names: Names::EtcdServer,
        ..client("etcd-server", "etcd/server", "", "etcd-ca", "certificate for serving etcd")
    },
    Entry {
        common_name: CommonName::Node,
        usages: &[Usage::Server, Usage::Client],
        names: Names::EtcdPeer,
        ..client(
            "etcd-peer",
            "etcd/peer",
            "",
            "etcd-ca",
            "certificate for etcd nodes to communicate with each other",
        )
    },
    client(
        "etcd-healthcheck-client",
        "etcd/healthcheck-client",
        "kube-etcd-healthcheck-client",
        "etcd-ca",
        "certificate for liveness probes to healthcheck etcd",
    ),
    client(
        "apiserver-etcd-client",
        "apiserver-etcd-client",
        "kube-apiserver-etcd-client",
        "etcd-ca",
        "certificate the apiserver uses to access etcd",
    ),
];

/// The certificates that a configuration needs: those of etcd only where its members run beside the API servers.
pub fn certificates(configuration: &Configuration) -> impl Iterator<Item = &'static Entry> {
    let etcd = configuration.cluster.etcd.local().is_some();
    CERTIFICATES.iter().filter(move |entry| etcd || !entry.belongs_to_etcd())
}

/// The certificate with this name.
#[must_use]
pub fn certificate(name: &str) -> Option<&'static Entry> {
    CERTIFICATES.iter().find(|entry| entry.name == name)
}

/// The files that are the same on every control plane, below the folder of certificates, in kubeadm's order; with an
/// etcd elsewhere its CA is not among them.
#[must_use]
pub fn shared_files(configuration: &Configuration) -> Vec<&'static str> {
    let mut files = vec!["ca.crt", "ca.key", "front-proxy-ca.crt", "front-proxy-ca.key", "sa.pub", "sa.key"];
    if configuration.cluster.etcd.local().is_some() {
        files.extend(["etcd/ca.crt", "etcd/ca.key"]);
    }
    files
}

impl Entry {
    /// Whether it is a CA.
    #[must_use]
    pub const fn is_authority(&self) -> bool {
        self.authority.is_none()
    }

    /// Whether it is only needed where etcd runs beside the API servers.
    #[must_use]
    pub fn belongs_to_etcd(&self) -> bool {
        self.name == "etcd-ca" || self.authority == Some("etcd-ca")
    }

    /// The entry of the CA that signs it.
    #[must_use]
    pub fn authority_entry(&self) -> Option<&'static Self> {
        certificate(self.authority?)
    }

    /// The path of the certificate.
    #[must_use]
    pub fn certificate_path(&self, configuration: &Configuration) -> String {
        format!("{}/{}.crt", configuration.cluster.certificates_dir, self.base_name)
    }

    /// The path of its key.
    #[must_use]
    pub fn key_path(&self, configuration: &Configuration) -> String {
        format!("{}/{}.key", configuration.cluster.certificates_dir, self.base_name)
    }

    /// The path of a request for it.
    #[must_use]
    pub fn request_path(&self, configuration: &Configuration) -> String {
        format!("{}/{}.csr", configuration.cluster.certificates_dir, self.base_name)
    }

    /// Its usages.
    #[must_use]
    pub const fn usages(&self) -> &'static [Usage] {
        self.usages
    }

    /// Its subject.
    #[must_use]
    pub fn subject(&self, configuration: &Configuration) -> Subject {
        let common_name = match self.common_name {
            CommonName::Fixed(name) => name,
            CommonName::Node => &configuration.node.name,
        };
        Subject::new(common_name).with_organizations(self.organization)
    }

    /// The names and addresses in it.
    #[must_use]
    pub fn names(&self, configuration: &Configuration) -> AlternativeNames {
        let names = match self.names {
            Names::None if self.is_authority() => {
                AlternativeNames { dns: vec![self.subject(configuration).common_name], ip: Vec::new() }
            }
            Names::None => AlternativeNames::default(),
            Names::ApiServer => api_server_names(configuration),
            Names::EtcdServer => etcd_names(configuration, |etcd| &etcd.server_cert_sans),
            Names::EtcdPeer => etcd_names(configuration, |etcd| &etcd.peer_cert_sans),
        };
        names.normalised()
    }

    /// How long it is valid.
    #[must_use]
    pub fn validity(&self, configuration: &Configuration) -> Duration {
        let cluster = &configuration.cluster;
        if self.is_authority() {
            cluster.ca_certificate_validity_period.get()
        } else {
            cluster.certificate_validity_period.get()
        }
    }

    /// The template of the certificate, when it is made now.
    ///
    /// # Errors
    /// When its end is not a valid time.
    pub fn template(&self, configuration: &Configuration, now: Timestamp) -> Result<Template> {
        let subject = self.subject(configuration);
        let validity = self.validity(configuration);
        if self.is_authority() {
            return Template::authority(&subject.common_name, now, validity);
        }
        let template = Template::leaf(subject, now, validity)?;
        Ok(template.with_names(self.names(configuration)).with_usages(self.usages))
    }
}

fn api_server_names(configuration: &Configuration) -> AlternativeNames {
    let (cluster, node) = (&configuration.cluster, &configuration.node);
    let mut names = AlternativeNames::default();
    names.dns.push(node.name.clone());
    names.dns.extend(["kubernetes", "kubernetes.default", "kubernetes.default.svc"].map(ToOwned::to_owned));
    names.dns.push(format!("kubernetes.default.svc.{}", cluster.networking.dns_domain));
    names.ip.extend(cluster.networking.api_server_service_address());
    names.ip.push(node.advertise_address);
    if let Some(endpoint) = &cluster.control_plane_endpoint {
        names.add(endpoint.host());
    }
    for name in &cluster.api_server.cert_sans {
        names.add(name);
    }
    names
}

fn etcd_names(
    configuration: &Configuration,
    further: fn(&crate::configuration::LocalEtcd) -> &[String],
) -> AlternativeNames {
    let node = &configuration.node;
    let mut names = AlternativeNames::of([node.name.as_str(), "localhost"]);
    names.ip.push(node.advertise_address);
    names.add("127.0.0.1");
    names.add("::1");
    for name in configuration.cluster.etcd.local().map_or(&[][..], further) {
        names.add(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::{Detected, Etcd, ExternalEtcd};

    #[test]
    fn each_authority_stands_before_what_it_signs() {
        for (index, entry) in CERTIFICATES.iter().enumerate() {
            if let Some(authority) = entry.authority {
                assert!(CERTIFICATES[..index].iter().any(|other| other.name == authority), "{}", entry.name);
            }
        }
    }

    #[test]
    fn the_api_server_answers_to_all_its_names() {
        let mut configuration = Configuration::new(&Detected::default());
        configuration.cluster.control_plane_endpoint = Some("10.0.0.1:6443".parse().unwrap());
        configuration.cluster.api_server.cert_sans = vec!["*.example.test".to_owned(), "fd00::1".to_owned()];
        let names = certificate("apiserver").unwrap().names(&configuration);
        assert_eq!(
            names.dns,
            [
                "*.example.test",
                "kubernetes",
                "kubernetes.default",
                "kubernetes.default.svc",
                "kubernetes.default.svc.cluster.local",
                "node"
            ]
        );
        let addresses: Vec<String> = names.ip.iter().map(ToString::to_string).collect();
        assert_eq!(addresses, ["10.96.0.1", "1.2.3.4", "10.0.0.1", "fd00::1"]);
    }

    #[test]
    fn an_etcd_elsewhere_has_its_own_certificates() {
        let mut configuration = Configuration::new(&Detected::default());
        configuration.cluster.etcd = Etcd::External(ExternalEtcd {
            endpoints: vec!["https://10.0.0.9:2379".to_owned()],
            ca_file: String::new(),
            cert_file: String::new(),
            key_file: String::new(),
        });
        assert_eq!(certificates(&configuration).count(), 5);
    }
}
