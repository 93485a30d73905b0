//! Machines that wait in a warm pool, with a lifecycle hook that they complete themselves.

use crate::policy::{Grants, Scope};

/// The end of one's own lifecycle action.
pub(crate) fn warm_pool(grants: &mut Grants, scope: &Scope<'_>) {
    grants.anywhere(["autoscaling:DescribeLifecycleHooks"]);
    grants.tagged(scope, ["autoscaling:CompleteLifecycleAction"]);
}
