//! S3 objects. The metadata name the owner, and are part of the answer that tells whether the object exists.

use std::collections::HashMap;

use async_trait::async_trait;
use aws_sdk_s3::operation::head_object::HeadObjectOutput;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{
    ChecksumAlgorithm, ChecksumMode, MetadataDirective, ObjectCannedAcl, ServerSideEncryption,
};
use slipway_resource::{Address, ClusterUid, ErrorClass, Identity, ProviderError, Token, Value};

use super::attribute::{need, some, text};
use super::by_name::{claim, if_any, made};
use super::{Condition, Found, Kind};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::invalid;
use crate::look::Look;
use crate::owner::Owner;
use crate::rate::Class;

/// `aws_s3_object`.
pub(super) struct Object;

/// The keys of metadata with the ownership.
const UID: &str = "slipway-cluster-uid";
const CLUSTER: &str = "slipway-cluster";
const ADDRESS: &str = "slipway-address";
const TOKEN: &str = "slipway-token";
const PREFIX: &str = "slipway-";

#[async_trait]
impl Kind for Object {
    fn name(&self) -> &'static str {
        "aws_s3_object"
    }

    /// Nothing: buckets are not searched. The state knows an object, or a create finds it by its name.
    async fn list(&self, _look: &Look) -> Result<Vec<Found>, ProviderError> {
        Ok(Vec::new())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let (bucket, key) = parts(id)?;
        let request = cloud.s3().head_object().bucket(bucket).key(key).checksum_mode(ChecksumMode::Enabled);
        let answer = if_any(cloud.read(Class::S3, "HeadObject", || request.clone().send()).await)?;
        Ok(answer.map(|answer| Found {
            identity: id.clone(),
            attributes: shape(cloud, id, (bucket, key), &answer),
            owner: owner(&answer),
            condition: Condition::Ready,
        }))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let id = identity(desired)?;
        match put(act, desired, true).await {
            Ok(()) => Ok(id),
            Err(error) if error.class == ErrorClass::PreconditionFailed => {
                claim(self, act, id, desired).await
            }
            Err(error) => Err(error),
        }
    }

    async fn update(
        &self,
        act: &Act<'_>,
        _id: &Identity,
        _prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        put(act, desired, false).await
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (bucket, key) = parts(id)?;
        let request = act.cloud.s3().delete_object().bucket(bucket).key(key);
        act.cloud.write(Class::S3, "DeleteObject", || request.clone().send()).await.map(drop)
    }

    /// An object's metadata changes with a copy onto itself.
    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let (bucket, key) = parts(id)?;
        let Some(found) = self.read(act.cloud, id).await? else { return Ok(()) };
        let request = act
            .cloud
            .s3()
            .copy_object()
            .bucket(bucket)
            .key(key)
            .copy_source(format!("{bucket}/{key}"))
            .metadata_directive(MetadataDirective::Replace)
            .set_metadata(Some(metadata(act, &found.attributes)))
            .set_content_type(text(&found.attributes, "content_type").map(str::to_owned))
            .set_cache_control(text(&found.attributes, "cache_control").map(str::to_owned));
        act.cloud.write(Class::S3, "CopyObject", || request.clone().send()).await.map(drop)
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        made(self, act, identity(desired)?).await
    }

    async fn identity(&self, _cloud: &Cloud, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        Ok(identity(desired).ok())
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

/// Writes an object; a new one only where there is none of its name.
async fn put(act: &Act<'_>, desired: &Value, is_new: bool) -> Result<(), ProviderError> {
    let content = text(desired, "content").unwrap_or_default().as_bytes().to_vec();
    let (bucket, key) = (need(desired, "bucket")?, need(desired, "key")?);
    // A body can be sent once, so that each attempt has a request of its own.
    let request = || {
        act.cloud
            .s3()
            .put_object()
            .bucket(bucket)
            .key(key)
            .set_if_none_match(is_new.then(|| "*".to_owned()))
            .set_metadata(Some(metadata(act, desired)))
            .checksum_algorithm(ChecksumAlgorithm::Sha256)
            .set_checksum_sha256(text(desired, "checksum_sha256").map(str::to_owned))
            .set_content_type(text(desired, "content_type").map(str::to_owned))
            .set_cache_control(text(desired, "cache_control").map(str::to_owned))
            .set_acl(text(desired, "acl").map(ObjectCannedAcl::from))
            .set_server_side_encryption(
                text(desired, "server_side_encryption").map(ServerSideEncryption::from),
            )
            .set_ssekms_key_id(text(desired, "kms_key_id").map(str::to_owned))
            .body(ByteStream::from(content.clone()))
            .send()
    };
    act.cloud.write(Class::S3, "PutObject", request).await.map(drop)
}

fn metadata(act: &Act<'_>, attributes: &Value) -> HashMap<String, String> {
    let entries = attributes.get("metadata").and_then(Value::as_map).into_iter().flatten();
    let mut all: HashMap<String, String> =
        entries.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned())).collect();
    let ownership = &act.request.ownership;
    all.insert(UID.to_owned(), ownership.uid.as_str().to_owned());
    all.insert(CLUSTER.to_owned(), ownership.cluster.clone());
    all.insert(ADDRESS.to_owned(), ownership.address.to_string());
    all.insert(TOKEN.to_owned(), act.request.token.as_str().to_owned());
    all
}

fn owner(answer: &HeadObjectOutput) -> Option<Owner> {
    let metadata = answer.metadata()?;
    Some(Owner {
        uid: ClusterUid::new(metadata.get(UID)?.as_str()),
        cluster: metadata.get(CLUSTER).cloned().unwrap_or_default(),
        address: metadata.get(ADDRESS).and_then(|address| address.parse::<Address>().ok()),
        token: metadata.get(TOKEN).map(|token| Token::new(token.as_str())),
    })
}

fn shape(cloud: &Cloud, id: &Identity, (bucket, key): (&str, &str), answer: &HeadObjectOutput) -> Value {
    let metadata = answer.metadata().into_iter().flatten().filter(|(key, _)| !key.starts_with(PREFIX));
    Value::map([
        ("id", Value::from(id.as_str())),
        ("arn", format!("arn:{}:s3:::{bucket}/{key}", cloud.partition()).into()),
        ("bucket", bucket.into()),
        ("key", key.into()),
        ("checksum_sha256", some(answer.checksum_sha256())),
        ("content_type", some(answer.content_type())),
        ("cache_control", some(answer.cache_control())),
        ("metadata", Value::map(metadata.map(|(key, value)| (key.clone(), value.clone())))),
        ("server_side_encryption", answer.server_side_encryption().map(ServerSideEncryption::as_str).into()),
        ("kms_key_id", some(answer.ssekms_key_id())),
        ("etag", some(answer.e_tag().map(|tag| tag.trim_matches('"')))),
        ("version_id", some(answer.version_id())),
    ])
}

fn identity(desired: &Value) -> Result<Identity, ProviderError> {
    Ok(Identity::new(format!("{}/{}", need(desired, "bucket")?, need(desired, "key")?)))
}

fn parts(id: &Identity) -> Result<(&str, &str), ProviderError> {
    id.as_str()
        .split_once('/')
        .ok_or_else(|| invalid(format!("{id} is not a bucket's name, a slash and a key")))
}
