//! Reasons why a thing that a spec names is not opened.

use std::path::PathBuf;

use crate::tree::normal;

/// A thing that a spec names, and that the user who runs Slipway has not allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A file outside of the spec's own folders.
    #[error("{what} `{}` is outside of the spec's own folders ({roots})", path.display())]
    File {
        /// The description of the file.
        what: String,
        /// As the spec names it.
        path: PathBuf,
        /// The folders, for the message.
        roots: String,
    },
    /// A symbolic link that leads out of the spec's own folders.
    #[error("{what} `{}` is a symbolic link that leads out of the spec's own folders ({roots})", path.display())]
    Link {
        /// The description of the file.
        what: String,
        /// As the spec names it.
        path: PathBuf,
        /// The folders, for the message.
        roots: String,
    },
    /// An environment variable that holds credentials of the caller, or is not allowed.
    #[error("the spec names the environment variable {name}, which a spec may not read")]
    Variable {
        /// The variable.
        name: String,
    },
    /// A secret, where none is opened.
    #[error("no secret is opened with --untrusted: {what}")]
    Secret {
        /// The secret that would be opened.
        what: String,
    },
    /// A kubeconfig that is not the caller's own and asks for more than such a kubeconfig may.
    #[error("the kubeconfig `{path}` is named by the spec, and {reason}")]
    Kubeconfig {
        /// As the spec names it.
        path: String,
        /// The request that is refused.
        reason: String,
    },
    /// The URL of an endpoint that would get credentials of the caller, or that no request may be sent to.
    #[error("the spec names the endpoint {url}, {reason}")]
    Endpoint {
        /// The URL.
        url: String,
        /// Why not.
        reason: &'static str,
    },
    /// The address of a host.
    #[error("the spec names {what} at {address}, {reason}")]
    Host {
        /// The description of the host.
        what: String,
        /// The address.
        address: String,
        /// Why not.
        reason: &'static str,
    },
    /// A URL to fetch from.
    #[error("the spec names the URL {url}, {reason}")]
    Url {
        /// The URL.
        url: String,
        /// Why not.
        reason: &'static str,
    },
    /// A provider that the caller has not named.
    #[error(
        "the spec asks for the provider {name}, which is not among those that may be used with --untrusted"
    )]
    Provider {
        /// The provider.
        name: String,
    },
    /// The lock file of the working directory, which the author of the spec may have written.
    #[error(
        "the provider {name} is pinned by no lock file of yours; that of the working directory is not read with --untrusted"
    )]
    LockFile {
        /// The provider.
        name: String,
    },
    /// A setting that only the caller may set.
    #[error("`{field}` can be set only by the user who runs Slipway, not by a spec")]
    Setting {
        /// The setting.
        field: String,
        /// The provider that has it.
        provider: String,
    },
    /// A choice among the caller's credentials.
    #[error("`{field}: {value}` selects credentials of the user who runs Slipway")]
    Credentials {
        /// The setting.
        field: String,
        /// Its value.
        value: String,
        /// The provider that has it.
        provider: String,
    },
    /// The state of the working directory, which the author of the spec may have written.
    #[error("the state in `{}` was not named by you, and may be part of what is planned", path.display())]
    State {
        /// The folder.
        path: PathBuf,
    },
}

impl Refusal {
    /// The stable code; `docs/errors/` has a page for it.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::File { .. } => "TRUST0001",
            Self::Link { .. } => "TRUST0002",
            Self::Variable { .. } => "TRUST0003",
            Self::Secret { .. } => "TRUST0004",
            Self::Kubeconfig { .. } => "TRUST0005",
            Self::Endpoint { .. } => "TRUST0006",
            Self::Host { .. } => "TRUST0007",
            Self::Url { .. } => "TRUST0008",
            Self::Provider { .. } => "TRUST0009",
            Self::LockFile { .. } => "TRUST0010",
            Self::Setting { .. } => "TRUST0011",
            Self::Credentials { .. } => "TRUST0012",
            Self::State { .. } => "TRUST0013",
        }
    }

    /// The title of the code's page.
    #[must_use]
    pub fn title(&self) -> &'static str {
        match self {
            Self::File { .. } => "a spec names a file outside of its own folders",
            Self::Link { .. } => "a symbolic link leads out of the spec's folders",
            Self::Variable { .. } => "a spec names an environment variable that it may not read",
            Self::Secret { .. } => "no secret is opened for an untrusted spec",
            Self::Kubeconfig { .. } => "a kubeconfig that a spec names asks for too much",
            Self::Endpoint { .. } => "a spec names an endpoint that is not allowed",
            Self::Host { .. } => "a spec names a host in a network that is not allowed",
            Self::Url { .. } => "a spec names a URL that is not allowed",
            Self::Provider { .. } => "an untrusted spec asks for a provider that is not allowed",
            Self::LockFile { .. } => "an untrusted plan needs a lock file of the caller",
            Self::Setting { .. } => "a spec says what only the caller may say",
            Self::Credentials { .. } => "an untrusted spec chooses credentials",
            Self::State { .. } => "an untrusted plan needs a state that the caller names",
        }
    }

    /// The remedy: a line of the configuration and the equivalent flag.
    #[must_use]
    pub fn hint(&self) -> String {
        match self {
            Self::File { path, .. } | Self::Link { path, .. } => {
                // Not its folder: other users can put files beside it, as in /tmp.
                allow("file-roots", "file-root", &normal(path).display().to_string())
            }
            Self::Variable { name } => allow("environment", "variable", name),
            Self::Secret { .. } => "plan without --untrusted where the spec is your own".to_owned(),
            Self::Kubeconfig { path, .. } => allow("kubeconfigs", "kubeconfig", path),
            Self::Endpoint { url, .. } => allow("endpoints", "endpoint", url),
            Self::Host { address, .. } => {
                let network = match address.parse::<std::net::IpAddr>() {
                    Ok(address) => ipnet::IpNet::from(address).to_string(),
                    Err(_) => address.clone(),
                };
                allow("host-networks", "host-network", &network)
            }
            Self::Url { url, .. } => allow("urls", "url", url),
            Self::Provider { name } => {
                format!("{}; or plan against nothing with `--offline`, if the provider is beside `slipway`", allow("providers", "provider", name))
            }
            Self::LockFile { .. } => {
                "name yours: `lock-file = \"/PATH/slipway.lock\"` under [trust] in your configuration, or `--trust \
                 lock-file=/PATH/slipway.lock`"
                    .to_owned()
            }
            Self::Setting { field, provider } => {
                let name = field.strip_prefix("provider.config.").unwrap_or(field);
                format!("remove it, or say it yourself: `--provider {provider} --provider-config '{{\"{name}\": …}}'`")
            }
            Self::Credentials { field, value, provider } => {
                let name = field.strip_prefix("provider.config.").unwrap_or(field);
                format!("say it yourself: `--provider {provider} --provider-config '{{\"{name}\": \"{value}\"}}'`")
            }
            Self::State { .. } => "name it with `--state URL` or SLIPWAY_STATE if it is yours; or plan against nothing with `--offline`".to_owned(),
        }
    }
}

fn allow(setting: &str, flag: &str, value: &str) -> String {
    format!(
        "if you trust it: `{setting} = [\"{value}\"]` under [trust] in your configuration, or `--trust {flag}={value}`"
    )
}
