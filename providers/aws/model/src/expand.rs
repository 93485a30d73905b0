//! From a cluster to the typed resources that it consists of on AWS. Pure.

mod addons;
mod architectures;
mod balancer;
mod build;
mod compute;
mod dns;
mod iam;
mod inside;
mod key_pair;
mod key_service;
mod keys;
mod links;
mod listed_pools;
mod network;
mod node_settings;
mod not_carried_out;
mod objects;
mod security;
mod service_accounts;
mod termination;
mod topology;
mod unused;
mod user_data;
mod volumes;

use serde::Deserialize;
use slipway_cluster_input::{ClusterInput, Profile};
use slipway_provider_sdk::cluster::{self, Received};
use slipway_resource::provider::{ExpandRequest, Expansion};
use slipway_resource::validate::misfits;
use slipway_resource::{ErrorClass, ProviderError, Value};

use crate::catalog::Catalog;
use crate::settings;
use build::Builder;

/// The resources of a cluster. The same input gives the same answer.
///
/// # Errors
/// `invalid` when the cluster asks for what cannot be on AWS, or when the request does not have its form.
pub fn expand(request: &ExpandRequest) -> Result<Expansion, ProviderError> {
    let Received { cluster, notes: unknown } = cluster::read(&request.cluster)?;
    let mut catalog = Catalog::deserialize(&request.catalog.data)
        .map_err(|error| invalid(format!("the catalog does not have the form of this version: {error}")))?;
    if catalog.region.is_empty() {
        catalog.region = topology::region(&cluster)?;
    }
    let cluster_settings: settings::ClusterSettings =
        settings::read("provider.config", settings::cluster_schema, &cluster.provider.config)?;
    refuse_hardened(&cluster)?;
    let mut builder = Builder::new(&cluster, &catalog, &cluster_settings);
    for pool in &cluster.pools {
        let field = format!("pools[{}].providerConfig", pool.name);
        if !pool.provider_config.is_null() {
            let own = Value::from_json(&pool.provider_config);
            if let Some(misfit) = misfits(&settings::pool_schema(), &own).into_iter().next() {
                let hint = match &misfit.suggestion {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "the guide to clusters on AWS lists the settings of a pool".to_owned(),
                };
                let place = settings::place(&field, &misfit, &pool.provider_config);
                return Err(refuse(&place, &misfit.message, &hint));
            }
        }
        builder
            .pool_settings
            .insert(&pool.name, settings::read(&field, settings::pool_schema, &pool.provider_config)?);
    }
    network::network(&mut builder)?;
    security::security(&mut builder);
    balancer::balancers(&mut builder)?;
    dns::dns(&mut builder)?;
    iam::identities(&mut builder)?;
    service_accounts::service_accounts(&mut builder)?;
    objects::objects(&mut builder)?;
    key_pair::key_pair(&mut builder)?;
    volumes::etcd_volumes(&mut builder)?;
    compute::pools(&mut builder)?;
    keys::keys(&mut builder);
    termination::termination(&mut builder);
    inside::add_ons(&mut builder)?;
    unused::name(&mut builder);
    node_settings::name(&mut builder);
    not_carried_out::name(&mut builder);
    architectures::name(&mut builder);
    let mut expansion = builder.finish();
    expansion.notes.extend(unknown);
    Ok(expansion)
}

/// Refuses the profile that only machines which exist already get.
fn refuse_hardened(cluster: &ClusterInput) -> Result<(), ProviderError> {
    if cluster.profile == Profile::Hardened {
        return Err(refuse(
            "profile",
            "machines of AWS do not get the profile `hardened`",
            "write `profile: slipway`; `hardened` is for clusters with `provider: { name: hosts }`",
        ));
    }
    Ok(())
}

/// How policies are written.
const POLICY: &str = "write a list of statements in JSON, each with Effect, Action and Resource";

/// The error for an impossible setting: the field, the problem, and the hint.
fn refuse(field: &str, message: &str, hint: &str) -> ProviderError {
    invalid(format!("{field}: {message}")).with_field(field).with_hint(hint)
}

fn invalid(message: String) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, message)
}
