//! Images: by id, by the path of a parameter, or by owner and name.

use std::collections::{BTreeMap, BTreeSet};

use aws_sdk_ec2::types::Image as Sdk;
use futures_util::future::try_join_all;
use slipway_aws_model::catalog::Image;
use slipway_resource::{ErrorClass, ProviderError};

use crate::cloud::Cloud;
use crate::look::filter;
use crate::rate::Class;

/// The partition of AWS with most regions.
const COMMERCIAL: &str = "aws";
/// The partition of the regions in China.
const CHINA: &str = "aws-cn";
/// The partition of the regions for the government of the United States.
const GOVERNMENT: &str = "aws-us-gov";

/// The accounts with which somebody publishes images. An account is one of a partition.
#[derive(Clone, Copy, Debug)]
struct Publisher {
    /// The account, or its alias, in the commercial regions.
    account: &'static str,
    /// Those of other partitions, by partition.
    elsewhere: &'static [(&'static str, &'static str)],
}

const AMAZON: Publisher =
    Publisher { account: "amazon", elsewhere: &[(CHINA, "amazon"), (GOVERNMENT, "amazon")] };
const AMAZON_LINUX: Publisher = Publisher { account: "137112412989", ..AMAZON };
const CANONICAL: Publisher = Publisher {
    account: "099720109477",
    elsewhere: &[(CHINA, "837727238323"), (GOVERNMENT, "513442679011")],
};
const DEBIAN: Publisher = Publisher { account: "136693071363", elsewhere: &[] };
const FLATCAR: Publisher = Publisher { account: "075585003325", elsewhere: &[(GOVERNMENT, "775307060209")] };
const KOPE: Publisher = Publisher { account: "383156758163", elsewhere: &[] };
const RED_HAT: Publisher = Publisher {
    account: "309956199498",
    elsewhere: &[(CHINA, "841258680906"), (GOVERNMENT, "219670896067")],
};
const ROCKY: Publisher = Publisher { account: "792107900819", elsewhere: &[] };

/// The publishers of images by the start of their names, if the spec names none. A name alone is never
/// enough, because any account may publish an image under it.
const PUBLISHERS: [(&str, Publisher); 7] = [
    ("Flatcar-", FLATCAR),
    ("RHEL-", RED_HAT),
    ("Rocky-", ROCKY),
    ("al2023-ami-", AMAZON),
    ("amzn2-ami-", AMAZON),
    ("debian-", DEBIAN),
    ("ubuntu/images", CANONICAL),
];

/// Domains that specs use for an owner.
const DOMAINS: [(&str, Publisher); 5] = [
    ("amazon.com", AMAZON_LINUX),
    ("kope.io", KOPE),
    ("flatcar", FLATCAR),
    ("redhat.com", RED_HAT),
    ("debian", DEBIAN),
];

impl Publisher {
    /// The account in a partition, if it is known.
    fn account_in(self, partition: &str) -> Option<&'static str> {
        if partition == COMMERCIAL {
            return Some(self.account);
        }
        self.elsewhere.iter().find(|(name, _)| *name == partition).map(|(_, account)| *account)
    }

    /// The publisher with an account in the commercial regions.
    fn with_account(account: &str) -> Option<Self> {
        let mut known = DOMAINS.iter().chain(&PUBLISHERS).map(|(_, publisher)| *publisher);
        known.find(|publisher| publisher.account == account)
    }
}

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
    let (owner, name) = owner_of(name, cloud.partition());
    let request = cloud.ec2().describe_images().owners(owner).filters(filter("name", [name]));
    let page = cloud.read(Class::Ec2Read, "DescribeImages", || request.clone().send()).await?;
    let newest = page.images().iter().max_by_key(|image| (image.creation_date(), image.image_id()));
    Ok(newest.map(known))
}

/// The owner of an image in a partition, and the rest of its name. In other partitions, publishers that are known there have other
/// accounts than specs usually name. An image of an unknown publisher is looked for in the account of the caller.
fn owner_of<'a>(name: &'a str, partition: &str) -> (&'a str, &'a str) {
    if let Some((first, rest)) = name.split_once('/') {
        if matches!(first, "self" | "amazon" | "aws-marketplace") {
            return (first, rest);
        }
        if first.len() == 12 && first.bytes().all(|byte| byte.is_ascii_digit()) {
            let publisher = Publisher::with_account(first);
            return (publisher.and_then(|one| one.account_in(partition)).unwrap_or(first), rest);
        }
        if let Some((_, publisher)) = DOMAINS.iter().find(|(domain, _)| *domain == first) {
            return (publisher.account_in(partition).unwrap_or("self"), rest);
        }
    }
    let publisher = PUBLISHERS.iter().find(|(beginning, _)| name.starts_with(beginning));
    (publisher.and_then(|(_, publisher)| publisher.account_in(partition)).unwrap_or("self"), name)
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
            assert_eq!(owner_of(name, COMMERCIAL), owner);
        }
    }

    #[test]
    fn a_publisher_has_another_account_in_another_partition() {
        for (partition, name, owner) in [
            (GOVERNMENT, "099720109477/ubuntu/images/x", "513442679011"),
            (GOVERNMENT, "ubuntu/images/x", "513442679011"),
            (GOVERNMENT, "513442679011/ubuntu/images/x", "513442679011"),
            (GOVERNMENT, "redhat.com/RHEL-9.6.0_HVM-x", "219670896067"),
            (GOVERNMENT, "Flatcar-stable-4152.2.3-hvm", "775307060209"),
            (CHINA, "ubuntu/images/x", "837727238323"),
            (CHINA, "RHEL-9.6.0_HVM-x", "841258680906"),
            (CHINA, "amazon.com/amzn2-ami-x", "amazon"),
            (CHINA, "al2023-ami-x", "amazon"),
            // Of others, the account is not known: the caller may have a copy under the same name.
            (CHINA, "debian-12-amd64-x", "self"),
            (CHINA, "debian/debian-12-amd64-x", "self"),
            ("aws-iso", "ubuntu/images/x", "self"),
            (CHINA, "123456789012/mine", "123456789012"),
        ] {
            assert_eq!(owner_of(name, partition).0, owner, "{name} in {partition}");
        }
    }
}
