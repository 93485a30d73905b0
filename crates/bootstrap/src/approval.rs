//! Approval of the kubelets' certificate requests.
//!
//! The rules for client certificates are those of Kubernetes' own approver, and one more: a token that is
//! bound to a node's name gets a certificate for that node only. Kubernetes approves no serving certificates.
//! Here a serving certificate is approved when the node itself requests it, and only for known names and
//! addresses of the node.

use std::collections::BTreeSet;

use crate::{
    pki::{AlternativeNames, Request},
    token,
};

/// The signer of client certificates of kubelets.
pub const CLIENT_SIGNER: &str = "kubernetes.io/kube-apiserver-client-kubelet";
/// The signer of serving certificates of kubelets.
pub const SERVING_SIGNER: &str = "kubernetes.io/kubelet-serving";

const NODES: &str = "system:nodes";
const USER_PREFIX: &str = "system:node:";
const BOOTSTRAPPERS: &str = "system:bootstrappers";

/// The author of a request, as the API server records it in the `CertificateSigningRequest`.
#[derive(Debug, Clone, Copy)]
pub struct Requester<'a> {
    /// The user.
    pub user: &'a str,
    /// The user's groups.
    pub groups: &'a [String],
}

/// An approved client certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The node that it is for.
    pub node: String,
    /// Whether the node has a certificate already and requests its successor.
    pub renewal: bool,
}

/// Why a request is denied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denial {
    /// It is not for a node.
    #[error(
        "it is for {0:?}, which is not a node's user: that is system:node:<name> in the one group system:nodes"
    )]
    NoNode(String),
    /// It requests other usages.
    #[error("it asks for the usages {}, which a kubelet's certificate does not have", .0.join(", "))]
    Usages(Vec<String>),
    /// A client certificate with names.
    #[error("it asks for names and addresses, and a client certificate has none")]
    Names,
    /// A serving certificate without names, or with names of other kinds.
    #[error("it asks for no DNS name and no address, or for names of other kinds")]
    NoNames,
    /// The requesting user may not have the certificate.
    #[error("{user:?} may not ask for the certificate of the node {node:?}")]
    Requester {
        /// The requesting user.
        user: String,
        /// The node.
        node: String,
    },
    /// The token is bound to another node.
    #[error("the token is for the node {bound:?}, not for {node:?}")]
    BoundToAnother {
        /// The node that the token is for.
        bound: String,
        /// The requested node.
        node: String,
    },
    /// The node is not known to have a name or address.
    #[error("the node {node:?} is not known to have {}", unknown.join(", "))]
    NotKnown {
        /// The node.
        node: String,
        /// The unknown names and addresses.
        unknown: Vec<String>,
    },
}

impl Denial {
    /// The stable code, with a page in `docs/errors/`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        "APPROVAL0001"
    }
}

/// Approves or denies a request for a kubelet's client certificate. The node itself, or a user of a bootstrap
/// token, may request it. `usages` are those of the `CertificateSigningRequest`.
///
/// # Errors
/// [`Denial`] says why not.
pub fn client(request: &Request, usages: &[String], requester: Requester<'_>) -> Result<Client, Denial> {
    let node = node(request)?;
    if !request.names().is_empty() || request.has_other_names() {
        return Err(Denial::Names);
    }
    has_usages(usages, "client auth")?;
    if is_node(requester, &node) {
        return Ok(Client { node, renewal: true });
    }
    if !requester.groups.iter().any(|group| group == BOOTSTRAPPERS) {
        return Err(Denial::Requester { user: requester.user.to_owned(), node });
    }
    match token::node_of_groups(requester.groups.iter().map(String::as_str)) {
        Some(bound) if bound != node => Err(Denial::BoundToAnother { bound, node }),
        _ => Ok(Client { node, renewal: false }),
    }
}

/// Approves or denies a request for a kubelet's serving certificate: the node itself must request it, for
/// names and addresses among the `known` ones. Returns the node's name.
///
/// # Errors
/// [`Denial`] says why not.
pub fn serving(
    request: &Request,
    usages: &[String],
    requester: Requester<'_>,
    known: &AlternativeNames,
) -> Result<String, Denial> {
    let node = node(request)?;
    has_usages(usages, "server auth")?;
    if !is_node(requester, &node) {
        return Err(Denial::Requester { user: requester.user.to_owned(), node });
    }
    let asked = request.names();
    if asked.is_empty() || request.has_other_names() {
        return Err(Denial::NoNames);
    }
    // A known name matches only itself: a known host does not allow a wildcard above it.
    let names = asked.dns.iter().filter(|name| !known.dns.iter().any(|own| own.eq_ignore_ascii_case(name)));
    let addresses = asked
        .ip
        .iter()
        .filter(|address| !known.ip.iter().any(|own| own.to_canonical() == address.to_canonical()));
    let unknown: Vec<String> = names.cloned().chain(addresses.map(ToString::to_string)).collect();
    if unknown.is_empty() { Ok(node) } else { Err(Denial::NotKnown { node, unknown }) }
}

/// The node of a request.
fn node(request: &Request) -> Result<String, Denial> {
    let subject = request.subject();
    let node = subject.common_name.strip_prefix(USER_PREFIX).filter(|node| !node.is_empty());
    match node {
        Some(node) if subject.organizations == [NODES] => Ok(node.to_owned()),
        _ => Err(Denial::NoNode(subject.common_name.clone())),
    }
}

fn is_node(requester: Requester<'_>, node: &str) -> bool {
    requester.user.strip_prefix(USER_PREFIX) == Some(node)
        && requester.groups.iter().any(|group| group == NODES)
}

/// Exactly `digital signature` and this usage, and optionally `key encipherment`.
fn has_usages(usages: &[String], usage: &str) -> Result<(), Denial> {
    let given: BTreeSet<&str> = usages.iter().map(String::as_str).collect();
    let needed = BTreeSet::from(["digital signature", usage]);
    let mut allowed = needed.clone();
    allowed.insert("key encipherment");
    let fits = given.len() == usages.len() && given.is_superset(&needed) && given.is_subset(&allowed);
    if fits { Ok(()) } else { Err(Denial::Usages(usages.to_vec())) }
}

#[cfg(test)]
mod tests;
