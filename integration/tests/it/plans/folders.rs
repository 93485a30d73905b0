//! Other files in a folder of specs, and the selection of one of several clusters.

use anyhow::{Result, ensure};
use slipway_integration::place::{Ended, Place};

use crate::{PROGRAM, SMALL};

const MANIFESTS: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\n---\napiVersion: apps/v1\nkind: \
                         Deployment\nmetadata: { name: b }\n";

fn place() -> Result<Place> {
    let place = Place::new(PROGRAM)?;
    std::fs::create_dir_all(place.path().join("specs/addons"))?;
    place.write("specs/a.yaml", SMALL)?;
    place.write("specs/addons/b.yaml", MANIFESTS)?;
    Ok(place)
}

#[test]
fn manifests_in_a_folder_of_specs_are_named_and_not_read_as_specs() -> Result<()> {
    let place = place()?;
    let planned = place.expect(2, &["plan", "-f", "specs"])?;
    let note = "manifests of other programs are not read as a spec: ConfigMap (v1), Deployment (apps/v1)";
    ensure!(planned.err.contains(note) && planned.err.contains("specs/addons/b.yaml:1"), "{}", planned.err);
    // A file that is named is meant as a spec, and a misspelt spec is no manifest of another program.
    let named = place.expect(1, &["plan", "-f", "specs/a.yaml", "-f", "specs/addons/b.yaml"])?;
    ensure!(named.err.contains("SPEC0010") && named.err.contains("unknown apiVersion `v1`"), "{}", named.err);
    for misspelt in ["slipway.dev/v1alpha2", "slipway.de/v1alpha1", "v1alpha1"] {
        let pool = format!("apiVersion: {misspelt}\nkind: NodePool\nmetadata: {{ name: w }}\n");
        place.write("specs/addons/b.yaml", &pool)?;
        let refused = place.expect(1, &["plan", "-f", "specs"])?;
        ensure!(refused.err.contains("SPEC0010"), "{misspelt}: {}", refused.err);
    }
    Ok(())
}

#[test]
fn several_clusters_are_listed_with_the_way_to_choose_one() -> Result<()> {
    let place = place()?;
    for (file, name) in [("a", "line"), ("c", "other")] {
        let spec = SMALL.replace("name: line", &format!("name: {name}"));
        let spec = spec.replace("role: controlPlane", &format!("cluster: {name}, role: controlPlane"));
        place.write(&format!("specs/{file}.yaml"), &spec)?;
    }
    let refused = place.expect(1, &["delete", "-f", "specs", "--yes"])?;
    let names = ["CLI0005", "several clusters (line, other)", "--cluster line"];
    ensure!(names.iter().all(|name| refused.err.contains(name)), "{}", refused.err);
    place.expect(2, &["plan", "-f", "specs", "--cluster", "other"]).map(|_| ())
}

/// A plan names the files of manifests as the spec does: every checkout, called from every folder, gives the same bytes.
#[test]
fn a_plan_with_a_manifest_does_not_depend_on_the_folder() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    let addon = "  addons: [ { name: own, manifest: { file: addons/b.yaml } } ]\n---";
    let spec = SMALL.replacen("\n---", &format!("\n{addon}"), 1);
    ensure!(spec.contains("addons/b.yaml"), "{spec}");
    for checkout in ["one/specs", "a/deeper/two/specs"] {
        place.write(&format!("{checkout}/a.yaml"), &spec)?;
        place.write(&format!("{checkout}/addons/b.yaml"), MANIFESTS)?;
    }
    std::os::unix::fs::symlink("one", place.path().join("link"))?;
    let absolute = place.path().join("one/specs").display().to_string();
    let calls: [(&str, &str); 6] = [
        (".", "one/specs"),
        (".", "./one/../one/specs/a.yaml"),
        (".", "link/specs"),
        (".", &absolute),
        ("one/specs", "a.yaml"),
        (".", "a/deeper/two/specs"),
    ];
    let mut plans = Vec::new();
    for (folder, file) in calls {
        let out = place.path().join("out.plan").display().to_string();
        let state = place.state().display().to_string();
        let mut command = place.command(&["plan", "-f", file, "--out", &out, "--state", &state]);
        let planned = Ended::of(command.current_dir(place.path().join(folder)).output()?)?;
        ensure!(planned.code == Some(2), "{file}: {}", planned.err);
        let plan = std::fs::read_to_string(&out)?;
        ensure!(!plan.contains("/one/") && !plan.contains("/two/"), "{file}: the plan names the checkout");
        plans.push(plan);
    }
    ensure!(plans.iter().all(|plan| *plan == plans[0]), "the plans differ");
    Ok(())
}

/// A file of keys beside specs is reported with its place and without its content.
#[test]
fn a_file_of_keys_in_a_folder_of_specs_is_not_quoted() -> Result<()> {
    let place = place()?;
    for text in
        ["etcd: hunter2\n", "hunter2\n", "{\"key\": \"hunter2\"}\n", "key: *hunter2\n", "key: [hunter2\n"]
    {
        place.write("specs/keys.yaml", text)?;
        let refused = place.expect(1, &["plan", "-f", "specs"])?;
        ensure!(refused.err.contains("specs/keys.yaml:1:"), "{text}: {}", refused.err);
        ensure!(!refused.err.contains("hunter2") && !refused.out.contains("hunter2"), "{}", refused.err);
    }
    // Nor is a key in place of a reference to one.
    std::fs::remove_file(place.path().join("specs/keys.yaml"))?;
    let inline = "zones: [sim-1a]\n  encryption: { atRest: { key: hunter2 } }\n";
    place.write("specs/a.yaml", &SMALL.replace("zones: [sim-1a]\n", inline))?;
    let refused = place.expect(1, &["plan", "-f", "specs"])?;
    ensure!(refused.err.contains("SPEC0004") && !refused.err.contains("hunter2"), "{}", refused.err);
    place.write("specs/a.yaml", SMALL)?;
    // Of a spec with a mistake, and of a file that is named, the line is shown.
    place
        .write("specs/w.yaml", "apiVersion: slipway.dev/v1alpha1\nkind: Nodpool\nmetadata: { name: w }\n")?;
    let refused = place.expect(1, &["plan", "-f", "specs"])?;
    ensure!(refused.err.contains("| kind: Nodpool"), "{}", refused.err);
    place.write("keys.yaml", "etcd: shown\n")?;
    let refused = place.expect(1, &["plan", "-f", "keys.yaml"])?;
    ensure!(refused.err.contains("| etcd: shown"), "{}", refused.err);
    Ok(())
}
