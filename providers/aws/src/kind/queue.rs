//! SQS queues.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_sqs::types::QueueAttributeName;
use slipway_aws_model::normalise::document::compact;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::attribute::{differs, need, some, text};
use super::by_name::{claim, if_any, made};
use super::{Found, Kind};
use crate::act::{Act, Wait};
use crate::cloud::Cloud;
use crate::error::incomplete;
use crate::look::Look;
use crate::owner::{Tags, difference, marks, visible};
use crate::rate::Class;

/// `aws_sqs_queue`.
pub(super) struct Queue;

/// The longest part of a queue's name that the cluster's name may be.
const LONGEST_CLUSTER: usize = 76;
/// For how long a name is taken after its queue was deleted, with a little more.
const NAME_IS_FREE: Duration = Duration::from_secs(90);

/// The attributes that can be set, as the schema and as SQS call them.
const ATTRIBUTES: [(&str, QueueAttributeName, Form); 10] = [
    ("message_retention_seconds", QueueAttributeName::MessageRetentionPeriod, Form::Number),
    ("visibility_timeout_seconds", QueueAttributeName::VisibilityTimeout, Form::Number),
    ("delay_seconds", QueueAttributeName::DelaySeconds, Form::Number),
    ("max_message_size", QueueAttributeName::MaximumMessageSize, Form::Number),
    ("receive_wait_time_seconds", QueueAttributeName::ReceiveMessageWaitTimeSeconds, Form::Number),
    ("policy", QueueAttributeName::Policy, Form::Document),
    ("redrive_policy", QueueAttributeName::RedrivePolicy, Form::Document),
    ("sqs_managed_sse_enabled", QueueAttributeName::SqsManagedSseEnabled, Form::Switch),
    ("kms_master_key_id", QueueAttributeName::KmsMasterKeyId, Form::Text),
    ("kms_data_key_reuse_period_seconds", QueueAttributeName::KmsDataKeyReusePeriodSeconds, Form::Number),
];

/// The form of a value in SQS' texts.
#[derive(Clone, Copy, Debug)]
enum Form {
    Number,
    Switch,
    Text,
    Document,
}

#[async_trait]
impl Kind for Queue {
    fn name(&self) -> &'static str {
        "aws_sqs_queue"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        if look.by_ownership_alone() {
            return Ok(Vec::new());
        }
        let prefix: String = look.request.cluster.replace('.', "-").chars().take(LONGEST_CLUSTER).collect();
        let request = look.cloud.sqs().list_queues().queue_name_prefix(prefix).max_results(1_000);
        let page = look.cloud.read(Class::Sqs, "ListQueues", || request.clone().send()).await?;
        let reads = page.queue_urls().iter().map(|url| read(&look.cloud, url));
        Ok(futures_util::future::try_join_all(reads).await?.into_iter().flatten().collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        read(cloud, id.as_str()).await
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        // The creating call succeeds for an existing queue with the same attributes, even of another owner.
        let name = need(desired, "name")?;
        if let Some(url) = url_of(act.cloud, name).await? {
            return claim(self, act, Identity::new(url), desired).await;
        }
        let mut attributes: HashMap<QueueAttributeName, String> = ATTRIBUTES
            .iter()
            .filter_map(|(name, key, form)| Some((key.clone(), to_text(desired, name, *form)?)))
            .collect();
        if desired.get("fifo_queue").and_then(Value::as_bool) == Some(true) {
            attributes.insert(QueueAttributeName::FifoQueue, "true".to_owned());
        }
        let request = act
            .cloud
            .sqs()
            .create_queue()
            .queue_name(name)
            .set_attributes(Some(attributes))
            .set_tags(Some(act.tags(desired).into_iter().collect()));
        let mut wait = Wait::for_at_most(NAME_IS_FREE);
        loop {
            match act.cloud.write(Class::Sqs, "CreateQueue", || request.clone().send()).await {
                Ok(answer) => {
                    let url = answer.queue_url().ok_or_else(|| incomplete("CreateQueue", "URL"))?;
                    return Ok(Identity::new(url));
                }
                // A queue of this name was deleted a moment ago.
                Err(error) if error.class == ErrorClass::Transient => {
                    act.pause(&mut wait, &format!("the name was not free: {error}")).await?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let (cloud, url) = (act.cloud, id.as_str());
        let changed = ATTRIBUTES.iter().filter(|(name, _, _)| differs(prior, desired, name));
        // Attributes that are left to SQS stay unchanged. For the others, an empty text removes the
        // attribute.
        let changed: HashMap<QueueAttributeName, String> = changed
            .filter_map(|(name, key, form)| {
                let text = match form {
                    Form::Number | Form::Switch => to_text(desired, name, *form)?,
                    Form::Text | Form::Document => to_text(desired, name, *form).unwrap_or_default(),
                };
                Some((key.clone(), text))
            })
            .collect();
        if !changed.is_empty() {
            let request = cloud.sqs().set_queue_attributes().queue_url(url).set_attributes(Some(changed));
            cloud.write(Class::Sqs, "SetQueueAttributes", || request.clone().send()).await?;
        }
        let (set, gone) = difference(prior, desired);
        set_tags(cloud, url, set).await?;
        if !gone.is_empty() {
            let request = cloud.sqs().untag_queue().queue_url(url).set_tag_keys(Some(gone));
            cloud.write(Class::Sqs, "UntagQueue", || request.clone().send()).await?;
        }
        Ok(())
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.sqs().delete_queue().queue_url(id.as_str());
        act.cloud.write(Class::Sqs, "DeleteQueue", || request.clone().send()).await.map(drop)
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        set_tags(act.cloud, id.as_str(), marks(&act.request.ownership, None)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        match url_of(act.cloud, need(desired, "name")?).await? {
            Some(url) => made(self, act, Identity::new(url)).await,
            None => Ok(None),
        }
    }

    async fn identity(&self, cloud: &Cloud, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        match text(desired, "name") {
            Some(name) => Ok(url_of(cloud, name).await?.map(Identity::new)),
            None => Ok(None),
        }
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

/// The URL of the queue of a name.
async fn url_of(cloud: &Cloud, name: &str) -> Result<Option<String>, ProviderError> {
    let request = cloud.sqs().get_queue_url().queue_name(name);
    let answer = if_any(cloud.read(Class::Sqs, "GetQueueUrl", || request.clone().send()).await)?;
    Ok(answer.and_then(|answer| answer.queue_url))
}

async fn read(cloud: &Cloud, url: &str) -> Result<Option<Found>, ProviderError> {
    let attributes =
        cloud.sqs().get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::All);
    let tags = cloud.sqs().list_queue_tags().queue_url(url);
    let (attributes, tags) = tokio::join!(
        cloud.read(Class::Sqs, "GetQueueAttributes", || attributes.clone().send()),
        cloud.read(Class::Sqs, "ListQueueTags", || tags.clone().send()),
    );
    let (Some(attributes), Some(tags)) = (if_any(attributes)?, if_any(tags)?) else { return Ok(None) };
    let tags: Tags =
        tags.tags().into_iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
    let empty = HashMap::new();
    let texts = attributes.attributes().unwrap_or(&empty);
    let text = |name: &QueueAttributeName| some(texts.get(name).map(String::as_str));
    let name = url.rsplit('/').next().unwrap_or_default();
    let mut entries = vec![
        ("id", Value::from(url)),
        ("url", url.into()),
        ("arn", text(&QueueAttributeName::QueueArn)),
        ("name", name.into()),
        ("fifo_queue", (text(&QueueAttributeName::FifoQueue) == Value::from("true")).into()),
        ("tags", visible(&tags)),
    ];
    // Numbers and switches come as texts, and are taken for what the schema says.
    entries.extend(ATTRIBUTES.iter().map(|(name, key, _)| (*name, text(key))));
    Ok(Some(Found::ready(url, Value::map(entries), &tags)))
}

/// A desired value in the form of SQS.
fn to_text(desired: &Value, name: &str, form: Form) -> Option<String> {
    let value = desired.get(name)?;
    match form {
        Form::Number => value.as_integer().map(|number| number.to_string()),
        Form::Switch => value.as_bool().map(|truth| truth.to_string()),
        Form::Text => value.as_str().map(str::to_owned),
        Form::Document => value.as_str().map(compact),
    }
}

async fn set_tags(cloud: &Cloud, url: &str, tags: Tags) -> Result<(), ProviderError> {
    if tags.is_empty() {
        return Ok(());
    }
    let request = cloud.sqs().tag_queue().queue_url(url).set_tags(Some(tags.into_iter().collect()));
    cloud.write(Class::Sqs, "TagQueue", || request.clone().send()).await.map(drop)
}
