//! Launch templates. What an instance is like is never changed: each change is a new version.

mod request;
mod response;

use std::collections::BTreeMap;

use async_trait::async_trait;
use aws_sdk_ec2::types::{LaunchTemplate as Sdk, LaunchTemplateVersion};
use slipway_resource::{Identity, ProviderError, Value};

use super::attribute::{differs, need, text};
use super::{Found, Kind, update_tags};
use crate::act::Act;
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::look::filter;
use crate::owner::{identity, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_launch_template`.
pub(super) struct LaunchTemplate;

/// Launch templates by id, without what their versions say.
struct LaunchTemplates;

/// The newest versions by the id of their template.
struct NewestVersions;

#[async_trait]
impl Family for LaunchTemplates {
    type Item = Sdk;
    const LIMIT: usize = 200;

    /// By filter, not by id: one id that does not exist would fail the call for all.
    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Sdk>, ProviderError> {
        let request = cloud.ec2().describe_launch_templates().filters(filter("launch-template-id", keys));
        let mut found = BTreeMap::new();
        let mut next: Option<String> = None;
        loop {
            let page = cloud
                .read(Class::Ec2Read, "DescribeLaunchTemplates", || {
                    request.clone().set_next_token(next.clone()).send()
                })
                .await?;
            for template in page.launch_templates() {
                if let Some(id) = template.launch_template_id().filter(|id| keys.iter().any(|key| key == id))
                {
                    found.insert(id.to_owned(), template.clone());
                }
            }
            next = page.next_token().filter(|token| !token.is_empty()).map(str::to_owned);
            if next.is_none() {
                return Ok(found);
            }
        }
    }
}

#[async_trait]
impl Family for NewestVersions {
    type Item = LaunchTemplateVersion;
    /// AWS lists the versions of one template, or the newest of every template of the account.
    const LIMIT: usize = 1;

    async fn fetch(
        cloud: &Cloud,
        keys: &[String],
    ) -> Result<BTreeMap<String, LaunchTemplateVersion>, ProviderError> {
        let mut found = BTreeMap::new();
        for key in keys {
            let request =
                cloud.ec2().describe_launch_template_versions().launch_template_id(key).versions("$Latest");
            let answer =
                cloud.read(Class::Ec2Read, "DescribeLaunchTemplateVersions", || request.clone().send()).await;
            let answer = super::by_name::if_any(answer)?;
            let version = answer.and_then(|answer| answer.launch_template_versions().first().cloned());
            found.extend(version.map(|version| (key.clone(), version)));
        }
        Ok(found)
    }
}

#[async_trait]
impl Kind for LaunchTemplate {
    fn name(&self) -> &'static str {
        "aws_launch_template"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("launch-template")
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let (template, version) = tokio::join!(
            cloud.get::<LaunchTemplates>(id.as_str()),
            cloud.get::<NewestVersions>(id.as_str()),
        );
        let (Some(template), Some(version)) = (template?, version?) else { return Ok(None) };
        let tags = of_ec2(template.tags());
        Ok(Some(Found::ready(id.as_str(), attributes(cloud, &template, &version), &tags)))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let request = act
            .cloud
            .ec2()
            .create_launch_template()
            .launch_template_name(need(desired, "name")?)
            .set_version_description(text(desired, "description").map(str::to_owned))
            .launch_template_data(request::data(desired)?)
            .client_token(act.client_token())
            .tag_specifications(specification("launch-template", &act.tags(desired)));
        let answer =
            act.cloud.write(Class::Ec2Write, "CreateLaunchTemplate", || request.clone().send()).await?;
        let id = answer.launch_template().and_then(Sdk::launch_template_id);
        Ok(identity(id.ok_or_else(|| incomplete("CreateLaunchTemplate", "id"))?))
    }

    /// A version that is made twice with the same token is made once.
    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        update_tags(act.cloud, id.as_str(), prior, desired).await?;
        if !is_other_version(prior, desired) {
            return Ok(());
        }
        let request = act
            .cloud
            .ec2()
            .create_launch_template_version()
            .launch_template_id(id.as_str())
            .set_version_description(text(desired, "description").map(str::to_owned))
            .launch_template_data(request::data(desired)?)
            .client_token(act.client_token());
        act.cloud
            .write(Class::Ec2Write, "CreateLaunchTemplateVersion", || request.clone().send())
            .await
            .map(drop)
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.ec2().delete_launch_template().launch_template_id(id.as_str());
        act.cloud.write(Class::Ec2Write, "DeleteLaunchTemplate", || request.clone().send()).await.map(drop)
    }
}

/// Whether anything but the template's own tags differs.
fn is_other_version(prior: &Value, desired: &Value) -> bool {
    let names = prior.as_map().into_iter().chain(desired.as_map()).flatten().map(|(name, _)| name.as_str());
    let of_the_template = ["id", "arn", "name", "tags", "latest_version", "default_version"];
    let mut versioned = names.filter(|name| !of_the_template.contains(name));
    versioned.any(|name| differs(prior, desired, name))
}

fn attributes(cloud: &Cloud, template: &Sdk, version: &LaunchTemplateVersion) -> Value {
    let id = template.launch_template_id().unwrap_or_default();
    let mut entries = version.launch_template_data().map(response::data).unwrap_or_default();
    let own = Value::map([
        ("id", Value::from(id)),
        ("arn", cloud.ec2_arn(None, "launch-template", id).into()),
        ("name", template.launch_template_name().into()),
        ("description", super::attribute::some(version.version_description())),
        ("latest_version", template.latest_version_number().into()),
        ("default_version", template.default_version_number().into()),
        ("tags", visible(&of_ec2(template.tags()))),
    ]);
    if let Value::Map(own) = own {
        entries.extend(own);
    }
    Value::Map(entries)
}
