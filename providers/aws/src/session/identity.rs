//! The identity of an instance that requests the credential of a node.
//!
//! An instance signs a `GetCallerIdentity` request to STS with the credentials of its role, and with the
//! digest of the challenge in a header. It does not send the request. The control plane builds the same
//! request itself, adds the signature, and sends it to STS, so that the caller cannot choose the request or
//! its target. STS answers with the role and the instance of the signature. AWS does the same in its own
//! authenticator, and kOps for its nodes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_ec2::config::ConfigBag;
use aws_sdk_ec2::types::{Instance, InstanceStateName};
use aws_smithy_runtime_api::box_error::BoxError;
use aws_smithy_runtime_api::client::interceptors::Intercept;
use aws_smithy_runtime_api::client::interceptors::context::{
    BeforeTransmitInterceptorContextMut, BeforeTransmitInterceptorContextRef,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use serde::{Deserialize, Serialize};
use slipway_aws_model::names::roles_of_others;
use slipway_aws_model::tags;
use slipway_resource::provider::{NodeChallenge, VerifiedNode, VerifyNodeRequest};
use slipway_resource::{Digest, ErrorClass, ProviderError};
use tokio::sync::OnceCell;

use crate::cloud::Cloud;
use crate::error::{error, incomplete, permanent};
use crate::rate::Class;

/// The header with the digest of the challenge. The signature covers it.
const CHALLENGE: &str = "x-slipway-challenge";
/// The headers that a caller may give for STS: those of a signature, and those of the SDK that it covers.
const BROUGHT: [&str; 7] = [
    "authorization",
    "x-amz-date",
    "x-amz-security-token",
    "x-amz-content-sha256",
    "x-amz-user-agent",
    "amz-sdk-invocation-id",
    "amz-sdk-request",
];
/// The headers that the signature must cover.
const COVERED: [&str; 3] = ["host", "x-amz-date", CHALLENGE];
/// The tag in which Auto Scaling names the group of an instance. Only AWS can set it.
const GROUP: &str = "aws:autoscaling:groupName";
/// The tag in which EC2 identifies the launch template of an instance. Only AWS can set it.
const TEMPLATE: &str = "aws:ec2launchtemplate:id";
/// The tag of workers.
const NODE: &str = "k8s.io/role/node";

/// The credential of an instance: the headers of the request that it has signed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Credential {
    headers: BTreeMap<String, String>,
}

/// The credential of this instance for a challenge. Nothing is sent.
pub(super) async fn credential(cloud: &Cloud, challenge: &NodeChallenge) -> Result<Vec<u8>, ProviderError> {
    let signing = Signing { challenge: challenge.digest(), signed: Arc::default() };
    let signed = signing.signed.clone();
    // The interceptor ends the call after the signature.
    let ended = cloud.sts().get_caller_identity().customize().interceptor(signing).send().await;
    let headers = std::mem::take(&mut *signed.lock().unwrap_or_else(PoisonError::into_inner));
    if headers.is_empty() {
        let cause = ended.err().map(|error| slipway_resource::with_causes(&error)).unwrap_or_default();
        let text = format!("the identity of this instance cannot be proved: {cause}");
        return Err(error(ErrorClass::Unauthenticated, text)
            .with_hint("the instance needs an instance profile with a role"));
    }
    serde_json::to_vec(&Credential { headers }).map_err(|error| permanent(error.to_string()))
}

/// The instance that has shown a credential.
pub(super) async fn verify(
    cloud: &Cloud,
    request: &VerifyNodeRequest,
) -> Result<VerifiedNode, ProviderError> {
    let credential: Credential = serde_json::from_slice(&request.credential)
        .map_err(|error| refused(format!("the credential cannot be read: {error}")))?;
    let replaying = Replaying::new(credential, &request.challenge.digest())?;
    let call = || cloud.sts().get_caller_identity().customize().interceptor(replaying.clone()).send();
    let caller = cloud.read(Class::Sts, "GetCallerIdentity", call).await.map_err(of_sts)?;
    let account = caller.account().ok_or_else(|| incomplete("GetCallerIdentity", "account"))?;
    let arn = caller.arn().ok_or_else(|| incomplete("GetCallerIdentity", "ARN"))?;
    if account != cloud.account() {
        return Err(refused(format!(
            "it is of account {account}, and the cluster is in {}",
            cloud.account()
        )));
    }
    let (role, id) = of_instance(arn, cloud.partition(), account)
        .ok_or_else(|| refused(format!("{arn} is no role of an instance")))?;
    let instance = instance(cloud, id).await?;
    belongs(&instance, &request.cluster, role, id)?;
    is_in(&instance, &own_network(cloud).await?, id)?;
    has_role(cloud, &instance, role, id).await?;
    let pool = pool(&instance, &request.cluster).map(str::to_owned);
    let started = instance.launch_time().ok_or_else(|| incomplete("DescribeInstances", "time"))?.secs();
    Ok(VerifiedNode {
        machine: id.to_owned(),
        nodes: names(&instance, id),
        pool,
        role: Some(role.to_owned()),
        template: tag(&instance, TEMPLATE).map(str::to_owned),
        started,
    })
}

/// The role and the instance of an ARN such as `arn:aws:sts::123456789012:assumed-role/nodes.example.com/i-0abc`: EC2
/// names the session of a role after the instance.
fn of_instance<'a>(arn: &'a str, partition: &str, account: &str) -> Option<(&'a str, &'a str)> {
    let rest = arn.strip_prefix(&format!("arn:{partition}:sts::{account}:assumed-role/"))?;
    let (role, id) = rest.split_once('/')?;
    let digits = id.strip_prefix("i-")?;
    let is_id = (8..=17).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && !role.is_empty()).then_some((role, id))
}

async fn instance(cloud: &Cloud, id: &str) -> Result<Instance, ProviderError> {
    let call = || cloud.ec2().describe_instances().instance_ids(id).send();
    let answer = cloud.read(Class::Ec2Read, "DescribeInstances", call).await;
    let answer = answer.map_err(|error| match error.class {
        ErrorClass::NotFound => refused(format!("instance {id} does not exist")),
        _ => error,
    })?;
    let mut found =
        answer.reservations.unwrap_or_default().into_iter().flat_map(|one| one.instances.unwrap_or_default());
    found.next().ok_or_else(|| refused(format!("instance {id} does not exist")))
}

/// Holds that an instance runs and is one of a pool of workers of the cluster.
fn belongs(instance: &Instance, cluster: &str, role: &str, id: &str) -> Result<(), ProviderError> {
    let state = instance.state().and_then(|state| state.name());
    if state != Some(&InstanceStateName::Running) {
        let state = state.map_or("in no state", InstanceStateName::as_str);
        return Err(refused(format!("instance {id} is {state}")));
    }
    let is_member = tag(instance, tags::CLUSTER) == Some(cluster);
    if !is_member || pool(instance, cluster).is_none() {
        let text = format!("instance {id} with the role {role} is no machine of a pool of {cluster}");
        return Err(refused(text));
    }
    if tag(instance, NODE) != Some("1") || roles_of_others(cluster).iter().any(|other| other == role) {
        return Err(refused(format!("instance {id} with the role {role} is no worker of {cluster}")));
    }
    Ok(())
}

/// The pool of workers that an instance is of, by the name of its group. The name of a pool has no dot, so that a group of the
/// cluster `a.example.com` is none of `example.com`.
fn pool<'a>(instance: &'a Instance, cluster: &str) -> Option<&'a str> {
    let pool = tag(instance, GROUP)?.strip_suffix(cluster)?.strip_suffix('.')?;
    (!pool.is_empty() && !pool.contains('.')).then_some(pool)
}

/// The network of the instance that verifies others. It never changes.
#[derive(Default)]
struct OwnNetwork(OnceCell<String>);

/// The network of this control plane, which is that of its cluster.
async fn own_network(cloud: &Cloud) -> Result<String, ProviderError> {
    let own = cloud.shared::<OwnNetwork>();
    own.0.get_or_try_init(|| look_for_own_network(cloud)).await.cloned()
}

async fn look_for_own_network(cloud: &Cloud) -> Result<String, ProviderError> {
    let caller = cloud.caller().unwrap_or("nobody");
    let (_, id) = of_instance(caller, cloud.partition(), cloud.account()).ok_or_else(|| {
        permanent(format!(
            "the network of the cluster is not known: {caller}, who verifies machines, is no instance"
        ))
        .with_hint("let control planes use the role of their instance, and no other credentials")
    })?;
    let own = instance(cloud, id).await?;
    own.vpc_id().map(str::to_owned).ok_or_else(|| incomplete("DescribeInstances", "network"))
}

/// Checks that an instance is in the network of the cluster. Tags of a cluster, and groups with its name, can be created in every
/// network of the account.
fn is_in(instance: &Instance, network: &str, id: &str) -> Result<(), ProviderError> {
    match instance.vpc_id() {
        Some(its) if its == network => Ok(()),
        its => {
            let its = its.unwrap_or("no network");
            Err(refused(format!("instance {id} is in {its}, and the cluster is in {network}")))
        }
    }
}

/// Checks that the role is the one of the instance's profile. A caller that may assume another role can
/// choose the name of its session, such as the id of an instance.
async fn has_role(cloud: &Cloud, instance: &Instance, role: &str, id: &str) -> Result<(), ProviderError> {
    let arn = instance.iam_instance_profile().and_then(|profile| profile.arn()).unwrap_or_default();
    let name = arn.rsplit('/').next().unwrap_or_default();
    // A profile of ours has the name of its role.
    if name == role {
        return Ok(());
    }
    let call = || cloud.iam().get_instance_profile().instance_profile_name(name).send();
    let answer = match name {
        "" => None,
        _ => Some(cloud.read(Class::Iam, "GetInstanceProfile", call).await?),
    };
    let profile = answer.and_then(|answer| answer.instance_profile);
    let roles = profile.iter().flat_map(|profile| profile.roles());
    if roles.into_iter().any(|found| found.role_name() == role) {
        return Ok(());
    }
    Err(refused(format!("instance {id} does not have the role {role}")))
}

/// The possible names of a node on an instance: its private name, that without its domain, its id.
pub(super) fn names(instance: &Instance, id: &str) -> Vec<String> {
    let private = instance.private_dns_name().unwrap_or_default();
    let short = private.split('.').next().unwrap_or_default();
    let mut names: Vec<String> =
        [private, short, id].into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.dedup();
    names
}

fn tag<'a>(instance: &'a Instance, key: &str) -> Option<&'a str> {
    instance.tags().iter().find(|tag| tag.key() == Some(key))?.value()
}

fn refused(reason: impl Into<String>) -> ProviderError {
    error(
        ErrorClass::Permission { action: "join".into() },
        format!("the machine is refused: {}", reason.into()),
    )
}

/// A refusal of STS is one of the credential, and not of the credentials of this control plane.
fn of_sts(error: ProviderError) -> ProviderError {
    match error.class {
        ErrorClass::Unauthenticated
        | ErrorClass::Permission { .. }
        | ErrorClass::Invalid
        | ErrorClass::Permanent => refused(format!("STS does not accept its signature: {}", error.message)),
        _ => error,
    }
}

/// Signs a request for a challenge, keeps its headers, and ends it before it is sent.
#[derive(Debug)]
struct Signing {
    challenge: Digest,
    signed: Arc<Mutex<BTreeMap<String, String>>>,
}

impl Intercept for Signing {
    fn name(&self) -> &'static str {
        "Signing"
    }

    fn modify_before_signing(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        context.request_mut().headers_mut().insert(CHALLENGE, self.challenge.as_str().to_owned());
        Ok(())
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let headers = context.request().headers();
        let brought =
            BROUGHT.iter().filter_map(|name| Some(((*name).to_owned(), headers.get(*name)?.to_owned())));
        *self.signed.lock().unwrap_or_else(PoisonError::into_inner) = brought.collect();
        Err("the request is not sent".into())
    }
}

/// Puts the signature of another one in the place of our own.
#[derive(Clone, Debug)]
struct Replaying {
    challenge: Digest,
    headers: Arc<BTreeMap<String, String>>,
}

impl Replaying {
    fn new(credential: Credential, challenge: &Digest) -> Result<Self, ProviderError> {
        let Credential { headers } = credential;
        if let Some(name) = headers.keys().find(|name| !BROUGHT.contains(&name.as_str())) {
            return Err(refused(format!("the credential has the header `{}`", name.escape_debug())));
        }
        let covered = headers.get("authorization").and_then(|text| covered(text)).unwrap_or_default();
        if let Some(name) = COVERED.iter().find(|name| !covered.contains(name)) {
            return Err(refused(format!("its signature does not cover the header `{name}`")));
        }
        Ok(Self { challenge: challenge.clone(), headers: Arc::new(headers) })
    }
}

/// The headers that a signature covers, as its `SignedHeaders` lists them.
fn covered(authorization: &str) -> Option<Vec<&str>> {
    let (_, rest) = authorization.split_once("SignedHeaders=")?;
    Some(rest.split(',').next()?.trim().split(';').collect())
}

impl Intercept for Replaying {
    fn name(&self) -> &'static str {
        "Replaying"
    }

    fn modify_before_transmit(
        &self,
        context: &mut BeforeTransmitInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let headers = context.request_mut().headers_mut();
        for name in BROUGHT {
            headers.remove(name);
        }
        for (name, value) in self.headers.iter() {
            headers.try_insert(name.clone(), value.clone())?;
        }
        headers.insert(CHALLENGE, self.challenge.as_str().to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests;
