//! Permissions of the user: `[trust]` of the configuration file, and `--trust KEY=VALUE`.

use std::path::{Path, PathBuf};

use ipnet::IpNet;
use serde::Deserialize;

/// The permissions of the user who runs Slipway, beyond the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Settings {
    /// Providers that plans with `--untrusted` may use.
    pub providers: Vec<String>,
    /// The lock file with the digests of providers, in place of `slipway.lock` in the working directory.
    pub lock_file: Option<PathBuf>,
    /// Folders beside the spec's own in which specs may name files.
    pub file_roots: Vec<PathBuf>,
    /// Environment variables that specs may read, including those with credentials; a `*` at the end matches
    /// any text.
    pub environment: Vec<String>,
    /// Kubeconfigs that count as the caller's own when a spec names them.
    pub kubeconfigs: Vec<PathBuf>,
    /// URLs of endpoints that specs may name.
    pub endpoints: Vec<String>,
    /// Networks in which hosts may be, as `10.0.0.0/8`, or names, as `*.example.com`.
    pub host_networks: Vec<String>,
    /// Prefixes of URLs that may be fetched.
    pub urls: Vec<String>,
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// An argument without a value, or with an unknown key.
    #[error("`--trust {argument}` is not understood: it is written KEY=VALUE, and KEY is one of {KEYS}")]
    Argument {
        /// As it was given.
        argument: String,
    },
    /// A network that is neither a range nor a name.
    #[error(
        "the host network `{network}` is neither a range such as 10.0.0.0/8 nor a name such as *.example.com"
    )]
    Network {
        /// As it was given.
        network: String,
    },
}

/// The keys of `--trust`.
const KEYS: &str = "provider, lock-file, file-root, variable, kubeconfig, endpoint, host-network, url";

impl Settings {
    /// The same with what the flags add. Relative paths of flags begin at the working directory.
    ///
    /// # Errors
    /// When an argument is not `KEY=VALUE` with a known key.
    pub fn with_arguments(mut self, arguments: &[String]) -> Result<Self, SettingsError> {
        for argument in arguments {
            let unknown = || SettingsError::Argument { argument: argument.clone() };
            let (key, value) = argument.split_once('=').ok_or_else(unknown)?;
            let text = || value.to_owned();
            let path = || std::path::absolute(value).unwrap_or_else(|_| PathBuf::from(value));
            match key {
                _ if value.is_empty() => return Err(unknown()),
                "provider" => self.providers.push(text()),
                "lock-file" => self.lock_file = Some(path()),
                "file-root" => self.file_roots.push(path()),
                "variable" => self.environment.push(text()),
                "kubeconfig" => self.kubeconfigs.push(path()),
                "endpoint" => self.endpoints.push(text()),
                "host-network" => self.host_networks.push(text()),
                "url" => self.urls.push(text()),
                _ => return Err(unknown()),
            }
        }
        self.check()?;
        Ok(self)
    }

    /// The same with the paths of a file relative to that file's folder, and `~/` for the home directory.
    #[must_use]
    pub fn relative_to(mut self, folder: &Path, home: Option<&Path>) -> Self {
        let place = |path: &mut PathBuf| *path = path_in(path, folder, home);
        self.lock_file.iter_mut().for_each(place);
        self.file_roots.iter_mut().for_each(place);
        self.kubeconfigs.iter_mut().for_each(place);
        self
    }

    fn check(&self) -> Result<(), SettingsError> {
        let is_name = |text: &str| {
            let name = text.strip_prefix("*.").unwrap_or(text);
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
                && name.bytes().any(|byte| byte.is_ascii_alphabetic())
        };
        let is_range = |text: &str| text.parse::<IpNet>().is_ok() || text.parse::<std::net::IpAddr>().is_ok();
        match self.host_networks.iter().find(|network| !is_range(network) && !is_name(network)) {
            Some(network) => Err(SettingsError::Network { network: network.clone() }),
            None => Ok(()),
        }
    }
}

/// A path of the user's configuration: `~` is the home folder, and a relative path starts at the folder of the file.
#[must_use]
pub fn path_in(path: &Path, folder: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(rest), Some(home)) => home.join(rest),
        _ => folder.join(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_flags_say_the_same() {
        let text = "providers = ['aws']\nlock-file = 'slipway.lock'\nfile-roots = ['~/manifests']\n\
            environment = ['APP_*']\nkubeconfigs = ['kc']\nendpoints = ['https://a']\nhost-networks = ['10.0.0.0/8']\n\
            urls = ['https://b/']\n";
        let read: Settings = toml::from_str(text).unwrap();
        let read = read.relative_to(Path::new("/etc/slipway"), Some(Path::new("/home/a")));
        let given = [
            "provider=aws",
            "lock-file=/etc/slipway/slipway.lock",
            "file-root=/home/a/manifests",
            "variable=APP_*",
            "kubeconfig=/etc/slipway/kc",
            "endpoint=https://a",
            "host-network=10.0.0.0/8",
            "url=https://b/",
        ];
        let given = given.map(str::to_owned);
        assert_eq!(Settings::default().with_arguments(&given).unwrap(), read);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for bad in ["provider", "provider=", "everything=yes", "host-network=10.0.0.0/99", "host-network=*"] {
            assert!(Settings::default().with_arguments(&[bad.to_owned()]).is_err(), "{bad}");
        }
        assert!(toml::from_str::<Settings>("everything = true").is_err());
    }
}
