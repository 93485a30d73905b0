//! Everything that has the endpoint of a control plane follows when it moves.
//!
//! Cluster API copies the endpoint once. After a move, this module changes the Cluster, the kubeconfig of the cluster, and
//! the documents that nodes read from the cluster when they join. The kubelets of running nodes cannot be reached: a
//! condition names their hosts.

use serde_json::json;
use slipway_controller::k8s_openapi::api::core::v1::Secret;
use slipway_controller::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use slipway_controller::kube::Api;
use slipway_controller::kube::api::{Patch, PatchParams};

use crate::api::{ElementalCluster, ElementalHost, Endpoint};
use crate::conditions::{Draft, ENDPOINT_FOLLOWED};
use crate::context::Context;
use crate::core_api::Cluster;
use crate::labels::{CLUSTER_NAME, ELECTED_ENDPOINT, PREVIOUS_ENDPOINTS, annotation, label};
use crate::workload::{self, kubeconfig_name};
use crate::world::{World, name, namespace};
use crate::writing::{Failure, versioned};

/// Changes everything that can follow, and says what cannot.
pub(super) async fn follow(
    context: &Context,
    world: &World,
    infrastructure: &ElementalCluster,
    cluster: &Cluster,
    draft: &mut Draft,
) -> Result<(), Failure> {
    let metadata = &infrastructure.metadata;
    let (Some(before), Some(now)) =
        (annotation(metadata, PREVIOUS_ENDPOINTS), annotation(metadata, ELECTED_ENDPOINT))
    else {
        draft.remove(ENDPOINT_FOLLOWED);
        return Ok(());
    };
    let Some(endpoint) =
        infrastructure.spec.control_plane_endpoint.as_ref().filter(|one| one.authority() == now)
    else {
        return Ok(());
    };
    // An endpoint may come back to a host that had it before.
    let before: Vec<&str> = before.split(',').filter(|one| *one != now).collect();
    let is_known = |one: &str| one == now || before.contains(&one);
    if let Some(other) = cluster.endpoint().map(Endpoint::authority).filter(|one| !is_known(one)) {
        let message =
            format!("the Cluster has the endpoint {other}, which was not elected: it is not changed");
        draft.set(ENDPOINT_FOLLOWED, false, "ClusterEndpointDiffers", message);
        return Ok(());
    }
    change_cluster(context, cluster, endpoint).await?;
    change_kubeconfig(context, cluster, &before, now).await?;
    if cluster.has_control_plane()
        && let Err(error) = workload::move_endpoint(context, cluster, &before, now).await
    {
        let message = format!("the documents in the cluster may still name an old endpoint: {error}");
        draft.set(ENDPOINT_FOLLOWED, false, "WorkloadNotChanged", message);
        return Ok(());
    }
    let left = hosts_with_another(world, cluster, now);
    if left.is_empty() {
        draft.set(ENDPOINT_FOLLOWED, true, "Followed", "");
    } else {
        let message = format!(
            "the kubelets of these hosts use an old endpoint. Replace their machines; or change `server` in \
             /etc/kubernetes/kubelet.conf to https://{now}, restart the kubelet, and set spec.controlPlaneEndpoint of \
             the ElementalHost to {now}: {}",
            left.join(", ")
        );
        draft.set(ENDPOINT_FOLLOWED, false, "NodesUseOldEndpoint", message);
    }
    Ok(())
}

/// The endpoints that a cluster had before, with one more.
pub(super) fn with_previous(metadata: &ObjectMeta, endpoint: &str) -> String {
    let known = annotation(metadata, PREVIOUS_ENDPOINTS).unwrap_or_default();
    let mut all: Vec<&str> = known.split(',').filter(|one| !one.is_empty() && *one != endpoint).collect();
    all.push(endpoint);
    all.join(",")
}

/// The hosts of a cluster whose bootstrap data was made for another endpoint.
fn hosts_with_another<'a>(world: &'a World, cluster: &'a Cluster, endpoint: &str) -> Vec<&'a str> {
    let has_another = |host: &ElementalHost| {
        let is_of_cluster = label(&host.metadata, CLUSTER_NAME) == cluster.metadata.name.as_deref();
        let has = host.spec.control_plane_endpoint.as_deref();
        is_of_cluster && !host.is_leaving() && has.is_some_and(|one| one != endpoint)
    };
    let hosts = world.hosts_in(namespace(&cluster.metadata)).filter(|host| has_another(host));
    hosts.map(|host| name(&host.metadata)).collect()
}

async fn change_cluster(context: &Context, cluster: &Cluster, endpoint: &Endpoint) -> Result<(), Failure> {
    // A blank endpoint is set by Cluster API.
    if cluster.endpoint().is_none_or(|one| one == endpoint) {
        return Ok(());
    }
    let clusters: Api<Cluster> =
        Api::namespaced_with(context.client.clone(), namespace(&cluster.metadata), &context.core);
    let patch = versioned(
        cluster.metadata.resource_version.as_deref(),
        json!({"spec": {"controlPlaneEndpoint": endpoint}}),
    );
    clusters.patch(name(&cluster.metadata), &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}

async fn change_kubeconfig(
    context: &Context,
    cluster: &Cluster,
    before: &[&str],
    now: &str,
) -> Result<(), Failure> {
    let secrets: Api<Secret> = Api::namespaced(context.client.clone(), namespace(&cluster.metadata));
    let secret_name = kubeconfig_name(cluster);
    let Some(secret) = secrets.get_opt(&secret_name).await? else { return Ok(()) };
    let text = secret.data.as_ref().and_then(|data| data.get("value"));
    let Some(text) = text.and_then(|bytes| std::str::from_utf8(&bytes.0).ok()) else { return Ok(()) };
    let changed = workload::with_endpoint(text, before, now);
    if changed == text {
        return Ok(());
    }
    let patch =
        versioned(secret.metadata.resource_version.as_deref(), json!({"stringData": {"value": changed}}));
    secrets.patch(&secret_name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}
