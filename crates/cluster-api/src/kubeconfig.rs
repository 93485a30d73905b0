//! A kubeconfig as the way to an API.

use kube::config::{Config, KubeConfigOptions, Kubeconfig, KubeconfigError};
use slipway_resource::SecretText;
use slipway_trust::Reach;

use crate::Unusable;

/// A kubeconfig, and what is allowed to it.
#[derive(Clone, Debug)]
pub struct KubeconfigText<'a> {
    /// The document, YAML or JSON.
    pub text: &'a SecretText,
    /// Which of its contexts; the current one without.
    pub context: Option<&'a str>,
    /// Whether it is the caller's own: then commands that it names are run, and files that it names are read.
    pub is_callers: bool,
    /// Of a server that a spec names: the networks and names in which the caller allows reserved addresses. None for a
    /// server of the caller's own, which may be anywhere.
    pub networks: Option<&'a [String]>,
}

impl KubeconfigText<'_> {
    /// The configuration of a client, and the addresses at which the server may be.
    ///
    /// # Errors
    /// When it is no kubeconfig, or one that is not allowed.
    pub(crate) async fn load(&self) -> Result<(Config, Reach), Unusable> {
        let document = Kubeconfig::from_yaml(self.text.expose()).map_err(|error| unparsable(&error))?;
        if !self.is_callers {
            confine(&document)?;
        }
        let options =
            KubeConfigOptions { context: self.context.map(str::to_owned), ..KubeConfigOptions::default() };
        let config = Config::from_custom_kubeconfig(document, &options).await;
        let config = config.map_err(|error| cannot_be_used(&Unusable::of(&error).to_string()))?;
        if config.proxy_url.is_some() {
            return Err(cannot_be_used("it names a proxy, which is not supported"));
        }
        let host = config.cluster_url.host().unwrap_or_default();
        let reach = self.networks.map_or_else(Reach::anywhere, |allowed| Reach::host(host, allowed));
        Ok((config, reach))
    }
}

fn cannot_be_used(text: &str) -> Unusable {
    Unusable::Invalid(format!("the kubeconfig cannot be used: {text}"))
}

/// The problem of a kubeconfig that cannot be parsed. The parser's message may quote it, and it is secret.
fn unparsable(error: &KubeconfigError) -> Unusable {
    let place = match error {
        KubeconfigError::Parse(error) => error.location().map(|place| format!(" at line {}", place.line())),
        _ => None,
    };
    cannot_be_used(&format!("it is not a kubeconfig{}", place.unwrap_or_default()))
}

/// Refuses a kubeconfig of a spec that names anything else: it runs no command, and sends no file.
fn confine(document: &Kubeconfig) -> Result<(), Unusable> {
    let refused =
        |reason: String| Unusable::NotAllowed(format!("the kubeconfig is named by a spec, and {reason}"));
    let document = serde_json::to_value(document).map_err(|_| refused("it cannot be checked".to_owned()))?;
    slipway_trust::kubeconfig::confined(&document).map(drop).map_err(refused)
}
