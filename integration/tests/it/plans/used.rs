//! Objects that the spec uses and that the cluster does not own, and second objects of an address.

use anyhow::{Result, ensure};
use slipway_integration::place::Place;
use slipway_provider_sim::inspect::Tamper;

use super::confirmations::{VOLUME, with_volume};
use super::shared::*;
use crate::{APPLY, PLAN};

const NETWORK: &str = "sim_network.main";

/// The spec of the cluster in a network that exists already.
fn in_network(id: &str) -> String {
    spec().replace("network: {", &format!("network: {{ id: {id},"))
}

/// A place with a cluster in a network that it does not own, and the identity of that network.
fn in_network_of_others() -> Result<(Place, String)> {
    let place = fresh(&spec().replace("name: small", "name: other"))?;
    place.expect(0, APPLY)?;
    let model = object(&place, NETWORK)?;
    let id = Tamper::open(place.cloud()).add_foreign("sim_network", &model.attributes, None)?;
    place.write("spec.yaml", &in_network(&id))?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    Ok((place, id))
}

/// What a plan does with the network.
fn of_network(plan: &serde_json::Value) -> Vec<String> {
    actions(plan).into_iter().filter(|(address, _)| address == NETWORK).map(|(_, word)| word).collect()
}

#[test]
fn another_existing_object_is_used_and_neither_is_deleted() -> Result<()> {
    let (place, used) = in_network_of_others()?;
    let other = object(&place, NETWORK)?;
    place.write("spec.yaml", &in_network(&other.id))?;
    let plan = planned(&place, 2, &[])?;
    ensure!(of_network(&plan) == ["no-op"], "{:?}", of_network(&plan));
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains(&format!("{used} is not used any more")), "{text}");
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    let left = identities(&place)?;
    ensure!(left.contains(&used) && left.contains(&other.id), "{left:?}");
    ensure!(object(&place, NETWORK)? == other, "the network of the other cluster was changed");
    place.expect(0, &["delete", "small", "--yes", "--confirm", "small"])?;
    let left = identities(&place)?;
    ensure!(left.contains(&used) && left.contains(&other.id), "{left:?}");
    Ok(())
}

#[test]
fn an_existing_object_that_is_not_named_any_more_is_not_taken_over() -> Result<()> {
    let (place, used) = in_network_of_others()?;
    place.write("spec.yaml", &spec())?;
    let plan = planned(&place, 2, &[])?;
    ensure!(of_network(&plan) == ["create"], "{:?}", of_network(&plan));
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    place.expect(0, &["delete", "small", "--yes", "--confirm", "small"])?;
    let inventory = place.inventory()?;
    let kept = inventory.objects.iter().find(|object| object.id == used);
    ensure!(kept.is_some_and(|kept| kept.owner.is_none()), "{kept:?}");
    Ok(())
}

/// An own network gives way to one that exists, and is deleted after everything that was in it.
#[test]
fn an_own_object_is_deleted_when_an_existing_one_is_named() -> Result<()> {
    let place = applied(&spec())?;
    let own = object(&place, NETWORK)?;
    let id = Tamper::open(place.cloud()).add_foreign("sim_network", &own.attributes, None)?;
    place.write("spec.yaml", &in_network(&id))?;
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains(&format!("also deletes {}", own.id)), "{text}");
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    let left = identities(&place)?;
    ensure!(left.contains(&id) && !left.contains(&own.id), "{left:?}");
    Ok(())
}

#[test]
fn a_second_disk_of_an_address_is_deleted_by_its_name_only() -> Result<()> {
    let place = applied(&with_volume("sim-1a"))?;
    let disk = object(&place, VOLUME)?.id;
    let second = Tamper::open(place.cloud()).duplicate(&disk)?;
    let plan = planned(&place, 2, &[])?;
    let entries = plan["resource_changes"].as_array().into_iter().flatten();
    let deposed: Vec<_> = entries.filter(|entry| entry["deposed"] == second.as_str()).collect();
    ensure!(deposed.len() == 1 && deposed[0]["change"]["actions"][0] == "delete", "{deposed:?}");
    ensure!(plan["confirmations"][0]["name"] == VOLUME, "{}", plan["confirmations"]);
    let refused = place.expect(1, APPLY)?.err;
    ensure!(refused.contains(VOLUME) && refused.contains(&second), "{refused}");
    ensure!(identities(&place)?.contains(&second), "it was deleted");
    place.expect(0, &[APPLY, &["--confirm", VOLUME]].concat())?;
    let left = identities(&place)?;
    ensure!(left.contains(&disk) && !left.contains(&second), "{left:?}");
    Ok(())
}

/// What `state rm` forgot is not the object that the spec names.
#[test]
fn a_named_object_is_used_beside_a_forgotten_one() -> Result<()> {
    let place = applied(&spec())?;
    let own = object(&place, NETWORK)?;
    let id = Tamper::open(place.cloud()).add_foreign("sim_network", &own.attributes, None)?;
    place.expect(0, &["state", "rm", "small", NETWORK, "--yes"])?;
    place.write("spec.yaml", &in_network(&id))?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    let inventory = place.inventory()?;
    let used = inventory.objects.iter().find(|object| object.id == id);
    ensure!(used.is_some_and(|used| used.owner.is_none()), "{used:?}");
    Ok(())
}
