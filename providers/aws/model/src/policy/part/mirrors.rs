//! Programs of machines on mirrors in buckets.

use crate::policy::{Condition, Grants, Scope};

/// Reading of these very objects, each as `bucket/key`. The bucket may have other things, which machines do not read.
pub(crate) fn mirrors<'a>(grants: &mut Grants, scope: &Scope<'_>, objects: impl Iterator<Item = &'a str>) {
    let arns = objects.map(|object| format!("arn:{}:s3:::{object}", scope.partition));
    grants.allow(arns, &Condition::none(), ["s3:GetObject"]);
}
