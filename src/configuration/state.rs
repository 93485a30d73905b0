//! `[state]`: where the state is, and what the place needs to know beside its address.

use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use slipway_state_store::Settings;
use slipway_state_store::backend::settings;

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
