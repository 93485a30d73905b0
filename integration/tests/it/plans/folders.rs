//! What a folder of specs may have beside them, and how one of several clusters is chosen.

use anyhow::{Result, ensure};
use slipway_integration::place::Place;

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
