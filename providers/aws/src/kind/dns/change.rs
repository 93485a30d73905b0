//! Changes of records, gathered by zone, and the wait until all of Route 53's servers have them.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_route53::types::{Change, ChangeAction, ChangeBatch, ChangeStatus, ResourceRecordSet};
use slipway_resource::{ErrorClass, ProviderError};
use tokio::sync::oneshot;

use crate::act::{Act, Wait};
use crate::batch::Family;
use crate::cloud::Cloud;
use crate::error::{error, incomplete, invalid};
use crate::kind::by_name::if_any;
use crate::rate::Class;

/// For how long changes of a zone are gathered.
const GATHER: Duration = Duration::from_millis(20);
/// How many changes are sent in one call; Route 53 accepts a thousand.
const LIMIT: usize = 100;
/// How long Route 53's servers are waited for.
const IN_SYNC: Duration = Duration::from_secs(300);

type Answer = Result<String, ProviderError>;
type Waiting = Vec<(Change, oneshot::Sender<Answer>)>;

/// The changes of a session that wait for their call.
#[derive(Default)]
struct Changes {
    waiting: Mutex<HashMap<String, Waiting>>,
}

/// Makes a change together with all that arrive for the same zone, and returns its id.
///
/// # Errors
/// As the call says; when one of several changes is wrong each is sent alone, so that the failure is its own.
pub(super) async fn submit(
    cloud: &Cloud,
    zone: &str,
    action: ChangeAction,
    record: ResourceRecordSet,
) -> Result<String, ProviderError> {
    let change = Change::builder()
        .action(action)
        .resource_record_set(record)
        .build()
        .map_err(|error| invalid(format!("the change is not complete: {error}")))?;
    let changes = cloud.shared::<Changes>();
    let (sender, receiver) = oneshot::channel();
    let is_first = {
        let mut waiting = changes.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = waiting.entry(zone.to_owned()).or_default();
        waiting.push((change, sender));
        waiting.len() == 1
    };
    if is_first {
        let (cloud, zone) = (cloud.clone(), zone.to_owned());
        // The task ends with its calls, which have a time limit, and answers all waiting changes.
        tokio::spawn(async move {
            tokio::time::sleep(GATHER).await;
            send_all(&cloud, &changes, &zone).await;
        });
    }
    match receiver.await {
        Ok(answer) => answer,
        Err(_) => Err(error(ErrorClass::OutcomeUnknown, "the change was given up")),
    }
}

async fn send_all(cloud: &Cloud, changes: &Arc<Changes>, zone: &str) {
    let waiting = {
        let mut waiting = changes.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(zone).unwrap_or_default()
    };
    let (all, senders): (Vec<Change>, Vec<_>) = waiting.into_iter().unzip();
    let mut answers: Vec<Answer> = Vec::with_capacity(all.len());
    for part in all.chunks(LIMIT) {
        match send(cloud, zone, part.to_vec()).await {
            Err(error) if part.len() > 1 && error.class == ErrorClass::Invalid => {
                for change in part {
                    answers.push(send(cloud, zone, vec![change.clone()]).await);
                }
            }
            answer => answers.extend(std::iter::repeat_n(answer, part.len())),
        }
    }
    for (sender, answer) in senders.into_iter().zip(answers) {
        // The requester may be gone.
        let _ = sender.send(answer);
    }
}

/// Sends all of these changes, or none.
async fn send(cloud: &Cloud, zone: &str, changes: Vec<Change>) -> Answer {
    let batch = ChangeBatch::builder()
        .set_changes(Some(changes))
        .build()
        .map_err(|error| invalid(format!("the changes are not complete: {error}")))?;
    let request = cloud.route53().change_resource_record_sets().hosted_zone_id(zone).change_batch(batch);
    let answer = cloud.write(Class::Route53, "ChangeResourceRecordSets", || request.clone().send()).await?;
    let info = answer.change_info().ok_or_else(|| incomplete("ChangeResourceRecordSets", "change"))?;
    Ok(info.id().to_owned())
}

/// Whether changes have reached all servers, by id.
struct InSync;

#[async_trait]
impl Family for InSync {
    type Item = bool;
    const LIMIT: usize = 1;

    async fn fetch(cloud: &Cloud, keys: &[String]) -> Result<BTreeMap<String, bool>, ProviderError> {
        let mut found = BTreeMap::new();
        for key in keys {
            let request = cloud.route53().get_change().id(key);
            let answer = cloud.read(Class::Route53, "GetChange", || request.clone().send()).await;
            // Route 53 forgets completed changes after a while.
            let status = if_any(answer)?.and_then(|answer| Some(answer.change_info()?.status().clone()));
            found.insert(key.clone(), status.is_none_or(|status| status == ChangeStatus::Insync));
        }
        Ok(found)
    }
}

/// Waits until a change has reached all servers.
///
/// # Errors
/// As the calls say, or when it takes too long.
pub(super) async fn in_sync(act: &Act<'_>, change: &str) -> Result<(), ProviderError> {
    let mut wait = Wait::for_at_most(IN_SYNC);
    loop {
        if act.cloud.get::<InSync>(change).await?.is_none_or(|in_sync| *in_sync) {
            return Ok(());
        }
        act.pause(&mut wait, &format!("{change} had not reached all DNS servers")).await?;
    }
}
