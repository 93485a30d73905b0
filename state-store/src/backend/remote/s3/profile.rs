//! The shared files of AWS: `~/.aws/config` and `~/.aws/credentials`.
//!
//! The form is that of the command-line interface's documentation ("Configuration and credential file settings").

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::backend::settings::Settings;
use crate::backend::{Error, Result};

type Sections = BTreeMap<String, BTreeMap<String, String>>;

/// The content of both files, of all profiles.
#[derive(Clone, Debug, Default)]
pub(super) struct Profiles {
    profiles: Sections,
    sessions: Sections,
}

impl Profiles {
    /// Reads what there is; a file that is not there says nothing.
    pub(super) fn read(settings: &Settings) -> Result<Self> {
        let mut all = Self::default();
        let text = read(settings, "AWS_CONFIG_FILE", "config")?;
        for (name, values) in parse(&text) {
            match name.split_once(char::is_whitespace).map(|(kind, name)| (kind, name.trim())) {
                Some(("profile", name)) => all.profiles.entry(name.into()).or_default().extend(values),
                Some(("sso-session", name)) => all.sessions.entry(name.into()).or_default().extend(values),
                None if name == "default" => all.profiles.entry(name).or_default().extend(values),
                // Services and whatever comes: none of ours.
                _ => {}
            }
        }
        // The file of credentials takes precedence.
        for (name, values) in parse(&read(settings, "AWS_SHARED_CREDENTIALS_FILE", "credentials")?) {
            all.profiles.entry(name).or_default().extend(values);
        }
        Ok(all)
    }

    /// A profile, if it is in one of the files.
    pub(super) fn profile(&self, name: &str) -> Option<Profile<'_>> {
        self.profiles.get_key_value(name).map(|(name, values)| Profile { name, values })
    }

    /// A session of the single sign-on.
    pub(super) fn session(&self, name: &str) -> Option<Profile<'_>> {
        self.sessions.get_key_value(name).map(|(name, values)| Profile { name, values })
    }
}

/// One section.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile<'a> {
    pub(super) name: &'a str,
    values: &'a BTreeMap<String, String>,
}

impl<'a> Profile<'a> {
    pub(super) fn get(&self, name: &str) -> Option<&'a str> {
        self.values.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// A value that has to be there.
    pub(super) fn need(&self, name: &str) -> Result<String> {
        self.get(name).map(str::to_owned).ok_or_else(|| self.invalid(format!("`{name}` is missing")))
    }

    pub(super) fn invalid(&self, reason: impl Into<String>) -> Error {
        Error::InvalidSetting { setting: format!("AWS profile {}", self.name), reason: reason.into() }
    }
}

/// The folder of all files of AWS.
pub(super) fn folder(settings: &Settings) -> Option<PathBuf> {
    Some(settings.home()?.join(".aws"))
}

fn read(settings: &Settings, variable: &str, name: &str) -> Result<String> {
    let named = settings.variable(variable).map(PathBuf::from);
    let Some(path) = named.or_else(|| Some(folder(settings)?.join(name))) else {
        return Ok(String::new());
    };
    match slipway_limits::file::read_text(&path, slipway_limits::size::CONFIGURATION) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => {
            Err(Error::InvalidSetting { setting: path.display().to_string(), reason: error.to_string() })
        }
    }
}

/// The sections of a file, with the values of each; values below a value, which are indented, are left out.
fn parse(text: &str) -> Vec<(String, BTreeMap<String, String>)> {
    let mut sections: Vec<(String, BTreeMap<String, String>)> = Vec::new();
    for line in text.lines() {
        let is_comment = line.starts_with(['#', ';']);
        if is_comment || line.trim().is_empty() || line.starts_with([' ', '\t']) {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
            sections.push((name.trim().to_owned(), BTreeMap::new()));
        } else if let (Some((_, values)), Some((name, value))) = (sections.last_mut(), line.split_once('=')) {
            let value = value.split(" #").next().unwrap_or_default().trim();
            values.insert(name.trim().to_ascii_lowercase(), value.to_owned());
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn both_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".aws")).unwrap();
        let config = "[default]\nregion = eu-west-1\n# a comment\n[profile prod]\nregion=eu-west-3 # there\ns3 =\n  \
                      max_queue = 3\naws_access_key_id = config\n[sso-session here]\nsso_region = eu-west-2\n\
                      [services x]\nregion = no\n";
        fs::write(folder.path().join(".aws/config"), config).unwrap();
        fs::write(folder.path().join(".aws/credentials"), "[prod]\naws_access_key_id = file\n").unwrap();
        let home = folder.path().to_str().unwrap().to_owned();
        let profiles = Profiles::read(&Settings::new([("HOME".to_owned(), home)])).unwrap();
        assert_eq!(profiles.profile("default").unwrap().get("region"), Some("eu-west-1"));
        let prod = profiles.profile("prod").unwrap();
        assert_eq!((prod.get("region"), prod.get("aws_access_key_id")), (Some("eu-west-3"), Some("file")));
        assert_eq!(prod.get("max_queue"), None);
        assert_eq!(profiles.session("here").unwrap().get("sso_region"), Some("eu-west-2"));
        assert!(profiles.profile("x").is_none());
        assert!(Profiles::read(&Settings::new([])).unwrap().profile("default").is_none());
    }
}
