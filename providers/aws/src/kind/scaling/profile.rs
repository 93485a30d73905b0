//! Instance profiles that are so new that not every service knows them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use slipway_resource::{ProviderError, Value};

use crate::cloud::Cloud;
use crate::kind::attribute::{block, text};
use crate::rate::Class;

/// How long it may take until every service knows a profile.
pub(super) const KNOWN_EVERYWHERE: Duration = Duration::from_secs(120);

/// Whether the machines of a group have a profile that was just created. A profile that cannot be read counts
/// as old.
pub(super) async fn is_fresh(cloud: &Cloud, group: &Value) -> bool {
    match age(cloud, group).await {
        Ok(age) => age.is_some_and(|age| age < KNOWN_EVERYWHERE),
        Err(error) => {
            tracing::debug!(%error, "the age of a profile cannot be read");
            false
        }
    }
}

async fn age(cloud: &Cloud, group: &Value) -> Result<Option<Duration>, ProviderError> {
    let mix = block(group, "mixed_instances_policy").and_then(|mix| block(mix, "launch_template"));
    let mix = mix.and_then(|mix| block(mix, "launch_template_specification"));
    let template = match mix {
        Some(template) => text(template, "launch_template_id"),
        None => block(group, "launch_template").and_then(|template| text(template, "id")),
    };
    let Some(template) = template else { return Ok(None) };
    let request =
        cloud.ec2().describe_launch_template_versions().launch_template_id(template).versions("$Latest");
    let answer =
        cloud.read(Class::Ec2Read, "DescribeLaunchTemplateVersions", || request.clone().send()).await?;
    let data = answer.launch_template_versions().first().and_then(|version| version.launch_template_data());
    let profile = data.and_then(|data| data.iam_instance_profile());
    let named = profile.and_then(|profile| profile.name().or(profile.arn()));
    let Some(name) = named.and_then(|name| name.rsplit('/').next()) else { return Ok(None) };
    let request = cloud.iam().get_instance_profile().instance_profile_name(name);
    let answer = cloud.read(Class::Iam, "GetInstanceProfile", || request.clone().send()).await?;
    let Some(made) = answer.instance_profile().map(|profile| profile.create_date().secs()) else {
        return Ok(None);
    };
    let made = UNIX_EPOCH + Duration::from_secs(made.try_into().unwrap_or_default());
    Ok(Some(SystemTime::now().duration_since(made).unwrap_or_default()))
}
