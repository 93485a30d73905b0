//! Which requests of kubelets for certificates are approved.
//!
//! The rules for client certificates are those of Kubernetes' own approver, and one more: a token that is bound to a
//! node's name gets a certificate for that node only. Kubernetes approves no serving certificates; here they are
//! approved when the node itself asks, and for nothing but the names and addresses that it is known to have.

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

/// Who made a request, as the API server says it in the `CertificateSigningRequest`.
#[derive(Debug, Clone, Copy)]
pub struct Requester<'a> {
    /// The user.
    pub user: &'a str,
    /// The user's groups.
    pub groups: &'a [String],
}

/// A client certificate that is approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Client {
    /// The node that it is for.
    pub node: String,
    /// Whether the node has a certificate already and asks for its successor.
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
    /// It asks for other uses.
    #[error("it asks for the usages {}, which a kubelet's certificate does not have", .0.join(", "))]
    Usages(Vec<String>),
    /// A client certificate with names.
    #[error("it asks for names and addresses, and a client certificate has none")]
    Names,
    /// A serving certificate without names, or with names of other kinds.
    #[error("it asks for no DNS name and no address, or for names of other kinds")]
    NoNames,
    /// Whoever asks may not.
    #[error("{user:?} may not ask for the certificate of the node {node:?}")]
    Requester {
        /// Who asks.
        user: String,
        /// The node.
        node: String,
    },
    /// The token is bound to another node.
    #[error("the token is for the node {bound:?}, not for {node:?}")]
    BoundToAnother {
        /// The node that the token is for.
        bound: String,
        /// The node that is asked for.
        node: String,
    },
    /// The node is not known to have a name or address.
    #[error("the node {node:?} is not known to have {}", unknown.join(", "))]
    NotKnown {
        /// The node.
        node: String,
        /// What it asks for.
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

/// Whether a request for a kubelet's client certificate is approved: by the node itself, or by whoever shows a
/// bootstrap token. `usages` are those of the `CertificateSigningRequest`.
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

/// Whether a request for a kubelet's serving certificate is approved: the node itself asks, for names and addresses
/// among those that it is `known` to have. Gives the node's name.
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
    // A name is known as it is: nobody gets a wildcard because one host below it is known.
    let names = asked.dns.iter().filter(|name| !known.dns.iter().any(|own| own.eq_ignore_ascii_case(name)));
    let addresses = asked
        .ip
        .iter()
        .filter(|address| !known.ip.iter().any(|own| own.to_canonical() == address.to_canonical()));
    let unknown: Vec<String> = names.cloned().chain(addresses.map(ToString::to_string)).collect();
    if unknown.is_empty() { Ok(node) } else { Err(Denial::NotKnown { node, unknown }) }
}

/// The node that a request is for.
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

/// Exactly `digital signature` and this usage, and perhaps `key encipherment`.
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
