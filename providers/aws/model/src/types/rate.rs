//! Rate classes: one for each limit that AWS counts calls against.

use std::collections::BTreeMap;

use slipway_resource::provider::RateClass;

/// EC2: networks, security groups, templates, volumes.
pub const EC2: &str = "ec2";
/// EC2 Auto Scaling.
pub const AUTOSCALING: &str = "autoscaling";
/// Elastic Load Balancing, version 2.
pub const ELB: &str = "elasticloadbalancing";
/// IAM.
pub const IAM: &str = "iam";
/// Route 53.
pub const ROUTE53: &str = "route53";
/// SQS.
pub const SQS: &str = "sqs";
/// EventBridge.
pub const EVENTS: &str = "events";
/// S3.
pub const S3: &str = "s3";
/// KMS.
pub const KMS: &str = "kms";

/// The pace that each class begins with. The documented refill rates of the mutating calls, where they are
/// documented: EC2 refills five mutating calls a second and holds a bucket of many more, Route 53 takes five of any kind.
#[must_use]
pub fn classes() -> BTreeMap<String, RateClass> {
    [
        (EC2, 24, None),
        (AUTOSCALING, 12, None),
        (ELB, 12, None),
        (IAM, 12, None),
        (ROUTE53, 4, Some(5.0)),
        (SQS, 8, None),
        (EVENTS, 12, None),
        (S3, 16, None),
        (KMS, 4, None),
    ]
    .into_iter()
    .map(|(name, concurrency, per_second)| (name.to_owned(), RateClass { concurrency, per_second }))
    .collect()
}
