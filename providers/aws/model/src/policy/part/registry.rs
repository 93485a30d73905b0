//! Images from the account's own registries.

use crate::policy::Grants;

/// Reading of every repository.
pub(crate) fn registry(grants: &mut Grants) {
    grants.anywhere([
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:DescribeRepositories",
        "ecr:GetAuthorizationToken",
        "ecr:GetDownloadUrlForLayer",
        "ecr:GetRepositoryPolicy",
        "ecr:ListImages",
    ]);
}
