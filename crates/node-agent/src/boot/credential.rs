//! The credential with which a worker joins: a kubeconfig with the CA of the cluster and a bootstrap token.

use std::path::Path;

use slipway_bootstrap::discovery::FileTrust;
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_resource::SecretText;

use super::Stop;
use crate::code;
use crate::error::Error;

/// The contents of a worker's credential.
pub(super) struct Credential {
    /// The URL of the API.
    pub server: String,
    /// The authorities of the cluster, in PEM.
    pub authority: String,
    /// The token.
    pub token: SecretText,
}

/// Reads the credential.
pub(super) fn read(path: &Path) -> Result<Credential, Stop> {
    let text = match slipway_limits::file::read_given_text(path, slipway_limits::size::KUBECONFIG) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let text = format!(
                "waits for {}, a kubeconfig with the CA of the cluster and a bootstrap token",
                path.display()
            );
            return Err(Stop::Waits(text));
        }
        Err(error) => return Err(Error::file("the credential", path, &error).into()),
    };
    // The next attempt reads the credential again, so that another file corrects the problem.
    let unusable = |cause: String| {
        Error::new(code::BOOT, format!("the credential {} cannot be used", path.display())).cause(cause)
    };
    let kubeconfig = Kubeconfig::parse(&text).map_err(|error| unusable(error.to_string()))?;
    let token = kubeconfig.token().ok_or_else(|| unusable("its user has no token".to_owned()))?;
    let trust = FileTrust::from_kubeconfig(kubeconfig, |path| std::fs::read_to_string(path).ok())
        .map_err(|error| unusable(error.to_string()))?;
    Ok(Credential { server: trust.server, authority: trust.authority, token })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_that_is_not_there_is_waited_for_and_another_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("credential.conf");
        assert!(matches!(read(&path), Err(Stop::Waits(text)) if text.contains("credential.conf")));
        std::fs::write(&path, "kind: Config\n").unwrap();
        assert!(matches!(read(&path), Err(Stop::Failed(_))));
    }
}
