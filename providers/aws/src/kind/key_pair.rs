//! SSH key pairs: the public half.

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ec2::primitives::Blob;
use aws_sdk_ec2::types::{KeyPairInfo, KeyType};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::attribute::{need, some};
use super::by_name::{claim, made};
use super::{Found, Kind, create_tags, update_tags};
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::look::{Look, filter};
use crate::owner::{marks, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_key_pair`.
pub(super) struct KeyPair;

/// Key pairs by name.
struct KeyPairs;

#[async_trait]
impl Family for KeyPairs {
    type Item = KeyPairInfo;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, KeyPairInfo>, ProviderError> {
        let pairs = describe(cloud, "key-name", keys).await?.into_iter();
        Ok(pairs.filter_map(|pair| Some((pair.key_name()?.to_owned(), pair))).collect())
    }
}

#[async_trait]
impl Kind for KeyPair {
    fn name(&self) -> &'static str {
        "aws_key_pair"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let ids = look.tagged("key-pair").await?;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let pairs = describe(&look.cloud, "key-pair-id", &ids).await?;
        Ok(pairs.iter().filter_map(|pair| found(&look.cloud, pair)).collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let pair = cloud.get::<KeyPairs>(id.as_str()).await?;
        Ok(pair.and_then(|pair| found(cloud, &pair)))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let name = need(desired, "key_name")?;
        let request = act
            .cloud
            .ec2()
            .import_key_pair()
            .key_name(name)
            .public_key_material(Blob::new(need(desired, "public_key")?))
            .tag_specifications(specification("key-pair", &act.tags(desired)));
        match act.cloud.write(Class::Ec2Write, "ImportKeyPair", || request.clone().send()).await {
            Ok(_) => Ok(Identity::new(name)),
            Err(error) if error.class == ErrorClass::Conflict => {
                claim(self, act, Identity::new(name), desired).await
            }
            Err(error) => Err(error),
        }
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        update_tags(act.cloud, &resource_id(act.cloud, id).await?, prior, desired).await
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().delete_key_pair().key_name(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteKeyPair", || request.clone().send()).await.map(drop)
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let resource = resource_id(act.cloud, id).await?;
        create_tags(act.cloud, &resource, &marks(&act.request.ownership, None)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        made(self, act, Identity::new(need(desired, "key_name")?)).await
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

/// The id under which a key pair is tagged.
async fn resource_id(cloud: &Cloud, id: &Identity) -> Result<String, ProviderError> {
    let pair = cloud.get::<KeyPairs>(id.as_str()).await?;
    let resource = pair.as_ref().and_then(|pair| pair.key_pair_id());
    Ok(resource.ok_or_else(|| incomplete("DescribeKeyPairs", "id"))?.to_owned())
}

async fn describe(cloud: &Cloud, by: &str, values: &[String]) -> Result<Vec<KeyPairInfo>, ProviderError> {
    let request = cloud.ec2().describe_key_pairs().include_public_key(true).filters(filter(by, values));
    let answer = cloud.read(Class::Ec2Read, "DescribeKeyPairs", || request.clone().send()).await?;
    Ok(answer.key_pairs().to_vec())
}

fn found(cloud: &Cloud, pair: &KeyPairInfo) -> Option<Found> {
    let name = pair.key_name()?;
    let tags = of_ec2(pair.tags());
    let attributes = Value::map([
        ("id", Value::from(name)),
        ("arn", cloud.ec2_arn(None, "key-pair", name).into()),
        ("key_name", name.into()),
        ("public_key", some(pair.public_key())),
        ("fingerprint", some(pair.key_fingerprint())),
        ("key_pair_id", some(pair.key_pair_id())),
        ("key_type", pair.key_type().map(KeyType::as_str).into()),
        ("tags", visible(&tags)),
    ]);
    Some(Found::ready(name, attributes, &tags))
}
