//! Plans of a small cluster: as text, saved, narrowed, against a cloud that others changed, in every form.

use crate::{APPLY, PLAN, SMALL};

mod confirmations;
mod drift;
mod edited;
mod environments;
mod fields;
mod folders;
mod forms;
mod parts;
mod rolls;
mod safety;
mod saved;
mod schema;
mod scope;
mod shared;
mod unasked;
mod used;

use anyhow::{Result, ensure};
use shared::*;

#[test]
fn texts_of_a_life() -> Result<()> {
    let place = fresh(&spec())?;
    insta::assert_snapshot!("create", settled(&place.expect(2, PLAN)?.out));
    place.expect(0, APPLY)?;
    insta::assert_snapshot!("nothing", settled(&place.expect(0, PLAN)?.out));

    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    insta::assert_snapshot!("change", settled(&place.expect(2, PLAN)?.out));
    place.write("spec.yaml", &spec().replace("scheme: internal", "scheme: public"))?;
    insta::assert_snapshot!("replace", settled(&place.expect(2, PLAN)?.out));
    place.write("spec.yaml", &spec().replace("sim-linux-1", "sim-linux-2"))?;
    insta::assert_snapshot!("roll", settled(&place.expect(2, PLAN)?.out));
    place.write("spec.yaml", &[CLUSTER, CONTROL_PLANE].concat())?;
    insta::assert_snapshot!("remove", settled(&place.expect(2, PLAN)?.out));
    insta::assert_snapshot!("delete", settled(&place.expect(2, &["delete", "small", "--dry-run"])?.out));
    Ok(())
}

#[test]
fn the_order_of_zones_changes_nothing() -> Result<()> {
    let in_zones = |zones: &str| SMALL.replace("zones: [sim-1a]", &format!("zones: [{zones}]"));
    let place = fresh(&in_zones("sim-1a, sim-1b"))?;
    place.expect(0, APPLY)?;
    place.write("spec.yaml", &in_zones("sim-1b, sim-1a"))?;
    place.expect(0, PLAN)?;
    // A zone that is added at the front moves nothing either.
    place.write("spec.yaml", &in_zones("sim-1c, sim-1b, sim-1a"))?;
    let planned = place.expect(2, PLAN)?.out;
    for existing in ["sim_subnet.sim-1a", "sim_subnet.sim-1b", "sim_subnet.utility-sim-1a"] {
        ensure!(!planned.contains(existing), "{existing} is in {planned}");
    }
    ensure!(planned.contains("sim_subnet.sim-1c"), "{planned}");
    Ok(())
}
