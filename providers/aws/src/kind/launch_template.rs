//! Launch templates. A version is never changed: each change of the instances is a new version.

mod request;
mod response;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use aws_sdk_ec2::types::{LaunchTemplate as Sdk, LaunchTemplateVersion};
use futures_util::future::try_join_all;
use slipway_aws_model::plan::boot;
use slipway_aws_model::tags;
use slipway_resource::{Identity, ProviderError, Value};

use super::attribute::{differs, need, text};
use super::by_name::if_any;
use super::{Found, Kind, update_tags};
use crate::act::Act;
use crate::batch::{Family, fetch_existing};
use crate::catalog::Seen;
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::look::{Look, filter};
use crate::owner::{CLUSTER, identity, of_ec2, specification, visible};
use crate::rate::Class;

/// `aws_launch_template`.
pub(super) struct LaunchTemplate;

/// Launch templates by id, without the contents of their versions.
struct LaunchTemplates;

/// The newest versions, by the id of their template and the cluster's name with a blank between them.
struct NewestVersions;

/// The API's name for the newest version.
const NEWEST: &str = "$Latest";
/// From this number of templates of one cluster on, one call reads them together.
const SEVERAL: usize = 2;

#[async_trait]
impl Family for LaunchTemplates {
    type Item = Sdk;
    const LIMIT: usize = 200;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, Sdk>, ProviderError> {
        fetch_existing(keys, |keys| describe(cloud, keys)).await
    }
}

async fn describe(cloud: &Cloud, ids: Vec<String>) -> Result<BTreeMap<String, Sdk>, ProviderError> {
    let request = cloud.ec2().describe_launch_templates().set_launch_template_ids(Some(ids));
    let answer = cloud.read(Class::Ec2Read, "DescribeLaunchTemplates", || request.clone().send()).await?;
    let templates = answer.launch_templates().iter();
    Ok(templates
        .filter_map(|template| Some((template.launch_template_id()?.to_owned(), template.clone())))
        .collect())
}

#[async_trait]
impl Family for NewestVersions {
    type Item = LaunchTemplateVersion;
    const LIMIT: usize = 200;

    async fn fetch(
        cloud: &Cloud,
        keys: &[String],
    ) -> Result<BTreeMap<String, LaunchTemplateVersion>, ProviderError> {
        let mut by_cluster: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for key in keys {
            let (id, cluster) = key.split_once(' ').unwrap_or((key, ""));
            by_cluster.entry(cluster).or_default().push(id);
        }
        let mut found = BTreeMap::new();
        for (cluster, ids) in by_cluster {
            let mut versions = BTreeMap::new();
            if ids.len() >= SEVERAL && !cluster.is_empty() {
                versions = newest_of_cluster(cloud, cluster).await?;
            }
            let missing = ids.iter().filter(|id| !versions.contains_key(**id)).map(|id| newest(cloud, id));
            let missing: Vec<_> = try_join_all(missing).await?.into_iter().flatten().collect();
            versions.extend(missing.into_iter().map(by_template));
            found
                .extend(ids.iter().filter_map(|id| Some((format!("{id} {cluster}"), versions.remove(*id)?))));
        }
        Ok(found)
    }
}

fn by_template(version: LaunchTemplateVersion) -> (String, LaunchTemplateVersion) {
    (version.launch_template_id().unwrap_or_default().to_owned(), version)
}

async fn newest(cloud: &Cloud, id: &str) -> Result<Option<LaunchTemplateVersion>, ProviderError> {
    let request = cloud.ec2().describe_launch_template_versions().launch_template_id(id).versions(NEWEST);
    let answer =
        cloud.read(Class::Ec2Read, "DescribeLaunchTemplateVersions", || request.clone().send()).await;
    Ok(if_any(answer)?.and_then(|answer| answer.launch_template_versions().first().cloned()))
}

/// The newest versions whose machines have a profile of the cluster. The call has no filter for tags or for
/// several templates. Templates that it misses, such as one with another profile, are read alone.
async fn newest_of_cluster(
    cloud: &Cloud,
    cluster: &str,
) -> Result<BTreeMap<String, LaunchTemplateVersion>, ProviderError> {
    let profiles = format!("arn:{}:iam::{}:instance-profile/*.{cluster}", cloud.partition(), cloud.account());
    let request = cloud
        .ec2()
        .describe_launch_template_versions()
        .versions(NEWEST)
        .filters(filter("iam-instance-profile", [profiles]))
        .max_results(200);
    let send = |token| request.clone().set_next_token(token).send();
    let action = "DescribeLaunchTemplateVersions";
    let pages = cloud.pages(Class::Ec2Read, action, send, |page| page.next_token()).await?;
    let versions = pages.iter().flat_map(|page| page.launch_template_versions());
    Ok(versions.cloned().map(by_template).collect())
}

#[async_trait]
impl Kind for LaunchTemplate {
    fn name(&self) -> &'static str {
        "aws_launch_template"
    }

    fn tagged_as(&self) -> Option<&'static str> {
        Some("launch-template")
    }

    /// The cluster of the templates is known, so that templates and versions are read in parallel.
    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        let ids = look.tagged("launch-template").await?;
        let reads = ids.iter().map(|id| async move {
            let key = format!("{id} {}", look.request.cluster);
            let (template, version) = tokio::try_join!(
                look.cloud.get::<LaunchTemplates>(id),
                look.cloud.get::<NewestVersions>(&key)
            )?;
            let found = template.zip(version).map(|(template, version)| {
                let attributes = attributes(&look.cloud, &template, &version);
                Found::ready(id, attributes, &of_ec2(template.tags()))
            });
            Ok::<_, ProviderError>(found)
        });
        Ok(try_join_all(reads).await?.into_iter().flatten().collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let Some(template) = cloud.get::<LaunchTemplates>(id.as_str()).await? else { return Ok(None) };
        let tags = of_ec2(template.tags());
        let cluster = tags.get(CLUSTER).or_else(|| tags.get(tags::CLUSTER)).map_or("", String::as_str);
        let version = cloud.get::<NewestVersions>(&format!("{id} {cluster}")).await?;
        let Some(version) = version else { return Ok(None) };
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
    // What follows from the user data is compared with it.
    let of_the_template = ["id", "arn", "name", "tags", "latest_version", "default_version", "etcd_data"];
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
        // Of the version that was read: the template itself may be read as it was before it.
        ("latest_version", version.version_number().or(template.latest_version_number()).into()),
        ("default_version", template.default_version_number().into()),
        ("tags", visible(&of_ec2(template.tags()))),
    ]);
    if let Value::Map(own) = own {
        entries.extend(own);
    }
    let attributes = Value::Map(entries);
    if boot::of_another_tool(&attributes) {
        cloud.shared::<Seen>().other_user_data.store(true, Ordering::Relaxed);
    }
    attributes
}
