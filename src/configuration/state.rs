//! `[state]`: where the state is, and what the place needs to know beside its address.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use slipway_state_store::Settings;
use slipway_state_store::backend::settings;
use slipway_trust::path_in;

/// Where the state is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct StatePlace {
    /// The address, when neither option nor environment say so.
    pub url: Option<String>,
    /// Whether connections without TLS are allowed to more than this very host.
    #[serde(default)]
    pub allow_http: bool,
    /// How many seconds a request may take, beside the transfer of what is in it.
    pub timeout_seconds: Option<u32>,
    /// For `s3://`.
    #[serde(default)]
    pub s3: S3,
    /// For `gs://`.
    #[serde(default)]
    pub gs: Google,
    /// For `az://`.
    #[serde(default)]
    pub az: Azure,
}

/// Options of S3 and of what speaks its language.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct S3 {
    region: Option<String>,
    endpoint: Option<String>,
    profile: Option<String>,
    #[serde(default)]
    virtual_hosted_style: bool,
    kms_key: Option<String>,
}

/// Options of Google Cloud Storage.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Google {
    endpoint: Option<String>,
    credentials_file: Option<PathBuf>,
}

/// Options of Azure Blob Storage.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Azure {
    account: Option<String>,
    endpoint: Option<String>,
}

impl StatePlace {
    /// Lets relative paths start at the folder of the configuration file: a state in a folder, and the file of
    /// credentials. An address with a scheme stays as it is.
    pub fn place_paths(&mut self, folder: &Path, home: Option<&Path>) {
        if let Some(url) = self.url.as_mut().filter(|url| !url.contains(':')) {
            *url = path_in(Path::new(url.as_str()), folder, home).to_string_lossy().into_owned();
        }
        if let Some(file) = &mut self.gs.credentials_file {
            *file = path_in(file, folder, home);
        }
    }

    /// The options, over an environment.
    pub fn settings(&self, mut settings: Settings) -> Settings {
        let (s3, gs, az) = (self.s3.clone(), self.gs.clone(), self.az.clone());
        settings.allow_http = self.allow_http;
        settings.timeout = self.timeout_seconds.map(|seconds| Duration::from_secs(seconds.into()));
        settings.s3 = settings::S3 {
            region: s3.region,
            endpoint: s3.endpoint,
            profile: s3.profile,
            virtual_hosted_style: s3.virtual_hosted_style,
            kms_key: s3.kms_key,
        };
        settings.google = settings::Google { endpoint: gs.endpoint, credentials_file: gs.credentials_file };
        settings.azure = settings::Azure { account: az.account, endpoint: az.endpoint };
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_paths_start_at_the_folder_of_the_file() {
        let placed = |text: &str| {
            let mut place: StatePlace = toml::from_str(text).unwrap();
            place.place_paths(Path::new("/etc/slipway"), Some(Path::new("/home/ann")));
            place
        };
        let url = |text: &str| placed(&format!("url = {text:?}")).url.unwrap();
        assert_eq!(url("states"), "/etc/slipway/states");
        assert_eq!(url("~/states"), "/home/ann/states");
        assert_eq!(url("/srv/states"), "/srv/states");
        assert_eq!(url("s3://bucket/prefix"), "s3://bucket/prefix");
        assert_eq!(url("file:///srv/states"), "file:///srv/states");
        let credentials = placed("gs = { credentials-file = 'gcs.json' }").gs.credentials_file;
        assert_eq!(credentials, Some("/etc/slipway/gcs.json".into()));
    }

    #[test]
    fn options_reach_the_place() {
        let place: StatePlace = toml::from_str(
            r#"
            url = "s3://bucket/prefix"
            timeout-seconds = 30
            s3 = { region = "eu-west-1", profile = "prod", kms-key = "alias/state" }
            gs = { credentials-file = "/etc/gcs.json" }
            az = { account = "states" }
            "#,
        )
        .unwrap();
        let settings = place.settings(Settings::new([]));
        assert_eq!(settings.timeout, Some(Duration::from_secs(30)));
        assert_eq!(settings.s3.region.as_deref(), Some("eu-west-1"));
        assert_eq!(settings.s3.profile.as_deref(), Some("prod"));
        assert_eq!(settings.s3.kms_key.as_deref(), Some("alias/state"));
        assert_eq!(settings.google.credentials_file, Some("/etc/gcs.json".into()));
        assert_eq!(settings.azure.account.as_deref(), Some("states"));
        assert!(toml::from_str::<StatePlace>("bucket = 1").is_err(), "what is unknown is refused");
    }
}
