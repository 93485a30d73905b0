//! Objects that the spec uses and that the cluster does not own, and second objects of an address.

use anyhow::{Result, ensure};
use slipway_integration::place::Place;
use slipway_provider_sim::inspect::Tamper;

use super::confirmations::{VOLUME, with_volume};
use super::shared::*;
use crate::{APPLY, PLAN};

const ADDRESS: &str = "sim_address.sim-1c";

/// The highly available example, with this elastic IP of the third zone.
fn with_address(elastic_ip: Option<&str>) -> Result<String> {
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../specs/ha-private");
    let read = |file: &str| std::fs::read_to_string(example.join(file));
    let spec = format!("{}---\n{}", read("cluster.yaml")?, read("pools.yaml")?);
    let gateway = elastic_ip.map_or("{}".to_owned(), |id| format!("{{ elasticIp: {id} }}"));
    let spec = spec.replace("deletionProtection: true", "deletionProtection: false");
    Ok(spec.replace("{ elasticIp: eip-0a1b2c3d }", &gateway))
}

/// Makes an address that no cluster owns.
fn foreign(place: &Place) -> Result<String> {
    let model = object(place, "sim_address.sim-1a")?;
    Ok(Tamper::open(place.cloud()).add_foreign("sim_address", &model.attributes, None)?)
}

/// A place with the cluster and an address of others that it uses.
fn with_address_of_others() -> Result<(Place, String)> {
    let place = applied(&with_address(Some("eip-0a1b2c3d"))?)?;
    let used = foreign(&place)?;
    name(&place, Some(&used))?;
    Ok((place, used))
}

/// Applies the cluster with another address, and finds nothing to do afterwards.
fn name(place: &Place, elastic_ip: Option<&str>) -> Result<()> {
    place.write("spec.yaml", &with_address(elastic_ip)?)?;
    place.expect(0, APPLY)?;
    place.expect(0, PLAN)?;
    Ok(())
}

/// What a plan does with the address.
fn of_address(plan: &serde_json::Value) -> Vec<String> {
    actions(plan).into_iter().filter(|(address, _)| address == ADDRESS).map(|(_, word)| word).collect()
}

/// Whether an address exists and nobody owns it.
fn is_left_alone(place: &Place, id: &str) -> Result<bool> {
    let inventory = place.inventory()?;
    let found = inventory.objects.iter().find(|object| object.id == id);
    Ok(found.is_some_and(|found| found.owner.is_none()))
}

#[test]
fn another_existing_object_is_used_and_neither_is_deleted() -> Result<()> {
    let (place, used) = with_address_of_others()?;
    let other = foreign(&place)?;
    place.write("spec.yaml", &with_address(Some(&other))?)?;
    let plan = planned(&place, 2, &[])?;
    ensure!(of_address(&plan) == ["no-op"], "{:?}", of_address(&plan));
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains(&format!("{used} is not used any more")), "{text}");
    for named in [&other, &used, &other] {
        name(&place, Some(named))?;
        ensure!(is_left_alone(&place, &used)? && is_left_alone(&place, &other)?, "{named}");
    }
    place.expect(0, &["delete", "ha-private", "--yes", "--confirm", "ha-private"])?;
    ensure!(is_left_alone(&place, &used)? && is_left_alone(&place, &other)?, "deleted with the cluster");
    Ok(())
}

#[test]
fn an_existing_object_that_is_not_named_any_more_is_not_taken_over() -> Result<()> {
    let (place, used) = with_address_of_others()?;
    place.write("spec.yaml", &with_address(None)?)?;
    let plan = planned(&place, 2, &[])?;
    ensure!(of_address(&plan) == ["create"], "{:?}", of_address(&plan));
    name(&place, None)?;
    let own = object(&place, ADDRESS)?.id;
    ensure!(own != used && is_left_alone(&place, &used)?, "{own}");
    // An own object is deleted when an existing one is named.
    place.write("spec.yaml", &with_address(Some(&used))?)?;
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains(&format!("also deletes {own}")), "{text}");
    name(&place, Some(&used))?;
    ensure!(!identities(&place)?.contains(&own) && is_left_alone(&place, &used)?, "{own}");
    place.expect(0, &["delete", "ha-private", "--yes", "--confirm", "ha-private"])?;
    ensure!(is_left_alone(&place, &used)?, "deleted with the cluster");
    Ok(())
}

#[test]
fn an_own_object_is_not_named_as_an_existing_one() -> Result<()> {
    let place = applied(&with_address(None)?)?;
    let before = identities(&place)?;
    let network = object(&place, "sim_network.main")?.id;
    let network_named =
        with_address(None)?.replacen("    cidr: ", &format!("    id: {network}\n    cidr: "), 1);
    let neighbour = with_address(Some(&object(&place, "sim_address.sim-1a")?.id))?;
    for spec in [network_named, neighbour] {
        place.write("spec.yaml", &spec)?;
        let refused = place.expect(1, APPLY)?.err;
        ensure!(refused.contains("PLAN0046") && refused.contains("remove the id"), "{refused}");
        ensure!(identities(&place)? == before, "something changed");
    }
    Ok(())
}

/// What `state rm` forgot is not the object that the spec names.
#[test]
fn a_named_object_is_used_beside_a_forgotten_one() -> Result<()> {
    let place = applied(&with_address(None)?)?;
    let used = foreign(&place)?;
    place.expect(0, &["state", "rm", "ha-private", ADDRESS, "--yes"])?;
    let forgotten = object(&place, ADDRESS)?.id;
    name(&place, Some(&used))?;
    ensure!(is_left_alone(&place, &used)?, "it was taken over");
    ensure!(identities(&place)?.contains(&forgotten), "`state rm` promises to leave it alone");
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
