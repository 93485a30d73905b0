//! Volumes, key pairs and objects.

use slipway_resource::provider::operation;
use slipway_resource::schema::OwnershipKind;
use slipway_resource::{Attribute, Form, Type};

use super::builder::{BOOL, Builder, INTEGER, Named, TEXT};
use super::rate::{EC2, S3};

pub(super) fn types() -> Vec<Named> {
    vec![volume(), key_pair(), object()]
}

fn volume() -> Named {
    Builder::new("aws_ebs_volume", EC2, "A disk that outlives the instances it is attached to.")
        .arn()
        .tags()
        .idempotent()
        .stateful()
        .fixed("availability_zone", TEXT, "Its zone.")
        .optional_computed("size", INTEGER, "Its size in GiB; it grows in place and never shrinks.")
        .optional_computed("type", TEXT, "gp3, gp2, io1, io2, st1, sc1 or standard.")
        .optional_computed("iops", INTEGER, "Operations a second that it allows.")
        .optional_computed("throughput", INTEGER, "MiB a second that it allows.")
        .attribute(
            "encrypted",
            Attribute::optional_computed(BOOL).immutable(),
            "Whether it is encrypted; left out, the account decides.",
        )
        .attribute(
            "kms_key_id",
            Attribute::optional_computed(TEXT).immutable(),
            "The ARN of the key it is encrypted with.",
        )
        .attribute(
            "snapshot_id",
            Attribute::optional(TEXT).immutable(),
            "The snapshot whose data it begins with.",
        )
        .operation(
            operation::ATTACH,
            10_000,
            false,
            "Attaches the volume of a member of etcd to the instance that asks for it.",
        )
        .takes(3_000, 5_000, 3_000)
        .forms(&["type"], &[Form::Case])
        .build()
}

/// Not stateful: AWS keeps the public half alone, which the spec has too.
fn key_pair() -> Named {
    Builder::new("aws_key_pair", EC2, "The public half of an SSH key that instances let in.")
        .id("Its name.")
        .arn()
        .tags()
        .idempotent()
        .fixed("key_name", TEXT, "Its name, once in a region.")
        .fixed("public_key", TEXT, "The public key, as in an authorized_keys file.")
        .computed("fingerprint", TEXT, "Its fingerprint, as AWS computes it.")
        .computed("key_pair_id", TEXT, "The id that AWS has given it.")
        .computed("key_type", TEXT, "rsa or ed25519.")
        .exclusive(["key_name"])
        .forms(&["public_key"], &[Form::PublicKey])
        .build()
}

fn object() -> Named {
    Builder::new("aws_s3_object", S3, "An object in a bucket, as a document that nodes or IAM read.")
        .read_by_identity()
        .id("The bucket's name and the key, with a slash between them.")
        .arn()
        .owned_by(OwnershipKind::Name)
        .idempotent()
        .fixed("bucket", TEXT, "The bucket.")
        .fixed("key", TEXT, "Its name in the bucket.")
        .attribute("content", Attribute::optional(TEXT).write_only(), "Content of the object.")
        .optional_computed("checksum_sha256", TEXT, "SHA-256 of what it holds, in base64.")
        .text("content_type", "application/octet-stream", "The media type of what it holds.")
        .optional("cache_control", TEXT, "For how long readers may keep it.")
        .attribute(
            "acl",
            Attribute::optional(TEXT).write_only(),
            "A canned access list, as public-read; it is set with each put and not read back.",
        )
        .optional("metadata", Type::map(TEXT), "Free metadata, with keys in lower case.")
        .optional_computed("server_side_encryption", TEXT, "AES256 or aws:kms.")
        .optional_computed("kms_key_id", TEXT, "The ARN of the key it is encrypted with.")
        .computed("etag", TEXT, "ETag of the content in S3.")
        .computed("version_id", TEXT, "The version, in a bucket that keeps them.")
        .exclusive(["bucket", "key"])
        .takes(300, 300, 300)
        .build()
}
