//! Images: by id, by the path of a parameter, or by owner and name.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::types::Image as Sdk;
use futures_util::future::try_join_all;
use slipway_aws_model::catalog::Image;
use slipway_resource::{ErrorClass, ProviderError};

use crate::cloud::Cloud;
use crate::look::filter;
use crate::rate::Class;

/// The publishers of images by the start of their names, if the spec names none. A name alone is never
/// enough, because any account may publish an image under it.
const PUBLISHERS: [(&str, &str); 7] = [
    ("Flatcar-", "075585003325"),
    ("RHEL-", "309956199498"),
    ("Rocky-", "792107900819"),
    ("al2023-ami-", "amazon"),
    ("amzn2-ami-", "amazon"),
    ("debian-", "136693071363"),
    ("ubuntu/images", "099720109477"),
];

/// Domains that specs use for an owner.
const DOMAINS: [(&str, &str); 5] = [
    ("amazon.com", "137112412989"),
    ("kope.io", "383156758163"),
    ("flatcar", "075585003325"),
    ("redhat.com", "309956199498"),
    ("debian", "136693071363"),
];

/// Images by their names in specs. A missing image is left out, and preflight reports it.
pub(super) async fn images(
    cloud: &Cloud,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, Image>, ProviderError> {
    let asked = names.iter().map(|name| async move { Ok((name.clone(), image(cloud, name).await?)) });
    let found: Vec<(String, Option<Image>)> = try_join_all(asked).await?;
    Ok(found.into_iter().filter_map(|(name, image)| Some((name, image?))).collect())
}

async fn image(cloud: &Cloud, name: &str) -> Result<Option<Image>, ProviderError> {
    if let Some(path) = name.strip_prefix("ssm:") {
        return match parameter(cloud, path).await? {
            Some(id) => by_id(cloud, &id).await,
            None => Ok(None),
        };
    }
    if name.starts_with("ami-") {
        return by_id(cloud, name).await;
    }
    by_name(cloud, name).await
}

async fn parameter(cloud: &Cloud, path: &str) -> Result<Option<String>, ProviderError> {
    let request = cloud.ssm().get_parameter().name(path);
    match cloud.read(Class::Ssm, "GetParameter", || request.clone().send()).await {
        Ok(answer) => Ok(answer.parameter().and_then(|parameter| parameter.value()).map(str::to_owned)),
        Err(error) if error.class == ErrorClass::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

async fn by_id(cloud: &Cloud, id: &str) -> Result<Option<Image>, ProviderError> {
    let request = cloud.ec2().describe_images().image_ids(id);
    match cloud.read(Class::Ec2Read, "DescribeImages", || request.clone().send()).await {
        Ok(page) => Ok(page.images().first().map(known)),
        Err(error) if matches!(error.class, ErrorClass::NotFound | ErrorClass::Invalid) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The newest image of an owner under a name.
async fn by_name(cloud: &Cloud, name: &str) -> Result<Option<Image>, ProviderError> {
    let (owner, name) = owner_of(name);
    let request = cloud.ec2().describe_images().owners(owner).filters(filter("name", [name]));
    let page = cloud.read(Class::Ec2Read, "DescribeImages", || request.clone().send()).await?;
    let newest = page.images().iter().max_by_key(|image| (image.creation_date(), image.image_id()));
    Ok(newest.map(known))
}

/// The owner and the rest of an image name.
fn owner_of(name: &str) -> (&str, &str) {
    if let Some((first, rest)) = name.split_once('/') {
        let is_account = first.len() == 12 && first.bytes().all(|byte| byte.is_ascii_digit());
        if is_account || matches!(first, "self" | "amazon" | "aws-marketplace") {
            return (first, rest);
        }
        if let Some((_, account)) = DOMAINS.iter().find(|(domain, _)| *domain == first) {
            return (account, rest);
        }
    }
    let publisher = PUBLISHERS.iter().find(|(beginning, _)| name.starts_with(beginning));
    (publisher.map_or("self", |(_, owner)| owner), name)
}

fn known(image: &Sdk) -> Image {
    Image {
        id: image.image_id().unwrap_or_default().to_owned(),
        root_device: image.root_device_name().unwrap_or_default().to_owned(),
        architecture: image.architecture().map(|name| name.as_str().to_owned()).unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_an_owner() {
        for (name, owner) in [
            ("099720109477/ubuntu/images/x", ("099720109477", "ubuntu/images/x")),
            ("ubuntu/images/hvm-ssd/x", ("099720109477", "ubuntu/images/hvm-ssd/x")),
            ("kope.io/k8s-1.20", ("383156758163", "k8s-1.20")),
            ("my-own/image", ("self", "my-own/image")),
            ("amazon/al2023-ami-x", ("amazon", "al2023-ami-x")),
        ] {
            assert_eq!(owner_of(name), owner);
        }
    }
}
