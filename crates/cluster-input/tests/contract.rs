//! Guarantees of the contract about the message: it only grows, and unknown fields are ignored.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value as Json, json};
use slipway_cluster_input::{ClusterInput, ReadError};

const FROZEN: &str = "/../../providers/conformance/tests/python-frozen/cluster-input.v1alpha1.schema.json";

fn schema(path: &str) -> Json {
    serde_json::from_slice(&std::fs::read(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()).unwrap()
}

/// Every object of a schema that has fields, by its name.
fn objects(schema: &Json) -> Vec<(String, &Json)> {
    let definitions = schema["$defs"].as_object().unwrap();
    let mut objects = vec![("ClusterInput".to_owned(), schema)];
    for (name, definition) in definitions {
        objects.push((name.clone(), definition));
        for (index, branch) in definition["oneOf"].as_array().into_iter().flatten().enumerate() {
            objects.push((format!("{name} {index}"), branch));
        }
    }
    objects.into_iter().filter(|(_, object)| object["properties"].is_object()).collect()
}

fn names(list: &Json) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Json::as_str).collect()
}

#[test]
fn the_schema_only_grows() {
    // These got the names of Kubernetes when the schema was a day old.
    let renamed = ["imageGcHighThresholdPercent", "imageGcLowThresholdPercent", "serverTlsBootstrap"];
    let (frozen, current) = (schema(FROZEN), slipway_cluster_input::json_schema().unwrap());
    let current: Json = serde_json::from_str(&current).unwrap();
    let now = objects(&current);
    for (name, object) in objects(&frozen) {
        let (_, present) =
            now.iter().find(|(other, _)| *other == name).unwrap_or_else(|| panic!("no {name}"));
        for field in object["properties"].as_object().unwrap().keys() {
            let kept = present["properties"].get(field).is_some() || renamed.contains(&field.as_str());
            assert!(kept, "{name} has lost {field}");
        }
        let required = names(&object["required"]);
        for field in names(&present["required"]) {
            assert!(required.contains(&field), "{name} requires {field}, which is new");
        }
    }
}

#[test]
fn the_published_schema_is_current() {
    let path = format!("{}/schema/{}", env!("CARGO_MANIFEST_DIR"), slipway_cluster_input::file_name());
    let text = slipway_cluster_input::json_schema().unwrap();
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let published = std::fs::read_to_string(&path).unwrap();
    assert!(published == text, "{path} is not what the types say; `cargo xtask schemas` writes it again");
}

#[test]
fn unknown_fields_are_found_at_every_depth() {
    let message = json!({
        "name": "demo",
        "new/field": 1,
        "labels": { "any": "key" },
        "provider": { "name": "sim", "config": { "opaque": { "any": 1 } } },
        "controlPlane": { "endpoint": { "given": { "host": "a", "weight": 1 } } },
        "components": { "apiServer": { "extraArgs": { "v": "2" }, "niceness": 3 } },
        "pools": [{ "name": "workers", "rootVolume": { "sizeGiB": 10, "shared": true } }, { "lanes": 2 }],
    });
    let unknown = ClusterInput::check(&message).unwrap();
    let found: Vec<(&str, &str)> =
        unknown.iter().map(|field| (field.pointer.as_str(), field.path.as_str())).collect();
    let expected = [
        ("/components/apiServer/niceness", "components.apiServer.niceness"),
        ("/controlPlane/endpoint/given/weight", "controlPlane.endpoint.given.weight"),
        ("/new~1field", "[new/field]"),
        ("/pools/0/rootVolume/shared", "pools[workers].rootVolume.shared"),
        ("/pools/1/lanes", "pools[1].lanes"),
    ];
    let mut found = found;
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn what_must_be_understood_is_refused_also_inside_of_an_unknown_field() {
    let refused = |must: &str| {
        let message = json!({ "name": "demo", "vault": { "sealed": true }, "mustUnderstand": [must] });
        ClusterInput::check(&message)
    };
    for must in ["/vault", "/vault/sealed"] {
        let Err(ReadError::NotUnderstood(fields)) = refused(must) else { panic!("{must} is ignored") };
        assert_eq!(fields[0].path, "vault");
    }
    for must in ["/name", "/vaults", "/absent"] {
        assert_eq!(refused(must).unwrap().len(), 1, "{must}");
    }
}
