//! Name, limits and types of the reference provider.

use std::collections::BTreeMap;

use slipway_resource::provider::{Capabilities, Info, RateClass};
use slipway_resource::schema::{Operation, OwnershipKind, attributes};
use slipway_resource::{Attribute, Form, ResourceType, Schema, Type};

use crate::defect::Defect;

pub const NETWORK: &str = "reference_network";
pub const MACHINE: &str = "reference_machine";
pub const VERIFY: &str = "verify";

pub fn info(defect: &Defect) -> Info {
    let class = RateClass { concurrency: u32::from(!defect.breaks("info")) * 64, per_second: None };
    Info {
        name: "reference".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        rate_classes: BTreeMap::from([("calls".to_owned(), class)]),
        batch: 1000,
        // There is no list of prices.
        capabilities: Capabilities {
            price: defect.breaks("capabilities"),
            instances: true,
            load_balancers: true,
            routes: true,
            ..Capabilities::default()
        },
    }
}

pub fn schema(defect: &Defect) -> Schema {
    let mut network = resource_type(
        "A network.",
        [
            ("cidr", Attribute::required(Type::String).immutable().describe("Its range.")),
            (
                "name",
                Attribute::optional(Type::String)
                    .forms([Form::Case])
                    .describe("Its name; small letters count only."),
            ),
            ("labels", Attribute::optional(Type::map(Type::String)).describe("For people.")),
            ("id", Attribute::computed(Type::String).describe("Its identity.")),
        ],
    );
    if defect.breaks("schema-stable") {
        network.description = format!("A network of process {}.", std::process::id());
    }
    let mut machine = resource_type(
        "A machine.",
        [
            ("network", Attribute::required(Type::String).immutable().describe("The network's id.")),
            ("size", Attribute::optional(Type::Integer).default_to(1_i64).describe("Cores.")),
            (
                "password",
                Attribute::optional(Type::String).sensitive().write_only().describe("Of its console."),
            ),
            (
                "boot_ms",
                Attribute::optional(Type::Integer).immutable().describe("Milliseconds until it is up."),
            ),
            ("address", Attribute::computed(Type::String).describe("Its address.")),
        ],
    );
    if defect.breaks("schema-lint") {
        machine.rate_class = "nowhere".to_owned();
    }
    let verify =
        Operation { description: "Looks whether it is up.".to_owned(), duration_ms: 1, read_only: true };
    machine.operations.insert(VERIFY.to_owned(), verify);
    Schema {
        config: BTreeMap::from([
            ("directory".to_owned(), Attribute::required(Type::String).describe("Where the cloud is kept.")),
            ("blind".to_owned(), Attribute::optional(Type::Bool).describe("Whether nothing may be read.")),
        ]),
        types: BTreeMap::from([(NETWORK.to_owned(), network), (MACHINE.to_owned(), machine)]),
    }
}

fn resource_type<const N: usize>(description: &str, all: [(&str, Attribute); N]) -> ResourceType {
    ResourceType {
        attributes: attributes(all),
        ..ResourceType::new(description, OwnershipKind::Tags, "calls")
    }
}
