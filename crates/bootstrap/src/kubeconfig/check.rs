use jiff::Timestamp;

use super::Kubeconfig;
use crate::pki::{Certificate, Subject, verify};

/// Something wrong with a kubeconfig that is already there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It cannot be used at all.
    #[error("{0}")]
    Unusable(String),
    /// It does not trust the cluster's CA.
    #[error(
        "it trusts another CA than the cluster's: it was made for another cluster, or before its CA was replaced"
    )]
    OtherAuthority,
    /// It leads elsewhere.
    #[error("it leads to {found}, not to {wanted}")]
    OtherServer {
        /// Where it should lead.
        wanted: String,
        /// Where it leads.
        found: String,
    },
    /// Something is wrong with its client certificate.
    #[error("its client certificate: {0}")]
    Certificate(#[from] verify::Problem),
}

impl Problem {
    /// Whether what has it cannot be used. As with kubeadm, another server is only a warning, and so is a certificate
    /// whose time is over: it can be renewed.
    #[must_use]
    pub const fn is_fatal(&self) -> bool {
        match self {
            Self::Unusable(_) | Self::OtherAuthority => true,
            Self::OtherServer { .. } => false,
            Self::Certificate(problem) => problem.is_fatal(),
        }
    }
}

impl Kubeconfig {
    /// Checks an existing kubeconfig. It must trust one of the `authorities`, the cluster's CAs;
    /// `authority_file` is the text of the file that it names instead of an embedded CA. An embedded client
    /// certificate must be signed by one of them and be for `subject`.
    #[must_use]
    pub fn check(
        &self,
        server: &str,
        authorities: &[Certificate],
        authority_file: Option<&str>,
        subject: Option<&Subject>,
        now: Timestamp,
    ) -> Vec<Problem> {
        let cluster = match self.cluster() {
            Ok(cluster) => cluster,
            Err(error) => return vec![Problem::Unusable(error.to_string())],
        };
        let mut problems = Vec::new();
        let trusted = cluster.authority.as_deref().or(authority_file).map(str::trim).unwrap_or_default();
        match Certificate::from_pem(trusted) {
            Err(_) => {
                problems.push(Problem::Unusable("it has no certificate of a CA that can be read".to_owned()))
            }
            Ok(first) if !authorities.contains(&first) => problems.push(Problem::OtherAuthority),
            Ok(_) => {}
        }
        if cluster.server != server {
            problems.push(Problem::OtherServer { wanted: server.to_owned(), found: cluster.server });
        }
        match (self.certificate(), self.key()) {
            (Err(error), _) | (_, Err(error)) => problems.push(Problem::Unusable(error.to_string())),
            (Ok(Some(certificate)), Ok(key)) => {
                let signed =
                    authorities.iter().any(|authority| verify::is_signed(&certificate, &[], authority));
                if let (false, Some(authority)) = (signed, authorities.first()) {
                    problems.push(Problem::Certificate(verify::Problem::NotSigned {
                        authority: authority.subject().common_name.clone(),
                        issuer: certificate.issuer().common_name.clone(),
                    }));
                }
                if key.is_some_and(|key| key.public_key() != certificate.public_key()) {
                    problems.push(Problem::Certificate(verify::Problem::OtherKey));
                }
                problems.extend(verify::period(&certificate, now).map(Problem::Certificate));
                if let Some(wanted) = subject {
                    problems.extend(verify::subject(&certificate, wanted).map(Problem::Certificate));
                }
            }
            (Ok(None), Ok(_)) => {}
        }
        problems
    }
}
