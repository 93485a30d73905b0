//! Identities and permissions of instances and service accounts.

use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Form};

use super::builder::{Builder, Named, TEXT, texts};
use super::rate::IAM;

pub(super) fn types() -> Vec<Named> {
    vec![role(), role_policy(), role_policy_attachment(), instance_profile(), openid_connect_provider()]
}

fn path() -> Attribute {
    Attribute::optional(TEXT).immutable().default_to("/")
}

fn role() -> Named {
    Builder::new("aws_iam_role", IAM, "A set of permissions that instances or service accounts take on.")
        .read_by_identity()
        .id("Its name.")
        .arn()
        .tags()
        .idempotent()
        .fixed("name", TEXT, "Its name, once in an account.")
        .attribute("path", path(), "The folder it is kept in.")
        .required("assume_role_policy", TEXT, "Principals that may assume the role: a policy document.")
        .optional("description", TEXT, "Free text that describes the object.")
        .number("max_session_duration", 3_600, "For how long it may be taken on at once, in seconds.")
        .optional("permissions_boundary", TEXT, "The policy beyond which it has no permissions.")
        .computed("unique_id", TEXT, "The id of this life of the name.")
        .exclusive(["name"])
        .takes(2_000, 1_000, 1_500)
        .forms(&["assume_role_policy"], &[Form::Policy])
        .build()
}

fn role_policy() -> Named {
    Builder::new("aws_iam_role_policy", IAM, "Permissions of a role.")
        .read_by_identity()
        .id("The role's name and its own, with a colon between them.")
        .owned_by(OwnershipKind::Parent)
        .idempotent()
        .fixed("role", TEXT, "The role.")
        .fixed("name", TEXT, "Its name, once in a role.")
        .required("policy", TEXT, "Permissions: a policy document.")
        .forms(&["policy"], &[Form::Policy])
        .build()
}

fn role_policy_attachment() -> Named {
    Builder::new("aws_iam_role_policy_attachment", IAM, "A managed policy that holds for a role.")
        .read_by_identity()
        .id("The role's name and the policy's ARN, with a slash between them.")
        .owned_by(OwnershipKind::Parent)
        .idempotent()
        .fixed("role", TEXT, "The role.")
        .fixed("policy_arn", TEXT, "The managed policy.")
        .build()
}

fn instance_profile() -> Named {
    Builder::new("aws_iam_instance_profile", IAM, "Gives a role to instances.")
        .read_by_identity()
        .id("Its name.")
        .arn()
        .tags()
        .idempotent()
        .fixed("name", TEXT, "Its name, once in an account.")
        .attribute("path", path(), "The folder it is kept in.")
        .attribute("role", Attribute::optional(TEXT).holds(), "The role; it can hold one.")
        .computed("unique_id", TEXT, "The id of this life of the name.")
        .exclusive(["name"])
        // Until a launch template can name it.
        .takes(8_000, 2_000, 1_500)
        .build()
}

fn openid_connect_provider() -> Named {
    Builder::new(
        "aws_iam_openid_connect_provider",
        IAM,
        "Lets IAM believe the tokens of the cluster's service accounts.",
    )
    .read_by_identity()
    .id("Its ARN.")
    .arn()
    .tags()
    .idempotent()
    .fixed("url", TEXT, "The issuer of the tokens, once in an account.")
    .required("client_id_list", texts(), "The audiences that tokens may be for.")
    .optional_computed(
        "thumbprint_list",
        texts(),
        "SHA-1 fingerprints of the certificate authorities of the issuer's server.",
    )
    .exclusive(["url"])
    .forms(&["url"], &[Form::Url])
    .forms(&["thumbprint_list"], &[Form::Case])
    .build()
}
