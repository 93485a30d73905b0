//! The node termination handler, fed by a queue.

use crate::policy::{Grants, Scope};

/// Messages of the queue, and the end of lifecycle actions. SQS knows no conditions on tags.
pub(crate) fn termination_handler(grants: &mut Grants, scope: &Scope<'_>) {
    grants.anywhere([
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeTags",
        "ec2:DescribeInstances",
        "sqs:DeleteMessage",
        "sqs:ReceiveMessage",
    ]);
    grants.tagged(scope, ["autoscaling:CompleteLifecycleAction"]);
}
