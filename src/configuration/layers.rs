//! One configuration file over another.

use std::path::Path;

use slipway_trust::path_in;
use toml::{Table, Value};

/// The section with the trust policy. Its lists are joined: the user adds to what the system allows.
const TRUST: &str = "trust";

/// The list of policy files. The user adds to those of the system, and removes none.
const POLICIES: &str = "policies";

/// The settings that are paths, or lists of paths.
const PATHS: [&[&str]; 8] = [
    &["provider-path"],
    &[POLICIES],
    &["encryption", "age-identity-files"],
    &["encryption", "passphrase-file"],
    &["state", "gs", "credentials-file"],
    &[TRUST, "file-roots"],
    &[TRUST, "kubeconfigs"],
    &[TRUST, "lock-file"],
];
/// The address of the state, which is a path if it has no scheme.
const STATE: &[&str] = &["state", "url"];

/// Lets every relative path start at the folder of the file.
pub(super) fn place_paths(settings: &mut Table, folder: &Path, home: Option<&Path>) {
    for path in PATHS {
        if let Some(value) = at(settings, path) {
            place(value, folder, home);
        }
    }
    if let Some(value) = at(settings, STATE)
        && value.as_str().is_some_and(|url| !url.contains(':'))
    {
        place(value, folder, home);
    }
}

/// Puts settings over others: a setting of `above` counts, sections are merged.
pub(super) fn put_over(below: &mut Table, above: Table) {
    merge(below, above, false);
}

fn merge(below: &mut Table, above: Table, joins_lists: bool) {
    for (name, value) in above {
        let joins_lists = joins_lists || name == TRUST || name == POLICIES;
        let merged = match (below.remove(&name), value) {
            (Some(Value::Table(mut below)), Value::Table(above)) => {
                merge(&mut below, above, joins_lists);
                Value::Table(below)
            }
            (Some(Value::Array(mut below)), Value::Array(above)) if joins_lists => {
                below.extend(above);
                Value::Array(below)
            }
            (_, value) => value,
        };
        below.insert(name, merged);
    }
}

fn at<'t>(settings: &'t mut Table, path: &[&str]) -> Option<&'t mut Value> {
    let (name, sections) = path.split_last()?;
    let mut settings = settings;
    for section in sections {
        settings = settings.get_mut(*section)?.as_table_mut()?;
    }
    settings.get_mut(*name)
}

fn place(value: &mut Value, folder: &Path, home: Option<&Path>) {
    match value {
        Value::String(text) => {
            *text = path_in(Path::new(text.as_str()), folder, home).to_string_lossy().into_owned();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| place(item, folder, home)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(text: &str) -> Table {
        let mut settings: Table = toml::from_str(text).unwrap();
        place_paths(&mut settings, Path::new("/etc/slipway"), Some(Path::new("/home/ann")));
        settings
    }

    #[test]
    fn relative_paths_start_at_the_folder_of_the_file() {
        let url = |text: &str| placed(&format!("state = {{ url = {text:?} }}"))["state"]["url"].clone();
        for (written, wanted) in [
            ("states", "/etc/slipway/states"),
            ("~/states", "/home/ann/states"),
            ("/srv/states", "/srv/states"),
            ("s3://bucket/prefix", "s3://bucket/prefix"),
            ("file:///srv/states", "file:///srv/states"),
        ] {
            assert_eq!(url(written).as_str(), Some(wanted));
        }
        let text = "provider-path = ['a', '~/b']\nencryption = { age-identity-files = ['c'], passphrase-file = 'd' }\n\
            state = { gs = { credentials-file = 'e' } }\n\
            trust = { lock-file = 'f', file-roots = ['g'], kubeconfigs = ['~/h'], providers = ['aws'] }\n";
        let wanted = "provider-path = ['/etc/slipway/a', '/home/ann/b']\n\
            encryption = { age-identity-files = ['/etc/slipway/c'], passphrase-file = '/etc/slipway/d' }\n\
            state = { gs = { credentials-file = '/etc/slipway/e' } }\n\
            trust = { lock-file = '/etc/slipway/f', file-roots = ['/etc/slipway/g'], kubeconfigs = ['/home/ann/h'], \
            providers = ['aws'] }\n";
        assert_eq!(placed(text), toml::from_str::<Table>(wanted).unwrap());
    }

    #[test]
    fn the_user_s_settings_count_and_lists_of_the_trust_policy_are_joined() {
        let system = "actor = 'ci'\npolicies = ['/etc/slipway/all.yaml']\nprovider-path = ['/opt/a']\nretention = { keep = 5, keep-days = 7 }\n\
            encryption = { state = true }\ntrust = { providers = ['aws'], lock-file = '/etc/slipway/slipway.lock' }\n";
        let user = "policies = ['/home/own.yaml']\nprovider-path = ['/home/b']\nretention = { keep = 9 }\nencryption = { state = false }\n\
            trust = { providers = ['hosts'], urls = ['https://a/'], lock-file = '/home/c.lock' }\n";
        let wanted = "actor = 'ci'\npolicies = ['/etc/slipway/all.yaml', '/home/own.yaml']\nprovider-path = ['/home/b']\nretention = { keep = 9, keep-days = 7 }\n\
            encryption = { state = false }\n\
            trust = { providers = ['aws', 'hosts'], urls = ['https://a/'], lock-file = '/home/c.lock' }\n";
        let table = |text: &str| toml::from_str::<Table>(text).unwrap();
        let mut settings = table(system);
        put_over(&mut settings, table(user));
        assert_eq!(settings, table(wanted));
    }
}
