//! Listeners.

use async_trait::async_trait;
use aws_sdk_elasticloadbalancingv2::types::{
    Action, ActionTypeEnum, Certificate, Listener as Sdk, ProtocolEnum,
};
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::{Listeners, OfCluster, TagsOf, check_owner, set_tags, to_tags, update_tags};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::error::{incomplete, invalid};
use crate::kind::attribute::{block, need, number32, text};
use crate::kind::by_name::{claim, if_any, made};
use crate::kind::{Found, Kind};
use crate::look::Look;
use crate::owner::{marks, visible};
use crate::rate::Class;

/// `aws_lb_listener`.
pub(in crate::kind) struct Listener;

#[async_trait]
impl Kind for Listener {
    fn name(&self) -> &'static str {
        "aws_lb_listener"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        if look.by_ownership_alone() {
            return Ok(Vec::new());
        }
        let mut all = Vec::new();
        for balancer in &look.listing::<OfCluster>().await?.0 {
            for listener in listeners(&look.cloud, balancer).await? {
                let arn = listener.listener_arn().unwrap_or_default();
                let tags = look.cloud.get::<TagsOf>(arn).await?;
                all.extend(tags.map(|tags| Found::ready(arn, shape(&listener, visible(&tags)), &tags)));
            }
        }
        Ok(all)
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        let arn = id.as_str();
        let (listener, tags) = tokio::join!(cloud.get::<Listeners>(arn), cloud.get::<TagsOf>(arn));
        let (Some(listener), Some(tags)) = (listener?, tags?) else { return Ok(None) };
        Ok(Some(Found::ready(arn, shape(&listener, visible(&tags)), &tags)))
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let balancer = need(desired, "load_balancer_arn")?;
        let request = act
            .cloud
            .balancing()
            .create_listener()
            .load_balancer_arn(balancer)
            .set_port(number32(desired, "port"))
            .set_protocol(text(desired, "protocol").map(ProtocolEnum::from))
            .set_certificates(certificates(desired))
            .set_ssl_policy(text(desired, "ssl_policy").map(str::to_owned))
            .set_alpn_policy(text(desired, "alpn_policy").map(|policy| vec![policy.to_owned()]))
            .set_default_actions(Some(actions(desired)?))
            .set_tags(Some(to_tags(&act.tags(desired))));
        match act.cloud.write(Class::Balancing, "CreateListener", || request.clone().send()).await {
            Ok(answer) => {
                let arn = answer.listeners().first().and_then(Sdk::listener_arn);
                Ok(Identity::new(arn.ok_or_else(|| incomplete("CreateListener", "ARN"))?))
            }
            Err(error) if error.class == ErrorClass::Conflict => {
                let arn = at_port(act.cloud, balancer, desired).await?.ok_or(error)?;
                claim(self, act, Identity::new(arn), desired).await
            }
            Err(error) => Err(error),
        }
    }

    async fn complete(&self, act: &Act<'_>, id: &Identity, _desired: &Value) -> Result<(), ProviderError> {
        check_owner(act, id.as_str()).await
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let settled = |attributes: &Value| {
            let names =
                ["port", "protocol", "certificate_arn", "ssl_policy", "alpn_policy", "default_action"];
            names.map(|name| attributes.get(name).cloned())
        };
        if settled(prior) != settled(desired) {
            let request = act
                .cloud
                .balancing()
                .modify_listener()
                .listener_arn(id.as_str())
                .set_port(number32(desired, "port"))
                .set_protocol(text(desired, "protocol").map(ProtocolEnum::from))
                .set_certificates(certificates(desired))
                .set_ssl_policy(text(desired, "ssl_policy").map(str::to_owned))
                .set_alpn_policy(text(desired, "alpn_policy").map(|policy| vec![policy.to_owned()]))
                .set_default_actions(Some(actions(desired)?));
            act.cloud.write(Class::Balancing, "ModifyListener", || request.clone().send()).await?;
        }
        update_tags(act.cloud, id.as_str(), prior, desired).await
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request = act.cloud.balancing().delete_listener().listener_arn(id.as_str());
        act.cloud.write(Class::Balancing, "DeleteListener", || request.clone().send()).await.map(drop)
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        set_tags(act.cloud, id.as_str(), &marks(&act.request.ownership, None)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        match at_port(act.cloud, need(desired, "load_balancer_arn")?, desired).await? {
            Some(arn) => made(self, act, Identity::new(arn)).await,
            None => Ok(None),
        }
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

/// All listeners of a load balancer.
async fn listeners(cloud: &Cloud, balancer: &str) -> Result<Vec<Sdk>, ProviderError> {
    let request = cloud.balancing().describe_listeners().load_balancer_arn(balancer);
    let send = |marker| request.clone().set_marker(marker).send();
    let pages = cloud.pages(Class::Balancing, "DescribeListeners", send, |page| page.next_marker()).await;
    let pages = if_any(pages)?.unwrap_or_default();
    Ok(pages.iter().flat_map(|page| page.listeners()).cloned().collect())
}

/// The ARN of the listener at the desired port.
async fn at_port(cloud: &Cloud, balancer: &str, desired: &Value) -> Result<Option<String>, ProviderError> {
    let port = number32(desired, "port");
    let found = listeners(cloud, balancer).await?;
    let listener = found.iter().find(|listener| listener.port() == port);
    Ok(listener.and_then(Sdk::listener_arn).map(str::to_owned))
}

fn certificates(desired: &Value) -> Option<Vec<Certificate>> {
    text(desired, "certificate_arn").map(|arn| vec![Certificate::builder().certificate_arn(arn).build()])
}

fn actions(desired: &Value) -> Result<Vec<Action>, ProviderError> {
    let action = block(desired, "default_action").ok_or_else(|| invalid("default_action is missing"))?;
    Ok(vec![
        Action::builder()
            .r#type(ActionTypeEnum::Forward)
            .target_group_arn(need(action, "target_group_arn")?)
            .build(),
    ])
}

fn shape(listener: &Sdk, tags: Value) -> Value {
    let action = listener.default_actions().first().map(|action| {
        // A single group may be in the form for several groups.
        let forward = action.forward_config().and_then(|forward| forward.target_groups().first());
        let group = action.target_group_arn().or_else(|| forward.and_then(|group| group.target_group_arn()));
        Value::map([
            ("type", Value::from(action.r#type().map(ActionTypeEnum::as_str))),
            ("target_group_arn", group.into()),
        ])
    });
    let arn = listener.listener_arn();
    Value::map([
        ("id", Value::from(arn)),
        ("arn", arn.into()),
        ("load_balancer_arn", listener.load_balancer_arn().into()),
        ("port", listener.port().map(i64::from).into()),
        ("protocol", listener.protocol().map(ProtocolEnum::as_str).into()),
        ("certificate_arn", listener.certificates().first().and_then(Certificate::certificate_arn).into()),
        ("ssl_policy", listener.ssl_policy().filter(|policy| !policy.is_empty()).into()),
        (
            "alpn_policy",
            listener.alpn_policy().first().map(String::as_str).filter(|policy| *policy != "None").into(),
        ),
        ("default_action", action.map(|action| Value::list([action])).into()),
        ("tags", tags),
    ])
}
