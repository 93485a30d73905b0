//! The host of a machine.
//!
//! A machine first names the host in `spec.hostRef`, then it claims the host by `spec.machineRef` of the host. Each write
//! applies to the version of the object that was read. So a machine names one host at a time, a host has one claimer, and
//! two controllers that work at once, or one that ends in between, come to the same result.

use std::sync::Arc;

use serde_json::{Value as Json, json};
use slipway_controller::EventType;

use super::Work;
use super::choice::{self, Taken};
use super::status::has_bootstrapped;
use crate::api::{ElementalHost, ElementalMachine, GROUP, VERSION};
use crate::labels::{BOOTSTRAP_ENDPOINT, CLUSTER_NAME, ELEMENTAL_MACHINE_NAME, MACHINE_NAME, annotation};
use crate::world::{name, namespace, uid};
use crate::writing::Failure;

/// The longest value of a label.
const LABEL: usize = 63;

/// Whether a machine has its host.
pub(super) enum Association {
    /// The machine has claimed this host.
    Host(Arc<ElementalHost>),
    /// Not yet; with the reason and a message.
    Waits(&'static str, String),
    /// The machine can never have one; with the reason and a message.
    Fails(&'static str, String),
}

/// Finds the host of a machine, or claims one.
pub(super) async fn associate(
    work: &Work<'_>,
    taken: &mut Taken,
    machine: ElementalMachine,
) -> Result<(ElementalMachine, Association), Failure> {
    let place = namespace(&machine.metadata);
    let mine = uid(&machine.metadata).to_owned();
    let named = machine.spec.host_ref.clone();
    let named_host = named.as_ref().and_then(|reference| {
        let same = |host: &&Arc<ElementalHost>| {
            reference.uid.as_deref().is_none_or(|known| known == uid(&host.metadata))
        };
        work.world.host(place, &reference.name).filter(same).filter(|host| !host.is_leaving()).cloned()
    });
    if let Some(host) = named_host.clone().filter(|host| host.is_claimed_by(&mine)) {
        return Ok((machine, Association::Host(host)));
    }
    if !has_bootstrapped(&machine)
        && let Some(outdated) = outdated(work, &machine)
    {
        return Ok((machine, outdated));
    }
    let (machine, host) = match (named, named_host.filter(|host| host.is_free())) {
        (Some(_), Some(host)) => (machine, host),
        (Some(reference), None) => return lose(work, machine, &reference.name).await,
        (None, _) => match choice::choose(work, taken, &machine) {
            Ok(host) => {
                taken.insert(&host);
                (name_host(work, &machine, &host).await?, host)
            }
            Err((reason, message)) => return Ok((machine, Association::Waits(reason, message))),
        },
    };
    if host.is_claimed_by(&mine) {
        return Ok((machine, Association::Host(host)));
    }
    let host = claim(work, &machine, &host).await?;
    Ok((machine, Association::Host(Arc::new(host))))
}

/// Names the host in the specification of a machine.
async fn name_host(
    work: &Work<'_>,
    machine: &ElementalMachine,
    host: &ElementalHost,
) -> Result<ElementalMachine, Failure> {
    let reference = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "ElementalHost",
        "name": name(&host.metadata), "namespace": namespace(&host.metadata), "uid": uid(&host.metadata),
    });
    work.context.patch(machine, json!({"spec": {"hostRef": reference}})).await
}

/// The named host is lost. If the bootstrap data has run there, the machine fails: its Node cannot come back on another
/// host. Otherwise the machine chooses again.
async fn lose(
    work: &Work<'_>,
    machine: ElementalMachine,
    host: &str,
) -> Result<(ElementalMachine, Association), Failure> {
    if has_bootstrapped(&machine) {
        let message = format!(
            "host {host} is lost: delete Machine {}, so that its owner makes another one",
            name(&work.owner.metadata)
        );
        return Ok((machine, Association::Fails("AssociatedHostNotFound", message)));
    }
    let machine = work.context.patch(&machine, json!({"spec": {"hostRef": null}})).await?;
    let message = format!("host {host} is lost, or another machine has claimed it");
    work.context.event(&machine, EventType::Warning, "AssociatedHostNotFound", message.clone()).await;
    Ok((machine, Association::Waits("AssociatedHostNotFound", message)))
}

/// Bootstrap data that names an endpoint that has moved since cannot be used.
fn outdated(work: &Work<'_>, machine: &ElementalMachine) -> Option<Association> {
    let made_for = annotation(&machine.metadata, BOOTSTRAP_ENDPOINT)?;
    let endpoint = work.endpoint().filter(|endpoint| endpoint != made_for)?;
    let message = format!(
        "the bootstrap data was made for the endpoint {made_for}, which is {endpoint} now: delete Machine {}",
        name(&work.owner.metadata)
    );
    Some(Association::Fails("BootstrapDataOutdated", message))
}

/// Claims a host: it gets the secret with the bootstrap data.
async fn claim(
    work: &Work<'_>,
    machine: &ElementalMachine,
    host: &ElementalHost,
) -> Result<ElementalHost, Failure> {
    let (place, cluster) = (namespace(&machine.metadata), name(&work.cluster.metadata));
    let labels: Json = [
        (CLUSTER_NAME, cluster),
        (MACHINE_NAME, name(&work.owner.metadata)),
        (ELEMENTAL_MACHINE_NAME, name(&machine.metadata)),
    ]
    .into_iter()
    // A longer name cannot be a label; the references have it.
    .filter(|(_, value)| value.len() <= LABEL)
    .map(|(key, value)| (key.to_owned(), json!(value)))
    .collect::<serde_json::Map<_, _>>()
    .into();
    let patch = json!({"metadata": {"labels": labels}, "spec": {
        "machineRef": {
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "ElementalMachine",
            "name": name(&machine.metadata), "namespace": place, "uid": uid(&machine.metadata),
        },
        "bootstrapSecret": {"apiVersion": "v1", "kind": "Secret", "namespace": place,
            "name": work.owner.spec.bootstrap.data_secret_name},
        "controlPlaneEndpoint": work.endpoint(),
        "virtualAddress": work.virtual_address(machine),
    }});
    let claimed = work.context.patch(host, patch).await?;
    work.context.metrics.claims.inc();
    let note = format!("host {} was claimed", name(&host.metadata));
    tracing::info!(machine = name(&machine.metadata), host = name(&host.metadata), "a host was claimed");
    work.context.event(machine, EventType::Normal, "HostClaimed", note).await;
    Ok(claimed)
}
