//! Tags of what EC2 has.

use slipway_resource::{ProviderError, Value};

use crate::cloud::Cloud;
use crate::owner::{self, Tags};
use crate::rate::Class;

/// Sets tags on an object of EC2.
///
/// # Errors
/// By class.
pub(crate) async fn create_tags(cloud: &Cloud, id: &str, tags: &Tags) -> Result<(), ProviderError> {
    let request = cloud.ec2().create_tags().resources(id).set_tags(Some(owner::ec2_tags(tags)));
    cloud.write(Class::Ec2Write, "CreateTags", || request.clone().send()).await.map(drop)
}

/// Brings the tags of an object of EC2 from those in `prior` to those in `desired`.
///
/// # Errors
/// By class.
pub(crate) async fn update_tags(
    cloud: &Cloud,
    id: &str,
    prior: &Value,
    desired: &Value,
) -> Result<(), ProviderError> {
    let (set, gone) = owner::difference(prior, desired);
    if !set.is_empty() {
        create_tags(cloud, id, &set).await?;
    }
    if !gone.is_empty() {
        let keys = gone.iter().map(|key| aws_sdk_ec2::types::Tag::builder().key(key).build()).collect();
        let request = cloud.ec2().delete_tags().resources(id).set_tags(Some(keys));
        cloud.write(Class::Ec2Write, "DeleteTags", || request.clone().send()).await?;
    }
    Ok(())
}
