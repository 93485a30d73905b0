//! The user's configuration file.

pub(crate) mod state;

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::CommandError;
use crate::keys::Encryption;
use slipway_trust::path_in;
use state::StatePlace;

/// The user's settings for all commands (TOML).
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
    /// Reads the file that was named, or the usual one if there is one.
    pub fn read(named: Option<&Path>) -> Result<Self, CommandError> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => match usual_path().filter(|path| path.is_file()) {
                Some(path) => path,
                None => return Ok(Self::default()),
            },
        };
        let text = slipway_limits::file::read_given_text(&path, slipway_limits::size::CONFIGURATION)
            .map_err(|error| {
                let failure = CommandError::file("the configuration file", &path, &error);
                match (named, error.kind()) {
                    (Some(_), std::io::ErrorKind::NotFound) => {
                        failure.hint("correct the path in `--config` or SLIPWAY_CONFIG, or leave it out")
                    }
                    _ => failure,
                }
            })?;
        let mut read: Self = toml::from_str(&text).map_err(|error| {
            CommandError::new("CLI0003", format!("{} cannot be understood", path.display()))
                .cause(error.to_string().trim_end())
        })?;
        // The working directory may belong to another person, so paths in the settings are not relative to
        // it.
        let folder = std::path::absolute(&path).ok().and_then(|path| path.parent().map(Path::to_owned));
        if let Some(folder) = folder {
            read.place_paths(&folder, std::env::home_dir().as_deref());
        }
        Ok(read)
    }

    /// Lets every relative path start at the folder of the file.
    fn place_paths(&mut self, folder: &Path, home: Option<&Path>) {
        let place = |path: &mut PathBuf| *path = path_in(path, folder, home);
        self.provider_path.iter_mut().for_each(place);
        self.encryption.age_identity_files.iter_mut().for_each(place);
        self.encryption.passphrase_file.iter_mut().for_each(place);
        self.state.place_paths(folder, home);
        self.trust = std::mem::take(&mut self.trust).relative_to(folder, home);
    }
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
