//! Where credentials for S3 come from. Each is seen in the signature of a request.

use std::fs;

use slipway_state_store::{Key, Settings, open_with};
use slipway_testkit::proxy::Verdict;
use slipway_testkit::{Moto, Proxy};
use tempfile::TempDir;

/// A home directory, and a proxy in front of moto that answers for the single sign-on too.
struct Place {
    home: TempDir,
    proxy: Proxy,
    _moto: Moto,
}

impl Place {
    fn new(config: &str, credentials: &str) -> Self {
        let moto = Moto::start().unwrap();
        moto.create_bucket("state").unwrap();
        let proxy = Proxy::start(moto.port(), |request| {
            if !request.target.starts_with("/federation/credentials?role_name=admin&account_id=123456789012") {
                return Verdict::Pass;
            }
            let is_known = request.header("x-amz-sso_bearer_token") == Some("a-token");
            let body = r#"{"roleCredentials":{"accessKeyId":"ASIASSO","secretAccessKey":"s","sessionToken":"t","expiration":4102444800000}}"#;
            let status = if is_known { 200 } else { 401 };
            Verdict::Answer { status, headers: Vec::new(), body: body.as_bytes().to_vec() }
        })
        .unwrap();
        let home = TempDir::new().unwrap();
        fs::create_dir_all(home.path().join(".aws/sso/cache")).unwrap();
        fs::write(home.path().join(".aws/config"), config).unwrap();
        fs::write(home.path().join(".aws/credentials"), credentials).unwrap();
        Self { home, proxy, _moto: moto }
    }

    fn settings(&self, more: &[(&str, &str)]) -> Settings {
        let home = self.home.path().to_str().unwrap();
        let endpoint = self.proxy.endpoint();
        let own = [
            ("HOME", home),
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_ENDPOINT_URL_SSO", endpoint.as_str()),
            ("AWS_EC2_METADATA_DISABLED", "true"),
        ];
        let all = own.iter().chain(more).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Settings::new(all)
    }

    /// Reads something, and says who signed the last request and for which region.
    async fn signer(&self, settings: &Settings) -> Result<String, slipway_state_store::backend::Error> {
        let backend = open_with("s3://state/x", settings)?;
        backend.get(&Key::new("a/b").unwrap()).await?;
        let requests = self.proxy.requests();
        let header = requests.last().unwrap().header("authorization").unwrap();
        let (_, scope) = header.split_once("Credential=").unwrap();
        let parts: Vec<&str> = scope.split('/').collect();
        Ok(format!("{} {}", parts[0], parts[2]))
    }
}

const CONFIG: &str = "\
[default]
region = eu-west-1
[profile keys]
region = eu-west-2
[profile process]
credential_process = echo '{\"Version\":1,\"AccessKeyId\":\"ASIAPROCESS\",\"SecretAccessKey\":\"s\"}'
[profile broken]
credential_process = echo not today >&2; false
[profile role]
role_arn = arn:aws:iam::123456789012:role/state
source_profile = keys
region = us-east-1
[profile own]
role_arn = arn:aws:iam::123456789012:role/state
source_profile = own
[profile second-factor]
role_arn = arn:aws:iam::123456789012:role/state
source_profile = keys
mfa_serial = arn:aws:iam::123456789012:mfa/ada
[profile sso]
sso_session = here
sso_account_id = 123456789012
sso_role_name = admin
[sso-session here]
sso_region = us-east-1
sso_start_url = https://example.com/start
";

const CREDENTIALS: &str = "\
[default]
aws_access_key_id = AKIADEFAULT
aws_secret_access_key = s
[keys]
aws_access_key_id = AKIAKEYS
aws_secret_access_key = s
[own]
aws_access_key_id = AKIAOWN
aws_secret_access_key = s
";

const VARIABLES: [(&str, &str); 2] = [("AWS_ACCESS_KEY_ID", "AKIAVARIABLE"), ("AWS_SECRET_ACCESS_KEY", "s")];

#[tokio::test(flavor = "multi_thread")]
async fn files_variables_processes_and_roles() {
    let place = Place::new(CONFIG, CREDENTIALS);
    let signer = |more: &'static [(&'static str, &'static str)]| {
        let settings = place.settings(more);
        let place = &place;
        async move { place.signer(&settings).await.unwrap() }
    };
    assert_eq!(signer(&[]).await, "AKIADEFAULT eu-west-1");
    assert_eq!(signer(&[("AWS_PROFILE", "keys")]).await, "AKIAKEYS eu-west-2");
    assert_eq!(signer(&[("AWS_PROFILE", "keys"), ("AWS_REGION", "eu-west-3")]).await, "AKIAKEYS eu-west-3");
    assert_eq!(signer(&VARIABLES).await, "AKIAVARIABLE eu-west-1");
    assert_eq!(signer(&[("AWS_PROFILE", "process")]).await, "ASIAPROCESS us-east-1");
    for profile in ["role", "own"] {
        let mut settings = place.settings(&VARIABLES);
        settings.s3.profile = Some(profile.into());
        let signer = place.signer(&settings).await.unwrap();
        assert!(signer.starts_with("ASIA") && signer.ends_with(" us-east-1"), "{profile}: {signer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_single_sign_on() {
    let place = Place::new(CONFIG, CREDENTIALS);
    let settings = place.settings(&[("AWS_PROFILE", "sso")]);
    let token = place.home.path().join(".aws/sso/cache/0154c0dabe7145db37e0b81bf667e7224abec0ba.json");
    let error = place.signer(&settings).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(error.code(), "STATE0023");
    assert!(cause.contains("aws sso login --profile sso"), "{cause}");
    for (token_text, expires, code) in
        [("a-token", "2020-01-01T00:00:00Z", "STATE0023"), ("another", "2100-01-01T00:00:00Z", "STATE0023")]
    {
        fs::write(&token, format!(r#"{{"accessToken":"{token_text}","expiresAt":"{expires}"}}"#)).unwrap();
        assert_eq!(place.signer(&settings).await.unwrap_err().code(), code);
    }
    fs::write(&token, r#"{"accessToken":"a-token","expiresAt":"2100-01-01T00:00:00Z","region":"x"}"#)
        .unwrap();
    assert_eq!(place.signer(&settings).await.unwrap(), "ASIASSO us-east-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_is_said() {
    let place = Place::new(CONFIG, "");
    for (profile, code, text) in [
        ("nobody", "STATE0025", "AWS profile nobody"),
        ("second-factor", "STATE0025", "second factor"),
        ("role", "STATE0025", "has no credential"),
        ("broken", "STATE0023", "not today"),
        ("keys", "STATE0023", "AWS_EC2_METADATA_DISABLED"),
    ] {
        let error = place.signer(&place.settings(&[("AWS_PROFILE", profile)])).await.unwrap_err();
        let cause = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
        assert_eq!(error.code(), code, "{profile}: {error}: {cause}");
        assert!(format!("{error}: {cause}").contains(text), "{profile}: {error}: {cause}");
    }
}
