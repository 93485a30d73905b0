use slipway_resource::provider::Discovery;
use slipway_resource::schema::{Durations, OwnershipKind};
use slipway_resource::{Identity, Lifecycle, Observation, Observed, Reference, Secret, TemplatePart};

use super::*;

fn kind<const N: usize>(import_id: &str, attributes: [(&str, Attribute); N]) -> ResourceType {
    ResourceType {
        version: 1,
        description: String::new(),
        attributes: attributes.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect(),
        ownership: OwnershipKind::Tags,
        rate_class: "any".to_owned(),
        idempotent_create: false,
        stateful: false,
        irreplaceable: None,
        create_before_delete: false,
        exclusive: Vec::new(),
        import_id: import_id.to_owned(),
        removed_with: None,
        roles: Vec::new(),
        read_by_identity: false,
        operations: BTreeMap::new(),
        durations: Durations::default(),
    }
}

fn schema() -> Schema {
    let text = || Attribute::optional(Type::String);
    let tags = || Attribute::optional(Type::map(Type::String));
    let types = [
        (
            "cloud_network",
            kind("", [("id", Attribute::computed(Type::String)), ("cidr_block", text()), ("tags", tags())]),
        ),
        (
            "cloud_role",
            kind("{name}", [("name", text()), ("policy", text()), ("password", text().sensitive())]),
        ),
        (
            "cloud_group",
            kind(
                "{network_id}/{name}",
                [
                    ("name", text()),
                    ("network_id", text()),
                    ("image", text()),
                    ("sizes", Attribute::optional(Type::set(Type::Integer))),
                    (
                        "rule",
                        Attribute::optional(Type::list(Type::object([
                            ("port", Attribute::optional(Type::Integer)),
                            ("labels", tags()),
                        ]))),
                    ),
                ],
            ),
        ),
    ];
    let types = types.into_iter().map(|(name, kind)| (name.to_owned(), kind)).collect();
    Schema { config: BTreeMap::new(), types }
}

fn address(text: &str) -> Address {
    text.parse().unwrap()
}

fn part(address: &str, attribute: &str) -> TemplatePart {
    TemplatePart::Reference(Reference { address: self::address(address), path: Path::key(attribute) })
}

fn desired() -> Vec<Desired> {
    let mut role = Desired::new(
        address("cloud_role.masters"),
        Value::map([
            ("name", Value::from("masters.a.example.com")),
            (
                "policy",
                Value::Template(vec![
                    TemplatePart::Text("{\"Resource\":\"".to_owned()),
                    part("cloud_network.a.example.com", "id"),
                    TemplatePart::Text("/*\",\"Condition\":\"${aws:user}\"}".to_owned()),
                ]),
            ),
            ("password", Value::from(Secret::new("env:PASSWORD"))),
        ]),
    );
    role.lifecycle =
        Lifecycle { protected: true, ignore_changes: vec![Path::key("policy")], ..Lifecycle::default() };
    role.depends_on = vec![address("cloud_network.a.example.com")];
    let mut shared = Desired::new(address("cloud_network.shared"), Value::map::<String, Value>([]));
    shared.lifecycle.existing = Some(Identity::new("net-7"));
    vec![
        Desired::new(
            address("cloud_group.1"),
            Value::map([
                (
                    "name",
                    Value::Template(vec![
                        TemplatePart::Text("say \"hi\" to ".to_owned()),
                        part("cloud_network.a.example.com", "cidr_block"),
                    ]),
                ),
                ("network_id", Value::reference(address("cloud_network.shared"), "id")),
                ("image", Value::Unknown),
                ("sizes", Value::list([Value::Integer(1), Value::Integer(2)])),
                (
                    "rule",
                    Value::list([Value::map([
                        ("port", Value::Integer(22)),
                        ("labels", Value::map([("a.example.com/b", "${c}")])),
                    ])]),
                ),
            ]),
        ),
        Desired::new(
            address("cloud_network.a.example.com"),
            Value::map([
                ("id", Value::Unknown),
                ("cidr_block", Value::from("10.0.0.0/8")),
                ("tags", Value::map([("Name", "a")])),
            ]),
        ),
        shared,
        role,
    ]
}

fn written() -> String {
    let mut observations = Observations::default();
    let group = Observed {
        address: address("cloud_group.1"),
        identity: Identity::new("g-1"),
        token: None,
        owner: None,
        observation: Observation::Present(Value::map([("name", "one"), ("network_id", "net-7")])),
    };
    observations.add_discovery(Discovery { observed: vec![group], ..Discovery::default() });
    let (schema, desired) = (schema(), desired());
    let export = Export {
        desired: &desired,
        observations: &observations,
        schemas: &[("cloud", &schema)],
        region: Some("north-1"),
        sources: &[],
    };
    export.write().unwrap()
}

#[test]
fn every_kind_of_value_has_its_form() {
    insta::assert_snapshot!(written());
}

#[test]
fn a_provider_has_the_source_that_is_given() {
    let (schema, desired, observations) = (schema(), desired(), Observations::default());
    let export = Export {
        desired: &desired,
        observations: &observations,
        schemas: &[("cloud", &schema)],
        region: None,
        sources: &[("cloud", "example/sky")],
    };
    let text = export.write().unwrap();
    assert!(text.contains("\"source\" = \"example/sky\""), "{text}");
}

#[test]
fn what_is_written_is_read_again() {
    let body: Body = hcl::from_str(&written()).unwrap();
    let resources: Vec<&Block> = body.blocks().filter(|block| block.identifier() == "resource").collect();
    assert_eq!(resources.len(), 3);
    let value: serde_json::Value = hcl::from_body(body).unwrap();
    let group = &value["resource"]["cloud_group"]["_1"];
    assert_eq!(group["name"], "say \"hi\" to ${cloud_network.a-example-com.cidr_block}");
    assert_eq!(group["network_id"], "net-7");
    assert_eq!(group["rule"]["labels"]["a.example.com/b"], "${c}");
}

#[test]
fn a_type_of_nobody_is_refused() {
    let desired = [Desired::new(address("other_thing.a"), Value::Null)];
    let observations = Observations::default();
    let export =
        Export { desired: &desired, observations: &observations, schemas: &[], region: None, sources: &[] };
    assert!(matches!(export.write(), Err(ExportError::UnknownType(_))));
}
