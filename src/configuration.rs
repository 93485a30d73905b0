//! The configuration: that of the system, and that of the user over it.

mod layers;
pub(crate) mod state;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::code;
use crate::error::CommandError;
use crate::keys::Encryption;
use state::StatePlace;

/// The configuration file of the system, for all users of a machine.
pub(crate) const SYSTEM: &str = "/etc/slipway/config.toml";

/// The settings for all commands (TOML).
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Configuration {
    /// The place of the state, and settings for it.
    #[serde(default)]
    pub state: StatePlace,
    /// Folders in which providers are looked for, before the usual ones.
    #[serde(default)]
    pub provider_path: Vec<PathBuf>,
    /// The actor, when neither the environment nor a pipeline names one.
    pub actor: Option<String>,
    /// How many approvals an apply needs.
    pub require_approval: Option<u16>,
    /// The files with policies that every plan has to satisfy.
    #[serde(default)]
    pub policies: Vec<PathBuf>,
    /// Which earlier generations are kept.
    #[serde(default)]
    pub retention: Retention,
    /// How the state is encrypted.
    #[serde(default)]
    pub encryption: Encryption,
    /// The trust policy for specs.
    #[serde(default)]
    pub trust: slipway_trust::Settings,
}

/// The generations that garbage collection keeps.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Retention {
    /// The number of generations kept before the present one.
    pub keep: Option<usize>,
    /// Generations that were the present one within this number of days are kept.
    pub keep_days: Option<u32>,
}

impl Configuration {
    /// Reads the file of the system, if there is one, and over it the file that was named, or else the usual file of the user.
    ///
    /// # Errors
    /// When a file cannot be read, or has a setting that does not exist.
    pub fn read(system: &Path, named: Option<&Path>) -> Result<Self, CommandError> {
        let mut settings = if system.is_file() { table(system, None)? } else { toml::Table::new() };
        let usual = || usual_path().filter(|path| path.is_file());
        if let Some(path) = named.map(Path::to_owned).or_else(usual) {
            layers::put_over(&mut settings, table(&path, named)?);
        }
        // Each file was understood alone.
        toml::Value::Table(settings).try_into().map_err(|error: toml::de::Error| {
            CommandError::new(code::CONFIGURATION, "the configuration files cannot be understood together")
                .cause(error.to_string().trim_end())
        })
    }
}

/// The settings of a file, with absolute paths. The working directory may belong to another person, so relative paths in the
/// settings start at the folder of the file.
fn table(path: &Path, named: Option<&Path>) -> Result<toml::Table, CommandError> {
    let text = slipway_limits::file::read_given_text(path, slipway_limits::size::CONFIGURATION).map_err(
        |error| {
            let kind = error.kind();
            let failure = CommandError::file("the configuration file", path, error);
            match (named, kind) {
                (Some(_), std::io::ErrorKind::NotFound) => {
                    failure.hint("correct the path in `--config` or SLIPWAY_CONFIG, or leave it out")
                }
                _ => failure,
            }
        },
    )?;
    let understood = |error: toml::de::Error| {
        CommandError::new(code::CONFIGURATION, format!("{} cannot be understood", path.display()))
            .cause(error.to_string().trim_end())
    };
    toml::from_str::<Configuration>(&text).map_err(understood)?;
    let mut settings: toml::Table = toml::from_str(&text).map_err(understood)?;
    if let Some(folder) = std::path::absolute(path).ok().as_deref().and_then(Path::parent) {
        layers::place_paths(&mut settings, folder, std::env::home_dir().as_deref());
    }
    Ok(settings)
}

fn usual_path() -> Option<PathBuf> {
    Some(folder()?.join("config.toml"))
}

/// The folder of the user's settings; `None` when no variable names it.
pub(crate) fn folder() -> Option<PathBuf> {
    Some(base()?.join("slipway"))
}

/// The folder of all settings of the user.
pub(crate) fn base() -> Option<PathBuf> {
    std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".config")))
}
