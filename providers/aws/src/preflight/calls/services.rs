//! Events, queues and objects in buckets.

use super::{Calls, of};

pub(super) const CLOUDWATCH_EVENT_RULE: Calls = of(
    &["events:ListRules", "events:ListTagsForResource"],
    &[("events:PutRule", ""), ("events:TagResource", "")],
    &["events:PutRule", "events:TagResource", "events:UntagResource"],
    &["events:DeleteRule"],
);

pub(super) const CLOUDWATCH_EVENT_TARGET: Calls = of(
    &["events:ListTargetsByRule"],
    &[("events:PutTargets", "")],
    &["events:PutTargets"],
    &["events:RemoveTargets"],
);

pub(super) const S3_OBJECT: Calls = of(
    &["s3:GetObject"],
    &[("s3:PutObject", ""), ("s3:PutObjectAcl", "acl")],
    &["s3:PutObject", "s3:PutObjectAcl"],
    &["s3:DeleteObject"],
);

pub(super) const SQS_QUEUE: Calls = of(
    &["sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ListQueueTags"],
    &[("sqs:CreateQueue", ""), ("sqs:TagQueue", "")],
    &["sqs:SetQueueAttributes", "sqs:TagQueue", "sqs:UntagQueue"],
    &["sqs:DeleteQueue"],
);
