//! A provider for an older schema of the cluster still works when the spec gets a new field.

use std::path::Path;

use anyhow::{Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};
use slipway_testkit::python_provider::PythonProvider;

use crate::PROGRAM;

const MANIFEST: &str =
    "name = 'python'\nversion = '1.0.0'\nprotocol = ['v1alpha1']\ndescription = 'Disks in a file.'\n";

/// A place with the frozen provider on the search path, and a spec. `change` changes the schema that it was written from.
struct Frozen {
    place: Place,
    providers: String,
}

impl Frozen {
    fn new(change: impl FnOnce(&mut Json)) -> Result<Self> {
        let place = Place::new(PROGRAM)?;
        let source =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../providers/conformance/tests/python-frozen");
        let mut provider = PythonProvider::of_folder(&source);
        let mut schema: Json = serde_json::from_slice(&std::fs::read(&provider.schema)?)?;
        change(&mut schema);
        provider.schema = place.write("providers/schema.json", &schema.to_string())?;
        let folder = place.path().join("providers");
        provider.build(&folder)?;
        place.write("providers/provider.toml", MANIFEST)?;
        let directory = place.path().join("cloud");
        std::fs::create_dir(&directory)?;
        let spec = format!(
            "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: line }}\nspec:\n  kubernetesVersion: 1.35.2\n  \
             provider:\n    name: python\n    config:\n      directory: {}\n      disks: [{{ name: a, size: 3 }}]\n  kubelet:\n    \
             imageGCHighThresholdPercent: 80\n---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: \
             control-plane }}\nspec: {{ role: controlPlane }}\n",
            directory.display()
        );
        place.write("spec.yaml", &spec)?;
        let frozen = Self { place, providers: folder.display().to_string() };
        frozen.expect(0, &["provider", "lock", "python"])?;
        Ok(frozen)
    }

    fn expect(&self, code: i32, arguments: &[&str]) -> Result<Ended> {
        let mut command = self.place.command(arguments);
        let ended = Ended::of(command.env("SLIPWAY_PROVIDER_PATH", &self.providers).output()?)?;
        ensure!(ended.code == Some(code), "{arguments:?}: {ended:?}");
        Ok(ended)
    }

    fn objects(&self) -> Result<usize> {
        let cloud: Json =
            serde_json::from_slice(&std::fs::read(self.place.path().join("cloud/cloud.json"))?)?;
        Ok(cloud["objects"].as_object().map_or(0, serde_json::Map::len))
    }
}

#[test]
fn it_has_a_whole_life_with_a_field_that_it_does_not_know() -> Result<()> {
    let frozen = Frozen::new(|_| ())?;
    let plan = frozen.expect(2, &["plan", "-f", "spec.yaml"])?.out;
    let note = "kubelet.imageGCHighThresholdPercent: this version of the provider does not know";
    ensure!(plan.contains(note), "{plan}");
    frozen.expect(0, &["apply", "-f", "spec.yaml", "--yes"])?;
    ensure!(frozen.objects()? == 1);
    frozen.expect(0, &["plan", "-f", "spec.yaml"])?;
    frozen.expect(0, &["delete", "line", "--yes", "--confirm", "line"])?;
    ensure!(frozen.objects()? == 0);
    Ok(())
}

#[test]
fn it_refuses_a_field_that_it_must_understand_at_its_line() -> Result<()> {
    // As if access to the API had come into the contract after the provider was written.
    let frozen = Frozen::new(|schema| {
        if let Some(fields) =
            schema.pointer_mut("/$defs/ControlPlane/properties").and_then(Json::as_object_mut)
        {
            fields.remove("access");
        }
    })?;
    let refused = frozen.expect(1, &["plan", "-f", "spec.yaml"])?.err;
    ensure!(
        refused.contains("error[PROVIDER0020]") && refused.contains("`controlPlane.access`"),
        "{refused}"
    );
    Ok(())
}
