//! The clients of one session, each made when it is first needed.

use std::sync::OnceLock;
use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_smithy_http_client::tls;
use aws_smithy_runtime_api::client::http::HttpClient;

use crate::config::Config;
use crate::resolver::EndpointResolver;

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// How long one call may take.
const CALL: Duration = Duration::from_secs(30);

/// The clients of one account in one region.
pub(crate) struct Clients {
    config: SdkConfig,
    ec2: OnceLock<aws_sdk_ec2::Client>,
    autoscaling: OnceLock<aws_sdk_autoscaling::Client>,
    balancing: OnceLock<aws_sdk_elasticloadbalancingv2::Client>,
    iam: OnceLock<aws_sdk_iam::Client>,
    route53: OnceLock<aws_sdk_route53::Client>,
    sqs: OnceLock<aws_sdk_sqs::Client>,
    events: OnceLock<aws_sdk_eventbridge::Client>,
    s3: OnceLock<aws_sdk_s3::Client>,
    ssm: OnceLock<aws_sdk_ssm::Client>,
    sts: OnceLock<aws_sdk_sts::Client>,
    kms: OnceLock<aws_sdk_kms::Client>,
    quotas: OnceLock<aws_sdk_servicequotas::Client>,
}

impl Clients {
    /// Clients by a configuration; the environment and the shared configuration files say the rest.
    pub async fn load(config: &Config, region: Option<&str>) -> Self {
        let timeouts =
            TimeoutConfig::builder().connect_timeout(CONNECT).operation_attempt_timeout(CALL).build();
        let mut loader = aws_config::defaults(BehaviorVersion::latest())
            .retry_config(RetryConfig::disabled())
            .timeout_config(timeouts);
        if let Some(region) = region {
            loader = loader.region(Region::new(region.to_owned()));
        }
        if let Some(profile) = &config.profile {
            loader = loader.profile_name(profile);
        }
        if let Some(endpoint) = &config.endpoint {
            loader = loader.endpoint_url(endpoint);
            if !config.is_callers_endpoint {
                let provider = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::AwsLc);
                let http = aws_smithy_http_client::Builder::new().tls_provider(provider);
                loader = loader.http_client(http.build_with_resolver(EndpointResolver::of(endpoint)));
            }
        }
        let mut sdk = loader.load().await;
        if let Some(role) = &config.assume_role {
            sdk = assume(sdk, role, config.external_id.as_deref()).await;
        }
        Self::new(sdk)
    }

    /// Clients whose calls an HTTP client answers, with credentials that belong to nobody.
    pub fn answered_by(http: impl HttpClient + 'static, region: &str) -> Self {
        let nobody = Credentials::new("nobody", "nobody", None, None, "nobody");
        let config = SdkConfig::builder()
            .behavior_version(BehaviorVersion::latest())
            .region(Region::new(region.to_owned()))
            .credentials_provider(SharedCredentialsProvider::new(nobody))
            .retry_config(RetryConfig::disabled())
            .http_client(http)
            .build();
        Self::new(config)
    }

    fn new(config: SdkConfig) -> Self {
        Self {
            config,
            ec2: OnceLock::new(),
            autoscaling: OnceLock::new(),
            balancing: OnceLock::new(),
            iam: OnceLock::new(),
            route53: OnceLock::new(),
            sqs: OnceLock::new(),
            events: OnceLock::new(),
            s3: OnceLock::new(),
            ssm: OnceLock::new(),
            sts: OnceLock::new(),
            kms: OnceLock::new(),
            quotas: OnceLock::new(),
        }
    }

    /// The region, as the spec or else the environment names it.
    pub fn region(&self) -> Option<String> {
        self.config.region().map(|region| region.as_ref().to_owned())
    }

    /// EC2.
    pub fn ec2(&self) -> &aws_sdk_ec2::Client {
        self.ec2.get_or_init(|| aws_sdk_ec2::Client::new(&self.config))
    }

    /// Auto Scaling.
    pub fn autoscaling(&self) -> &aws_sdk_autoscaling::Client {
        self.autoscaling.get_or_init(|| aws_sdk_autoscaling::Client::new(&self.config))
    }

    /// Elastic Load Balancing, version 2.
    pub fn balancing(&self) -> &aws_sdk_elasticloadbalancingv2::Client {
        self.balancing.get_or_init(|| aws_sdk_elasticloadbalancingv2::Client::new(&self.config))
    }

    /// IAM.
    pub fn iam(&self) -> &aws_sdk_iam::Client {
        self.iam.get_or_init(|| aws_sdk_iam::Client::new(&self.config))
    }

    /// Route 53.
    pub fn route53(&self) -> &aws_sdk_route53::Client {
        self.route53.get_or_init(|| aws_sdk_route53::Client::new(&self.config))
    }

    /// SQS.
    pub fn sqs(&self) -> &aws_sdk_sqs::Client {
        self.sqs.get_or_init(|| aws_sdk_sqs::Client::new(&self.config))
    }

    /// EventBridge.
    pub fn events(&self) -> &aws_sdk_eventbridge::Client {
        self.events.get_or_init(|| aws_sdk_eventbridge::Client::new(&self.config))
    }

    /// S3, by path where another endpoint stands in for AWS.
    pub fn s3(&self) -> &aws_sdk_s3::Client {
        self.s3.get_or_init(|| {
            let by_path = self.config.endpoint_url().is_some();
            let config = aws_sdk_s3::config::Builder::from(&self.config).force_path_style(by_path).build();
            aws_sdk_s3::Client::from_conf(config)
        })
    }

    /// Systems Manager.
    pub fn ssm(&self) -> &aws_sdk_ssm::Client {
        self.ssm.get_or_init(|| aws_sdk_ssm::Client::new(&self.config))
    }

    /// STS.
    pub fn sts(&self) -> &aws_sdk_sts::Client {
        self.sts.get_or_init(|| aws_sdk_sts::Client::new(&self.config))
    }

    /// KMS.
    pub fn kms(&self) -> &aws_sdk_kms::Client {
        self.kms.get_or_init(|| aws_sdk_kms::Client::new(&self.config))
    }

    /// Service Quotas.
    pub fn quotas(&self) -> &aws_sdk_servicequotas::Client {
        self.quotas.get_or_init(|| aws_sdk_servicequotas::Client::new(&self.config))
    }
}

async fn assume(config: SdkConfig, role: &str, external_id: Option<&str>) -> SdkConfig {
    let mut provider = AssumeRoleProvider::builder(role).configure(&config).session_name("slipway");
    if let Some(id) = external_id {
        provider = provider.external_id(id);
    }
    let credentials = SharedCredentialsProvider::new(provider.build().await);
    config.into_builder().credentials_provider(credentials).build()
}
