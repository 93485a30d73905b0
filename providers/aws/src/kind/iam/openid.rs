//! OpenID Connect providers.

use async_trait::async_trait;
use slipway_resource::{ErrorClass, Identity, ProviderError, Value};

use super::{of_tags, to_tags};
use crate::act::Act;
use crate::cloud::Cloud;
use crate::kind::attribute::{differs, need, texts};
use crate::kind::by_name::{claim, if_any, made};
use crate::kind::{Found, Kind, or_gone};
use crate::look::Look;
use crate::owner::{Tags, difference, visible};
use crate::rate::Class;

/// `aws_iam_openid_connect_provider`.
pub(in crate::kind) struct OpenIdConnectProvider;

#[async_trait]
impl Kind for OpenIdConnectProvider {
    fn name(&self) -> &'static str {
        "aws_iam_openid_connect_provider"
    }

    async fn list(&self, look: &Look) -> Result<Vec<Found>, ProviderError> {
        if look.by_ownership_alone() {
            return Ok(Vec::new());
        }
        let request = look.cloud.iam().list_open_id_connect_providers();
        let page =
            look.cloud.read(Class::Iam, "ListOpenIDConnectProviders", || request.clone().send()).await?;
        let arns = page.open_id_connect_provider_list().iter().filter_map(|entry| entry.arn());
        let reads = arns.map(|arn| read(&look.cloud, arn));
        Ok(futures_util::future::try_join_all(reads).await?.into_iter().flatten().collect())
    }

    async fn read(&self, cloud: &Cloud, id: &Identity) -> Result<Option<Found>, ProviderError> {
        read(cloud, id.as_str()).await
    }

    async fn create(&self, act: &Act<'_>, desired: &Value) -> Result<Identity, ProviderError> {
        let thumbprints = texts(desired, "thumbprint_list");
        let request = act
            .cloud
            .iam()
            .create_open_id_connect_provider()
            .url(need(desired, "url")?)
            .set_client_id_list(Some(texts(desired, "client_id_list")))
            .set_thumbprint_list((!thumbprints.is_empty()).then_some(thumbprints))
            .set_tags(Some(to_tags(&act.tags(desired))?));
        let identity = identity(act.cloud, desired)?;
        match act.cloud.write(Class::Iam, "CreateOpenIDConnectProvider", || request.clone().send()).await {
            Ok(_) => Ok(identity),
            Err(error) if error.class == ErrorClass::Conflict => claim(self, act, identity, desired).await,
            Err(error) => Err(error),
        }
    }

    async fn update(
        &self,
        act: &Act<'_>,
        id: &Identity,
        prior: &Value,
        desired: &Value,
    ) -> Result<(), ProviderError> {
        let (cloud, arn) = (act.cloud, id.as_str());
        let thumbprints = texts(desired, "thumbprint_list");
        if differs(prior, desired, "thumbprint_list") && !thumbprints.is_empty() {
            let request = cloud
                .iam()
                .update_open_id_connect_provider_thumbprint()
                .open_id_connect_provider_arn(arn)
                .set_thumbprint_list(Some(thumbprints));
            let action = "UpdateOpenIDConnectProviderThumbprint";
            cloud.write(Class::Iam, action, || request.clone().send()).await?;
        }
        set_clients(cloud, arn, &texts(prior, "client_id_list"), &texts(desired, "client_id_list")).await?;
        let (set, gone) = difference(prior, desired);
        set_tags(cloud, arn, &set).await?;
        if !gone.is_empty() {
            let request = cloud
                .iam()
                .untag_open_id_connect_provider()
                .open_id_connect_provider_arn(arn)
                .set_tag_keys(Some(gone));
            cloud.write(Class::Iam, "UntagOpenIDConnectProvider", || request.clone().send()).await?;
        }
        Ok(())
    }

    async fn delete(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        let request =
            act.cloud.iam().delete_open_id_connect_provider().open_id_connect_provider_arn(id.as_str());
        act.cloud.write(Class::Iam, "DeleteOpenIDConnectProvider", || request.clone().send()).await.map(drop)
    }

    async fn tag(&self, act: &Act<'_>, id: &Identity) -> Result<(), ProviderError> {
        set_tags(act.cloud, id.as_str(), &crate::owner::marks(&act.request.ownership, None)).await
    }

    async fn made(&self, act: &Act<'_>, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        made(self, act, identity(act.cloud, desired)?).await
    }

    async fn identity(&self, cloud: &Cloud, desired: &Value) -> Result<Option<Identity>, ProviderError> {
        Ok(identity(cloud, desired).ok())
    }

    fn is_idempotent(&self) -> bool {
        true
    }
}

async fn read(cloud: &Cloud, arn: &str) -> Result<Option<Found>, ProviderError> {
    let request = cloud.iam().get_open_id_connect_provider().open_id_connect_provider_arn(arn);
    let Some(provider) =
        if_any(cloud.read(Class::Iam, "GetOpenIDConnectProvider", || request.clone().send()).await)?
    else {
        return Ok(None);
    };
    let tags = of_tags(provider.tags());
    let attributes = Value::map([
        ("id", Value::from(arn)),
        ("arn", arn.into()),
        ("url", provider.url().into()),
        ("client_id_list", provider.client_id_list().to_vec().into()),
        ("thumbprint_list", provider.thumbprint_list().to_vec().into()),
        ("tags", visible(&tags)),
    ]);
    Ok(Some(Found::ready(arn, attributes, &tags)))
}

/// Its ARN, which follows from its issuer.
fn identity(cloud: &Cloud, desired: &Value) -> Result<Identity, ProviderError> {
    let url = need(desired, "url")?;
    let issuer = url.strip_prefix("https://").unwrap_or(url).trim_end_matches('/');
    Ok(Identity::new(format!("arn:{}:iam::{}:oidc-provider/{issuer}", cloud.partition(), cloud.account())))
}

async fn set_clients(
    cloud: &Cloud,
    arn: &str,
    before: &[String],
    after: &[String],
) -> Result<(), ProviderError> {
    for client in after.iter().filter(|client| !before.contains(client)) {
        let request = cloud
            .iam()
            .add_client_id_to_open_id_connect_provider()
            .open_id_connect_provider_arn(arn)
            .client_id(client);
        cloud.write(Class::Iam, "AddClientIDToOpenIDConnectProvider", || request.clone().send()).await?;
    }
    for client in before.iter().filter(|client| !after.contains(client)) {
        let request = cloud
            .iam()
            .remove_client_id_from_open_id_connect_provider()
            .open_id_connect_provider_arn(arn)
            .client_id(client);
        let removed = cloud
            .write(Class::Iam, "RemoveClientIDFromOpenIDConnectProvider", || request.clone().send())
            .await;
        or_gone(removed.map(drop))?;
    }
    Ok(())
}

async fn set_tags(cloud: &Cloud, arn: &str, tags: &Tags) -> Result<(), ProviderError> {
    if tags.is_empty() {
        return Ok(());
    }
    let request = cloud
        .iam()
        .tag_open_id_connect_provider()
        .open_id_connect_provider_arn(arn)
        .set_tags(Some(to_tags(tags)?));
    cloud.write(Class::Iam, "TagOpenIDConnectProvider", || request.clone().send()).await.map(drop)
}
