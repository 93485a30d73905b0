//! Fields of the spec: those that reasons and refusals name, and those that a running cluster keeps.

use anyhow::{Result, ensure};

use super::shared::*;
use crate::{APPLY, PLAN};

/// An attribute that depends on many fields, such as the user data of a pool: the reason names the changed
/// field.
#[test]
fn a_reason_names_the_field_that_changed() -> Result<()> {
    let place = applied(&spec())?;
    let in_pool = ("size: { fixed: 2 }", "size: { fixed: 2 }, kubelet: { maxPods: 90 }");
    let in_cluster = ("cloudLabels: {", "kubelet: { maxPods: 90 }\n  cloudLabels: {");
    for ((from, to), field) in [(in_pool, "pools[workers].kubelet.maxPods"), (in_cluster, "kubelet.maxPods")]
    {
        let changed = spec().replace(from, to);
        place.write("spec.yaml", &changed)?;
        let line = changed.lines().position(|line| line.contains("maxPods")).unwrap_or_default() + 1;
        let text = place.expect(2, PLAN)?.out;
        let wanted = format!("({field}, spec.yaml:{line}:");
        ensure!(text.contains(&wanted), "no {wanted}\n{text}");
        ensure!(!text.contains("(pools[workers], "), "{text}");
    }
    // Pools have labels of the cluster: the reason names the line of the cluster.
    place.write("spec.yaml", &spec().replace("team: platform", "team: network"))?;
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains("sim_machine_pool") && !text.contains("(pools["), "{text}");
    // Of two fields, neither is the reason alone.
    let both = spec().replace(in_pool.0, "size: { fixed: 2 }, kubelet: { maxPods: 90, failSwapOn: false }");
    place.write("spec.yaml", &both)?;
    let text = place.expect(2, PLAN)?.out;
    ensure!(text.contains("(pools[workers], spec.yaml:"), "{text}");
    Ok(())
}

/// No provider can change these: all of them are refused at once, each at its place, with the value that was applied.
#[test]
fn a_running_cluster_keeps_its_ranges_and_its_domain() -> Result<()> {
    let with = |network: &str| {
        spec().replace(
            "network: { cni: { name: none }",
            &format!("network: {{ {network} cni: {{ name: none }}"),
        )
    };
    let place = applied(&with("podCidrs: [10.20.0.0/16],"))?;
    let before = identities(&place)?;
    place.write("spec.yaml", &with("podCidrs: [10.21.0.0/16], clusterDomain: other.local,"))?;
    for command in [PLAN, APPLY] {
        let refused = place.expect(1, command)?.err;
        for part in [
            "error[PLAN0043]: `network.podCidrs` of a running cluster cannot change: [10.20.0.0/16] was applied",
            "hint: write `podCidrs: [10.20.0.0/16]`",
            "`network.clusterDomain` of a running cluster cannot change: cluster.local was applied",
            "--> spec.yaml:10:",
            "the specs have 2 problems",
        ] {
            ensure!(refused.contains(part), "no {part}\n{refused}");
        }
    }
    // A default is another value too.
    place.write("spec.yaml", &spec())?;
    let refused = place.expect(1, PLAN)?.err;
    ensure!(refused.contains("PLAN0043") && refused.contains("network.podCidrs"), "{refused}");
    ensure!(identities(&place)? == before, "something changed");
    // A cluster that does not exist has nothing to keep.
    place.expect(0, &["delete", "small", "--yes", "--confirm", "small"])?;
    place.expect(2, PLAN).map(|_| ())
}
