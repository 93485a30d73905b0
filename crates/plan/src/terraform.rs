//! Exports the desired resources as a Terraform configuration, with `import` blocks for existing objects.
//!
//! Types and attributes keep their names, so this is of use for providers whose types are named as Terraform's.
//! An object or a collection of objects becomes blocks, everything else an attribute. Values that are unknown
//! offline become variables, and so do secrets.

mod aligned;
mod expression;
mod import;
mod labels;

use std::collections::{BTreeMap, BTreeSet};

use hcl::structure::BlockBuilder;
use hcl::{Attribute as HclAttribute, Block, Body, Expression};
use slipway_resource::{
    Address, Attribute, Desired, Entries, Mode, Path, ResourceType, Schema, Segment, Type, Value,
};

use crate::observations::Observations;
use expression::Scope;
use labels::Labels;

/// The default namespace of a provider in Terraform's registry.
const NAMESPACE: &str = "hashicorp";

/// The providers whose resource types are those of a Terraform provider, with its source in Terraform's registry.
pub const SOURCES: &[(&str, &str)] = &[("aws", "hashicorp/aws")];

/// The versions of Terraform that know `import` blocks.
const WITH_IMPORTS: &str = ">= 1.5";

/// The input of an export.
#[derive(Clone, Copy, Debug)]
pub struct Export<'a> {
    /// The resources that the spec asks for.
    pub desired: &'a [Desired],
    /// The existing objects among them; empty offline.
    pub observations: &'a Observations,
    /// The providers that have their types, by name.
    pub schemas: &'a [(&'a str, &'a Schema)],
    /// The region, for the `provider` blocks.
    pub region: Option<&'a str>,
    /// The sources of providers in Terraform's registry, by name; `hashicorp/NAME` of all others.
    pub sources: &'a [(&'a str, &'a str)],
}

/// A configuration that cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The resource's type is no provider's.
    #[error("no provider has the type of {0}")]
    UnknownType(Address),
    /// The language cannot express it.
    #[error("{address} cannot be written")]
    Form {
        /// The resource.
        address: Address,
        /// Why.
        #[source]
        source: hcl::Error,
    },
    /// The configuration cannot be written.
    #[error("the configuration cannot be written")]
    Whole(#[from] hcl::Error),
}

impl Export<'_> {
    /// The configuration, in the order of the addresses; the same input gives the same text.
    ///
    /// # Errors
    /// When a resource has a type that no provider has, or a name that the language has no form for.
    pub fn write(&self) -> Result<String, ExportError> {
        let labels = Labels::new(self.desired);
        let mut scope = Scope::new(&labels, self.desired, self.observations);
        let mut resources = Vec::new();
        let mut imports = Vec::new();
        for desired in self.desired.iter().filter(|desired| desired.lifecycle.existing.is_none()) {
            let kind = self
                .schemas
                .iter()
                .find_map(|(_, schema)| schema.types.get(desired.address.kind()))
                .ok_or_else(|| ExportError::UnknownType(desired.address.clone()))?;
            let form = |source| ExportError::Form { address: desired.address.clone(), source };
            resources.push(resource(desired, kind, &mut scope).map_err(form)?);
            if let Some(found) = self.observations.objects(&desired.address).first() {
                imports.push(import::block(&desired.address, found, kind, &labels).map_err(form)?);
            }
        }
        let mut body = Body::builder().add_block(self.requirements(!imports.is_empty()));
        for (name, _) in self.used() {
            let block = Block::builder("provider").add_label(name);
            if let Some(region) = self.region {
                body = body.add_block(block.add_attribute(("region", region)).build());
            }
        }
        let variables = scope.variables();
        let blocks = variables.into_iter().chain(scope.data()?).chain(resources).chain(imports);
        let body = blocks.fold(body, |body, block| body.add_block(block)).build();
        Ok(aligned::aligned(&hcl::format::to_string(&body)?))
    }
}

impl Export<'_> {
    /// The providers that have a resource in the configuration.
    fn used(&self) -> impl Iterator<Item = (&str, &Schema)> {
        let is_used = move |schema: &Schema| {
            let mut made = self.desired.iter().filter(|desired| desired.lifecycle.existing.is_none());
            made.any(|desired| schema.types.contains_key(desired.address.kind()))
        };
        self.schemas.iter().copied().filter(move |(_, schema)| is_used(schema))
    }

    /// The `terraform` block: the version that reads `import` blocks, and where each provider with a resource comes from.
    fn requirements(&self, has_imports: bool) -> Block {
        let mut providers = Block::builder("required_providers");
        for (name, _) in self.used() {
            let source = self.sources.iter().find(|(provider, _)| *provider == name);
            let source =
                source.map_or_else(|| format!("{NAMESPACE}/{name}"), |(_, source)| (*source).to_owned());
            let source = Expression::from_iter([("source", source)]);
            providers = providers.add_attribute(HclAttribute::new(name, source));
        }
        let mut block = Block::builder("terraform");
        if has_imports {
            block = block.add_attribute(("required_version", WITH_IMPORTS));
        }
        block.add_block(providers.build()).build()
    }
}

fn resource<'a>(
    desired: &'a Desired,
    kind: &ResourceType,
    scope: &mut Scope<'a>,
) -> Result<Block, hcl::Error> {
    let address = &desired.address;
    let label = scope.labels.of(address);
    let mut block = Block::builder("resource").add_label(address.kind()).add_label(label);
    let Value::Map(entries) = &desired.attributes else { return Ok(block.build()) };
    scope.begin(address);
    block = fields(block, entries, &kind.attributes, scope, &Path::root())?;
    let named: BTreeSet<&Address> =
        desired.depends_on.iter().filter(|needed| scope.is_made(needed)).collect();
    if !named.is_empty() {
        let needed = named.into_iter().map(|needed| scope.resource(needed)).collect::<Result<Vec<_>, _>>()?;
        block = block.add_attribute(("depends_on", Expression::Array(needed)));
    }
    if let Some(lifecycle) = lifecycle(desired)? {
        block = block.add_block(lifecycle);
    }
    Ok(block.build())
}

/// The `lifecycle` block: ignored attributes stay ignored, and protected resources stay protected.
fn lifecycle(desired: &Desired) -> Result<Option<Block>, hcl::Error> {
    let mut block = Block::builder("lifecycle");
    let ignored = desired.lifecycle.ignore_changes.iter().filter_map(|path| match path.segments() {
        [Segment::Key(name), ..] => Some(name.as_str()),
        _ => None,
    });
    let ignored: BTreeSet<&str> = ignored.collect();
    if ignored.is_empty() && !desired.lifecycle.protected {
        return Ok(None);
    }
    if !ignored.is_empty() {
        let names = ignored.into_iter().map(expression::name).collect::<Result<Vec<_>, _>>()?;
        block = block.add_attribute(("ignore_changes", Expression::Array(names)));
    }
    if desired.lifecycle.protected {
        block = block.add_attribute(("prevent_destroy", true));
    }
    Ok(Some(block.build()))
}

/// Attributes first, then blocks, each in the order of their names.
fn fields(
    mut block: BlockBuilder,
    entries: &Entries,
    attributes: &BTreeMap<String, Attribute>,
    scope: &mut Scope<'_>,
    path: &Path,
) -> Result<BlockBuilder, hcl::Error> {
    let mut blocks = Vec::new();
    for (name, value) in entries {
        let Some(attribute) = attributes.get(name) else { continue };
        if value.is_null() || attribute.mode == Mode::Computed {
            continue;
        }
        // A block that the cloud never returns holds settings of Slipway, such as those of a roll.
        if attribute.write_only && inner(&attribute.kind).is_some() {
            continue;
        }
        let path = path.child(name.as_str());
        match inner(&attribute.kind) {
            Some(fields) => blocks.push((name, value, fields, path)),
            None => {
                let value = scope.expression(value, attribute.sensitive, &path)?;
                block = block.add_attribute(HclAttribute::new(name.as_str(), value));
            }
        }
    }
    for (name, value, inner, path) in blocks {
        let items = match value {
            Value::List(items) => items.as_slice(),
            single => std::slice::from_ref(single),
        };
        for (index, item) in items.iter().enumerate() {
            let Value::Map(entries) = item else { continue };
            let nested = Block::builder(name.as_str());
            block = block.add_block(fields(nested, entries, inner, scope, &path.index(index))?.build());
        }
    }
    Ok(block)
}

/// The fields of an object or of the objects in a collection, which become blocks.
fn inner(kind: &Type) -> Option<&BTreeMap<String, Attribute>> {
    match kind {
        Type::Object(fields) => Some(fields),
        Type::List(item) | Type::Set(item) => inner(item),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
