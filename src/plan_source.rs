//! Where a plan is: in a file, or in the state store by its digest.

use std::path::Path;
use std::sync::Arc;

use futures_util::{StreamExt, TryStreamExt, stream};
use slipway_limits::{file, size};
use slipway_plan::Plan;
use slipway_resource::ClusterUid;
use slipway_state_store::plans::{self, About, StoredPlan};
use slipway_state_store::{Backend, ClusterName, Digest, Generation};

use crate::actor::Actor;
use crate::error::CommandError;
use crate::files::{self, Readers, Written};
use crate::planning::Prepared;
use crate::program::Context;
use crate::secrets::sealed;

/// What a place in the state store begins with.
const STORE: &str = "state:";

/// A plan file, also of another version.
const PLAN: Written = Written {
    what: "a plan",
    largest: size::PLAN,
    is_one: |bytes| files::is_json_of(bytes, slipway_plan::file::KIND),
};

/// How many clusters are asked at once.
const AT_ONCE: usize = 16;

/// Keeps a plan where it was asked for: in a file, or with `state:` beside the state of its cluster.
pub(crate) async fn save(
    context: &Context,
    prepared: &Prepared,
    plan: &Plan,
    path: Option<&Path>,
) -> Result<(), CommandError> {
    let Some(path) = path else { return Ok(()) };
    let sealed = sealed::seal(&prepared.keyring, plan, &prepared.texts).await?;
    let bytes = plan.to_bytes_with(sealed.as_ref())?;
    if path.to_str() == Some(STORE) {
        let place = store(context, plan, bytes).await?;
        context.output.message(&format!("The plan is stored as {place}"));
        return Ok(());
    }
    files::write_out(path, &bytes, Readers::AsUsual, PLAN)
}

/// A plan, with the envelope of its secrets.
pub(crate) type PlanAndSealed = (Plan, Option<serde_json::Value>);

/// Reads the plan of a file, or of `state:DIGEST` or `state:CLUSTER/DIGEST`.
pub(crate) async fn read(context: &Context, path: &Path) -> Result<Plan, CommandError> {
    Ok(read_with_sealed(context, path).await?.0)
}

/// Reads a plan with the envelope of its secrets, which is not opened.
pub(crate) async fn read_with_sealed(context: &Context, path: &Path) -> Result<PlanAndSealed, CommandError> {
    if let Some(reference) = path.to_str().and_then(|text| text.strip_prefix(STORE)) {
        return stored(context, reference).await;
    }
    let bytes =
        file::read_given(path, size::PLAN).map_err(|error| CommandError::file("the plan", path, &error))?;
    Ok(Plan::from_bytes_with(&bytes)?)
}

/// Refuses a plan that does not fit the state any more. It is asked before a plan is shown, so that nobody reviews in
/// vain; the run asks again when it holds the cluster.
pub(crate) async fn check_fits(context: &Context, plan: &Plan) -> Result<(), CommandError> {
    let cluster = ClusterName::new(plan.cluster.as_str())?;
    let head = slipway_state_store::read_head(&*context.backend()?, &cluster).await?.map(|(head, _)| head);
    let current = head.as_ref().map_or(0, |head| head.generation.0);
    let uid = head.filter(|head| !head.deleted).map(|head| ClusterUid::new(head.uid.as_str()));
    Ok(slipway_engine::check_generation(plan, current, uid.as_ref())?)
}

/// Stores a plan's file beside the state of its cluster. Returns its place, as `state:CLUSTER/DIGEST`.
async fn store(context: &Context, plan: &Plan, bytes: Vec<u8>) -> Result<String, CommandError> {
    let backend = context.backend()?;
    let about = About {
        format: plans::FORMAT,
        cluster: ClusterName::new(plan.cluster.as_str())?,
        plan: digest(plan)?,
        generation: Generation(plan.binding.generation.unwrap_or(0)),
        who: Actor::current(context).who,
        when: jiff::Timestamp::now(),
        digest: Digest::of(&bytes),
    };
    let place = format!("{STORE}{}/{}", about.cluster, about.plan.to_hex());
    plans::store(&backend, &StoredPlan { about, bytes: bytes.into() }).await?;
    Ok(place)
}

/// The digest of a plan, as the state store names it.
pub(crate) fn digest(plan: &Plan) -> Result<Digest, CommandError> {
    let digest = plan.digest()?;
    digest
        .as_str()
        .parse()
        .map_err(|error| CommandError::internal("the plan's digest cannot be used as a name", &error))
}

async fn stored(context: &Context, reference: &str) -> Result<PlanAndSealed, CommandError> {
    let backend = context.backend()?;
    let (cluster, digits) = match reference.rsplit_once('/') {
        Some((cluster, digits)) => (Some(ClusterName::new(cluster)?), digits),
        None => (None, reference),
    };
    let digits = digits.strip_prefix("sha256:").unwrap_or(digits);
    let is_hexadecimal = digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    if !is_hexadecimal || !(plans::FEWEST_DIGITS..=64).contains(&digits.len()) {
        let message = format!("`{STORE}{reference}` names no plan in the state store");
        return Err(CommandError::new("CLI0034", message)
            .hint("a stored plan is named by 8 to 64 of the digits of its digest, as state:0123abcd"));
    }
    let clusters = match cluster {
        Some(cluster) => vec![cluster],
        None => slipway_state_store::list_clusters(&*backend).await?,
    };
    let mut found = find(&backend, clusters, digits).await?;
    match (found.pop(), found.is_empty()) {
        (Some((cluster, plan)), true) => {
            let stored = plans::read(&*backend, &cluster, plan).await?;
            let stored = stored.ok_or_else(|| missing(context, digits))?;
            let (read, sealed) = Plan::from_bytes_with(&stored.bytes)?;
            // The name it was stored under is what was reviewed.
            if digest(&read)? != plan {
                return Err(CommandError::new(
                    "CLI0034",
                    format!("{plan} is stored with another plan in it"),
                ));
            }
            Ok((read, sealed))
        }
        (None, _) => Err(missing(context, digits)),
        (Some(last), false) => {
            let mut error =
                CommandError::new("CLI0034", format!("{digits} are the first digits of several plans"));
            for (cluster, plan) in found.iter().chain([&last]) {
                error = error.cause(format!("{STORE}{cluster}/{}", plan.to_hex()));
            }
            Err(error.hint("give more digits, or the cluster too"))
        }
    }
}

/// The plans whose digest begins so. Calls grow with clusters, not with what they have.
async fn find(
    backend: &Arc<dyn Backend>,
    clusters: Vec<ClusterName>,
    digits: &str,
) -> Result<Vec<(ClusterName, Digest)>, CommandError> {
    let find = |cluster: ClusterName| async move {
        let found = plans::find(&**backend, &cluster, digits).await?;
        Ok(found.into_iter().map(move |plan| (cluster.clone(), plan)).collect())
    };
    let all: Vec<Vec<_>> = stream::iter(clusters)
        .map(find)
        .buffered(AT_ONCE)
        .try_collect()
        .await
        .map_err(|error: slipway_state_store::Error| CommandError::from(error))?;
    Ok(all.into_iter().flatten().collect())
}

fn missing(context: &Context, digits: &str) -> CommandError {
    let place = context.state_url();
    CommandError::new("CLI0034", format!("no plan in {place} has a digest that begins with {digits}")).hint(
        "`slipway plan -f … --out state:` stores one; `slipway state gc` removes those that fit no more",
    )
}
