//! A base with environments: each is a cluster of its own, and a plan names the line that made a value.

use std::os::unix::fs::symlink;

use anyhow::{Result, ensure};
use slipway_integration::executables::root;
use slipway_integration::place::{Place, copy};

use crate::PROGRAM;

/// A place with the example, in the folder `fleet`.
fn place() -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    copy(&root().join("specs/environments"), &place.path().join("fleet"))?;
    Ok(place)
}

#[test]
fn a_base_with_three_environments_is_three_clusters() -> Result<()> {
    let place = place()?;
    let all = place.expect(2, &["plan", "-f", "fleet"])?.out;
    for (environment, machines) in [("dev", "sim.medium"), ("stage", "sim.medium"), ("prod", "sim.large")] {
        let folder = format!("fleet/{environment}");
        let name = format!("shop-{environment}");
        ensure!(all.contains(&format!("Cluster {name}")), "{all}");
        let full = place.expect(0, &["spec", "show", "--full", "-f", &folder])?.out;
        ensure!(full.contains(&format!("machineType: {machines}")), "{full}");
        ensure!(!full.contains("Environment") && !full.contains("fromVariable"), "{full}");
        let together = place.expect(0, &["spec", "show", "--full", "-f", "fleet", "--cluster", &name])?.out;
        ensure!(together == full, "{together}\n---\n{full}");
    }
    let pools = place.expect(0, &["spec", "show", "--full", "-f", "fleet/prod"])?.out;
    ensure!(
        pools.contains("name: batch")
            && pools.contains("max: 6")
            && pools.contains("deletionProtection: true")
    );

    // An environment is not selected by its own name; the error names its cluster.
    let refused = place.expect(1, &["plan", "-f", "fleet", "--cluster", "dev"])?.err;
    ensure!(refused.contains("dev is the name of an Environment: its cluster is `shop-dev`"), "{refused}");

    // The full form is the same cluster without its environment.
    place.expect(0, &["apply", "-f", "fleet/dev", "--yes"])?;
    let nothing = place.expect(0, &["plan", "-f", "fleet", "--cluster", "shop-dev"])?;
    ensure!(nothing.out.contains("No changes"), "{}", nothing.out);
    let full = place.expect(0, &["spec", "show", "--full", "-f", "fleet/dev"])?.out;
    place.write("full.yaml", &full)?;
    let nothing = place.expect(0, &["plan", "-f", "full.yaml"])?;
    ensure!(nothing.out.contains("No changes"), "{}", nothing.out);
    Ok(())
}

/// The default in the base is that of the other environments too: the hint does not ask to change it.
#[test]
fn a_downgrade_by_a_base_is_corrected_in_the_environment() -> Result<()> {
    let place = place()?;
    place.expect(0, &["apply", "-f", "fleet/dev", "--yes"])?;
    let base = std::fs::read_to_string(place.path().join("fleet/base/environment.yaml"))?;
    let older = base.replace("default: 1.35.2", "default: 1.35.1");
    ensure!(older != base);
    place.write("fleet/base/environment.yaml", &older)?;
    let refused = place.expect(1, &["plan", "-f", "fleet/dev"])?.err;
    let said = refused.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(said.contains("error[CLI0011]"), "{refused}");
    ensure!(said.contains("set the version to 1.35.2 in the environment of this cluster"), "{refused}");
    Ok(())
}

#[test]
fn a_reason_names_the_line_that_made_the_value() -> Result<()> {
    let place = place()?;
    place.expect(0, &["apply", "-f", "fleet/dev", "--yes"])?;
    let dev = std::fs::read_to_string(place.path().join("fleet/dev/environment.yaml"))?;
    place.write("fleet/dev/environment.yaml", &format!("{dev}    machineType: sim.large\n"))?;
    let line = dev.lines().count() + 1;
    let planned = place.expect(2, &["plan", "-f", "fleet/dev"])?.out;
    let reason = format!("(pools[workers].machineType, fleet/dev/environment.yaml:{line}:18)");
    ensure!(planned.contains(&reason), "no {reason} in\n{planned}");

    place.write("fleet/dev/environment.yaml", &dev)?;
    let base = std::fs::read_to_string(place.path().join("fleet/base/environment.yaml"))?;
    let larger = base.replace("default: sim.medium", "default: sim.large");
    ensure!(larger != base);
    place.write("fleet/base/environment.yaml", &larger)?;
    let planned = place.expect(2, &["plan", "-f", "fleet/dev"])?.out;
    ensure!(planned.contains("(pools[workers].machineType, fleet/base/environment.yaml:"), "{planned}");
    Ok(())
}

#[test]
fn an_upgrade_writes_into_the_environment_and_not_into_its_base() -> Result<()> {
    let place = place()?;
    place.expect(0, &["apply", "-f", "fleet/dev", "--yes"])?;
    let read = |file: &str| std::fs::read_to_string(place.path().join(file));
    let upgrade = ["upgrade", "-f", "fleet/dev", "--to", "1.36.0", "--yes"];
    let base = read("fleet/base/environment.yaml")?;
    let refused = place.expect(1, &upgrade)?;
    ensure!(
        refused.err.contains("CLI0093") && refused.err.contains("fleet/base/environment.yaml"),
        "{}",
        refused.err
    );
    let dev = read("fleet/dev/environment.yaml")?;
    place.write("fleet/dev/environment.yaml", &format!("{dev}    kubernetesVersion: 1.35.2\n"))?;
    place.expect(0, &upgrade)?;
    ensure!(read("fleet/dev/environment.yaml")? == format!("{dev}    kubernetesVersion: 1.36.0\n"));
    ensure!(read("fleet/base/environment.yaml")? == base);
    place.expect(0, &["plan", "-f", "fleet/dev"]).map(|_| ())
}

#[test]
fn an_upgrade_of_one_cluster_does_not_write_the_version_of_another_one() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let cluster = |name: &str| {
        format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: {name} }}\nspec: {{ provider: {{ name: sim }}, \
             region: sim-1, zones: [sim-1a], kubernetesVersion: {{ fromVariable: version }} }}\n---\n\
             apiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: control-plane }}\n\
             spec: {{ cluster: {name}, role: controlPlane, machineType: sim.medium }}\n"
        )
    };
    for name in ["one", "two"] {
        place.write(&format!("fleet/base/{name}.yaml"), &cluster(name))?;
    }
    let environment = "apiVersion: slipway.dev/v1alpha1\nkind: Environment\nmetadata: { name: both }\nspec:\n  bases: [base]\n  \
                       variables: [{ name: version, type: string }]\n  values: { version: 1.35.2 }\n";
    place.write("fleet/environment.yaml", environment)?;
    place.expect(0, &["apply", "-f", "fleet", "--cluster", "one", "--yes"])?;
    let upgrade = ["upgrade", "-f", "fleet", "--cluster", "one", "--to", "1.36.0", "--yes"];
    let refused = place.expect(1, &upgrade)?.err;
    for part in ["CLI0093", "fleet/environment.yaml:7:", "the cluster two refers to the same variable"] {
        ensure!(refused.contains(part), "no {part} in {refused}");
    }
    ensure!(std::fs::read_to_string(place.path().join("fleet/environment.yaml"))? == environment);
    place.expect(0, &["plan", "-f", "fleet", "--cluster", "one"])?;
    place.write("fleet/base/two.yaml", &cluster("two").replace("{ fromVariable: version }", "1.35.2"))?;
    place.expect(0, &upgrade)?;
    place.expect(0, &["plan", "-f", "fleet", "--cluster", "one"]).map(|_| ())
}

#[test]
fn a_cluster_of_the_state_that_becomes_a_base_is_named() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("fleet/prod/cluster.yaml", &crate::SMALL.replace("name: line", "name: prod"))?;
    place.expect(0, &["apply", "-f", "fleet", "--yes"])?;
    let environment = |name: &str| {
        format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Environment\nmetadata: {{ name: other }}\nspec:\n  bases: [prod]\n  patches:\n  - \
             target: {{ kind: Cluster, name: prod }}\n    merge: {{ metadata: {{ name: {name} }} }}\n"
        )
    };
    place.write("fleet/environment.yaml", &environment("test"))?;
    let note = "the cluster prod of the state is not planned";
    let planned = place.expect(2, &["plan", "-f", "fleet"])?;
    ensure!(planned.err.split_whitespace().collect::<Vec<_>>().join(" ").contains(note), "{}", planned.err);
    let refused = place.expect(1, &["plan", "-f", "fleet", "--cluster", "prod"])?.err;
    ensure!(refused.contains("CLI0004") && refused.contains("as a base"), "{refused}");
    // The environment keeps the name.
    place.write("fleet/environment.yaml", &environment("prod"))?;
    let planned = place.expect(0, &["plan", "-f", "fleet"])?;
    ensure!(!planned.err.contains("not planned"), "{}", planned.err);
    Ok(())
}

#[test]
fn a_base_outside_of_the_specs_is_not_read() -> Result<()> {
    let place = place()?;
    place.write("outside/keys.yaml", "token: hunter2\n")?;
    let environment = |base: &str| {
        format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Environment\nmetadata: {{ name: evil }}\nspec:\n  bases: ['{base}']\n"
        )
    };
    symlink(place.path().join("outside"), place.path().join("fleet/base/link"))?;
    for (base, code) in [
        ("../../outside", "TRUST0001"),
        ("../../../../../../../../etc/passwd", "TRUST0001"),
        ("../../../../../../../../dev/zero", "TRUST0001"),
        ("../base/link", "TRUST0002"),
    ] {
        place.write("fleet/evil/environment.yaml", &environment(base))?;
        // The folder of the base is allowed, and nothing else.
        let refused = place.expect(1, &["plan", "-f", "fleet/evil", "-f", "fleet/base", "--untrusted"])?;
        let names = [code, "fleet/evil/environment.yaml:5:"];
        ensure!(names.iter().all(|name| refused.err.contains(name)), "{base}: {}", refused.err);
        ensure!(!refused.err.contains("hunter2"), "{base}: {}", refused.err);
    }
    Ok(())
}
