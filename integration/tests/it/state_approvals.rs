//! Changes of a state beside plans need approvals like plans, where the configuration demands them; persons are told apart.

use anyhow::{Result, ensure};
use slipway_integration::place::{Ended, Place};

use crate::state::{applied, run_as, tree};
use crate::{APPLY, PROGRAM, SMALL};

/// A cluster, and a configuration that demands an approval for every change.
fn guarded() -> Result<Place> {
    let place = applied()?;
    place.expect(0, &["state", "export", "line", "--out", "old.json"])?;
    place.write("spec.yaml", &crate::state::larger())?;
    place.expect(0, APPLY)?;
    place.write("config/slipway/config.toml", "require-approval = 1\n")?;
    Ok(place)
}

fn refused(ended: &Ended, part: &str) -> Result<()> {
    let words = ended.err.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(ended.code == Some(1) && words.contains("RUN0042"), "{ended:?}");
    ensure!(words.contains(part) && words.contains("`--approve`"), "no `{part}`: {ended:?}");
    Ok(())
}

#[test]
fn no_change_of_the_state_bypasses_approvals() -> Result<()> {
    let place = guarded()?;
    let before = tree(&place.state())?;
    let changes: [&[&str]; 4] = [
        &["state", "rm", "line", "sim_network.main", "--yes"],
        &["state", "mv", "line", "sim_subnet.sim-1a", "sim_subnet.other", "--yes"],
        &["state", "import", "old.json", "--force", "2", "--yes"],
        &["state", "rebuild", "line", "-f", "spec.yaml", "--force", "--yes"],
    ];
    for change in changes {
        refused(&run_as(&place, "ada", change)?, "needs an approval and has none")?;
        ensure!(tree(&place.state())? == before, "{change:?} changed something");
    }
    // A deletion is a plan, which has the same rule.
    let delete = run_as(&place, "ada", &["delete", "line", "--yes", "--confirm", "line"])?;
    ensure!(delete.code == Some(1) && delete.err.contains("CLI0035"), "{delete:?}");
    ensure!(tree(&place.state())? == before, "a deletion changed something");
    Ok(())
}

#[test]
fn an_approval_is_of_one_change_of_one_generation() -> Result<()> {
    let place = guarded()?;
    let rm = |who: &str, address: &str, more: &[&str]| {
        run_as(&place, who, &[&["state", "rm", "line", address, "--yes"], more].concat())
    };
    let approved = rm("eve", "sim_network.main", &["--approve"])?;
    ensure!(approved.code == Some(0) && approved.err.contains("Nothing was changed"), "{approved:?}");
    // It is not of another change.
    refused(&rm("ada", "sim_subnet.sim-1a", &[])?, "has none")?;
    let done = rm("ada", "sim_network.main", &[])?;
    ensure!(done.code == Some(0) && done.err.contains("Approved by eve@"), "{done:?}");
    // And not of the same change of another generation.
    place.write("config/slipway/config.toml", "")?;
    place.expect(0, APPLY)?;
    place.write("config/slipway/config.toml", "require-approval = 1\n")?;
    refused(&rm("ada", "sim_network.main", &[])?, "has none")
}

#[test]
fn an_approval_can_be_taken_back_by_its_person() -> Result<()> {
    let place = guarded()?;
    place.write("spec.yaml", SMALL)?;
    place.expect(2, &["plan", "-f", "spec.yaml", "--out", "next.plan"])?;
    let approve = |who: &str, more: &[&str]| run_as(&place, who, &[&["approve", "next.plan"], more].concat());
    let apply = |code: i32| run_as(&place, "ada", &["apply", "next.plan", "--yes"])?.wanted(code, "apply");
    approve("eve", &["--yes"])?.wanted(0, "approve")?;
    // Nobody takes the approval of another person back.
    let other = approve("bob", &["--revoke"])?.wanted(0, "revoke")?;
    ensure!(other.out.contains("bob@") && other.out.contains("has not approved"), "{other:?}");
    ensure!(other.err.contains("Approvals: eve@"), "{other:?}");
    let revoked = approve("eve", &["--revoke"])?.wanted(0, "revoke")?;
    ensure!(revoked.out.starts_with("Took the approval of sha256:"), "{revoked:?}");
    ensure!(revoked.err.contains("Approvals: none."), "{revoked:?}");
    apply(1)?;
    approve("eve", &["--yes"])?.wanted(0, "approve")?;
    apply(0).map(drop)
}

#[test]
fn names_that_look_alike_are_one_person_or_nobody() -> Result<()> {
    let place = guarded()?;
    place.write("config/slipway/config.toml", "require-approval = 2\n")?;
    let rm = ["state", "rm", "line", "sim_network.main", "--yes"];
    let approve = [&rm[..], &["--approve"]].concat();
    // Full width, an accent, a direction mark and a zero width space; then hosts, and an address that may be hers.
    for name in [
        "eve",
        "\u{ff25}ve",
        "e\u{301}ve",
        "\u{202e}eve",
        "ev\u{200b}e",
        "EVE",
        "eve@laptop",
        "eve@ci",
        "eve@example.com",
    ] {
        let approved = run_as(&place, name, &approve)?;
        ensure!(approved.code == Some(0), "{name}: {approved:?}");
    }
    refused(&run_as(&place, "ada", &rm)?, "needs 2 approvals and has 1")?;
    // Cyrillic letters.
    let refused = run_as(&place, "\u{435}ve", &approve)?;
    ensure!(refused.code == Some(1) && refused.err.contains("RUN0041"), "{refused:?}");
    ensure!(refused.err.contains("U+0435") && refused.err.contains("SLIPWAY_ACTOR"), "{refused:?}");
    // Forms of an address that reach one mailbox.
    for name in ["\"eve\"@example.com", "eve(work)@example.com", "Eve <eve@example.com>", "+eve@example.com"]
    {
        let refused = run_as(&place, name, &approve)?;
        ensure!(refused.code == Some(1) && refused.err.contains("RUN0041"), "{name}: {refused:?}");
    }
    let fresh = Place::new(PROGRAM)?;
    fresh.write("spec.yaml", SMALL)?;
    let refused = run_as(&fresh, "\u{430}da", APPLY)?;
    ensure!(refused.code == Some(1) && refused.err.contains("RUN0041"), "{refused:?}");
    ensure!(!fresh.state().exists(), "something was written");
    run_as(&place, "bob", &approve)?;
    let done = run_as(&place, "ada", &rm)?;
    ensure!(done.code == Some(0), "{done:?}");
    Ok(())
}
