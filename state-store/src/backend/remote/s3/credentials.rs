//! Credentials from the shared files of AWS, which the client library does not read.
//!
//! Keys, a process, the single sign-on's cached token, and roles that one of these takes on. Everything else that AWS
//! clients know (variables, web identity, containers, instances) the library has itself.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use serde::Deserialize;
use tokio::process::Command;
use tokio::sync::Mutex;

use super::super::classify::Cause;
use super::profile::{Profile, Profiles};
use super::role::Role;
use super::sso::SingleSignOn;
use crate::backend::Result;
use crate::backend::settings::Settings;

/// A credential that ends so soon is renewed.
const MARGIN: SignedDuration = SignedDuration::from_mins(5);

/// How long a process may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often a role may take on a role.
const DEPTH: usize = 5;

/// Where a credential comes from.
#[derive(Debug)]
pub(super) enum Source {
    /// Keys in a file.
    Keys(AwsCredential),
    /// The output of a command.
    Process(String),
    /// A token that `aws sso login` left.
    SingleSignOn(SingleSignOn),
    /// A role that another credential takes on.
    Role(Box<Role>),
    /// There is none, and the instance is not to be asked.
    Nowhere,
}

/// A credential and when it ends.
#[derive(Debug)]
pub(super) struct Fresh {
    pub(super) credential: Arc<AwsCredential>,
    pub(super) ends: Option<Timestamp>,
}

/// Gives the credential of a profile, which is renewed before it ends.
#[derive(Debug)]
pub(super) struct Shared {
    source: Source,
    last: Mutex<Option<Fresh>>,
}

impl Shared {
    pub(super) fn new(source: Source) -> Self {
        Self { source, last: Mutex::default() }
    }
}

#[async_trait]
impl CredentialProvider for Shared {
    type Credential = AwsCredential;

    async fn get_credential(&self) -> object_store::Result<Arc<AwsCredential>> {
        // Held while another is made: who waits for it needs no second one.
        let mut last = self.last.lock().await;
        if let Some(fresh) = &*last
            && fresh.ends.is_none_or(|ends| Timestamp::now() + MARGIN < ends)
        {
            return Ok(fresh.credential.clone());
        }
        let fresh = self.source.make().await?;
        let credential = fresh.credential.clone();
        *last = Some(fresh);
        Ok(credential)
    }
}

impl Source {
    /// The credentials of a profile; `None` when it has only other settings, such as a region.
    pub(super) fn of(profiles: &Profiles, profile: Profile<'_>, settings: &Settings) -> Result<Option<Self>> {
        Self::of_depth(profiles, profile, settings, DEPTH)
    }

    pub(super) fn of_depth(
        profiles: &Profiles,
        profile: Profile<'_>,
        settings: &Settings,
        depth: usize,
    ) -> Result<Option<Self>> {
        let is_web_identity = profile.get("web_identity_token_file").is_some();
        if profile.get("role_arn").is_some() && !is_web_identity && depth > 0 {
            let role = Role::of(profiles, profile, settings, depth - 1)?;
            return Ok(Some(Self::Role(Box::new(role))));
        }
        if let Some(key_id) = profile.get("aws_access_key_id") {
            return Ok(Some(Self::Keys(AwsCredential {
                key_id: key_id.to_owned(),
                secret_key: profile.need("aws_secret_access_key")?,
                token: profile.get("aws_session_token").map(str::to_owned),
            })));
        }
        if let Some(command) = profile.get("credential_process") {
            return Ok(Some(Self::Process(command.to_owned())));
        }
        if profile.get("sso_account_id").is_some() {
            return SingleSignOn::of(profiles, profile, settings)
                .map(|session| Some(Self::SingleSignOn(session)));
        }
        Ok(None)
    }

    /// Makes a credential.
    pub(super) async fn make(&self) -> object_store::Result<Fresh> {
        match self {
            Self::Keys(keys) => {
                let AwsCredential { key_id, secret_key, token } = keys;
                let keys = AwsCredential {
                    key_id: key_id.clone(),
                    secret_key: secret_key.clone(),
                    token: token.clone(),
                };
                Ok(Fresh { credential: Arc::new(keys), ends: None })
            }
            Self::Process(command) => run(command).await,
            Self::SingleSignOn(session) => session.make().await,
            Self::Role(role) => role.make().await,
            Self::Nowhere => {
                Err(failed("neither variables nor a profile have one, and AWS_EC2_METADATA_DISABLED is set"))
            }
        }
    }
}

/// The common fields of a process's output and of the answer of the single sign-on.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    version: u32,
    access_key_id: String,
    secret_access_key: String,
    session_token: Option<String>,
    expiration: Option<Timestamp>,
}

async fn run(command: &str) -> object_store::Result<Fresh> {
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", command]).stdin(std::process::Stdio::null()).kill_on_drop(true).output();
    let output = match tokio::time::timeout(PATIENCE, output).await {
        Ok(Ok(output)) => output,
        Ok(Err(error)) => return Err(failed(format!("credential_process cannot be started: {error}"))),
        Err(_) => return Err(failed("credential_process does not end")),
    };
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().last().unwrap_or_default().to_owned();
        return Err(failed(format!("credential_process: {}: {last}", output.status)));
    }
    // The output is secret also when it cannot be parsed.
    let printed: Printed = serde_json::from_slice(&output.stdout).map_err(|error| {
        failed(format!("credential_process prints no credential (line {})", error.line()))
    })?;
    if printed.version != 1 {
        return Err(failed(format!("credential_process prints version {}, not 1", printed.version)));
    }
    let credential = AwsCredential {
        key_id: printed.access_key_id,
        secret_key: printed.secret_access_key,
        token: printed.session_token,
    };
    Ok(Fresh { credential: Arc::new(credential), ends: printed.expiration })
}

/// A failure of whatever gives credentials.
pub(super) fn failed(text: impl Into<String>) -> object_store::Error {
    object_store::Error::Generic { store: "AWS credentials", source: Box::new(Cause::new(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_process_gives_a_credential_and_its_end() {
        let printed = r#"{"Version":1,"AccessKeyId":"AKIA","SecretAccessKey":"s","SessionToken":"t","Expiration":"2030-01-01T00:00:00Z"}"#;
        let fresh = run(&format!("echo '{printed}'")).await.unwrap();
        assert_eq!(fresh.credential.key_id, "AKIA");
        assert_eq!(fresh.credential.token.as_deref(), Some("t"));
        assert!(fresh.ends.is_some());
        for (command, text) in [
            ("echo secret-text", "prints no credential"),
            ("echo gone >&2; exit 3", "exit status: 3: gone"),
            (r#"echo '{"Version":2,"AccessKeyId":"a","SecretAccessKey":"b"}'"#, "version 2"),
        ] {
            let error = run(command).await.unwrap_err().to_string();
            assert!(error.contains(text) && !error.contains("secret-text"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_credential_is_made_anew_before_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let shared = |ends: SignedDuration| {
            let printed = format!(
                r#"{{"Version":1,"AccessKeyId":"a","SecretAccessKey":"b","Expiration":"{}"}}"#,
                Timestamp::now() + ends
            );
            Shared::new(Source::Process(format!("echo x >> {}; echo '{printed}'", log.display())))
        };
        let calls = || std::fs::read_to_string(&log).unwrap_or_default().lines().count();
        let long = shared(SignedDuration::from_hours(1));
        long.get_credential().await.unwrap();
        long.get_credential().await.unwrap();
        assert_eq!(calls(), 1);
        let short = shared(SignedDuration::from_mins(1));
        short.get_credential().await.unwrap();
        short.get_credential().await.unwrap();
        assert_eq!(calls(), 3);
    }
}
