use super::Error;
use crate::{
    kubeconfig::{Credentials, Kubeconfig, inventory::BOOTSTRAP_USER},
    pki::Certificate,
    token::Token,
};

/// A cluster that a kubeconfig vouches for which the user brought to the node.
#[derive(Debug, Clone, PartialEq)]
pub struct FileTrust {
    /// The URL of its API.
    pub server: String,
    /// The PEM text of its CAs.
    pub authority: String,
    kubeconfig: Kubeconfig,
}

impl FileTrust {
    /// Reads the trust in a kubeconfig. `read` returns the text of a file that it names. A CA that is neither
    /// embedded nor in such a file is an error, since TLS could not be checked.
    ///
    /// # Errors
    /// [`Error::Kubeconfig`] when it does not say how to reach and check a cluster.
    pub fn from_kubeconfig(
        kubeconfig: Kubeconfig,
        read: impl FnOnce(&str) -> Option<String>,
    ) -> Result<Self, Error> {
        let unusable = |error: &dyn std::fmt::Display| Error::Kubeconfig(error.to_string());
        let cluster = kubeconfig.cluster().map_err(|error| unusable(&error))?;
        if !cluster.server.starts_with("https://") {
            return Err(Error::Kubeconfig(format!(
                "its server is {:?}, which is not an https URL",
                cluster.server
            )));
        }
        let authority = match (cluster.authority, cluster.authority_path) {
            (Some(text), _) => text,
            (None, Some(path)) => read(&path)
                .ok_or_else(|| Error::Kubeconfig(format!("the file of its CA, {path}, cannot be read")))?,
            (None, None) => return Err(Error::Kubeconfig("it names no CA".to_owned())),
        };
        Certificate::chain_from_pem(&authority).map_err(|error| unusable(&error))?;
        Ok(Self { server: cluster.server, authority, kubeconfig })
    }

    /// Whether the file holds credentials of its own, so that no token is needed.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        self.kubeconfig.has_credentials()
    }

    /// The kubeconfig with which the kubelet asks for its certificate: with `token` where one is given, else with the
    /// file's own credentials. `None` when there are neither.
    #[must_use]
    pub fn bootstrap_kubeconfig(&self, cluster: &str, token: Option<&Token>) -> Option<Kubeconfig> {
        match token {
            Some(token) => {
                let credentials = Credentials::Token(token.to_text());
                Some(Kubeconfig::new(cluster, &self.server, &self.authority, BOOTSTRAP_USER, &credentials))
            }
            None if self.has_credentials() => {
                self.kubeconfig.clone().with_server(&self.server, Some(&self.authority)).ok()
            }
            None => None,
        }
    }
}
