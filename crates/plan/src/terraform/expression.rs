//! Values as expressions, and what they need beside themselves: variables and data sources.

use std::collections::{BTreeMap, BTreeSet};

use hcl::expr::{Heredoc, Traversal, TraversalOperator, Variable};
use hcl::structure::BlockBuilder;
use hcl::{Block, Expression, Identifier, Number, TemplateExpr};
use slipway_resource::{
    Address, Desired, Identity, Path, RangePart, Reference, Segment, TemplatePart, Value,
};

use super::labels::{Labels, plain};
use crate::observations::Observations;

/// The names that expressions may refer to, and the ones used so far.
pub(super) struct Scope<'a> {
    pub labels: &'a Labels,
    /// Resources of the configuration.
    made: BTreeSet<&'a Address>,
    /// Objects that are only used.
    existing: BTreeMap<&'a Address, &'a Identity>,
    observations: &'a Observations,
    current: Option<&'a Address>,
    /// Variables by name: whether they are sensitive, and their purpose.
    variables: BTreeMap<String, (bool, String)>,
    data: BTreeSet<&'a Address>,
}

impl<'a> Scope<'a> {
    pub fn new(labels: &'a Labels, desired: &'a [Desired], observations: &'a Observations) -> Self {
        let mut made = BTreeSet::new();
        let mut existing = BTreeMap::new();
        for desired in desired {
            match &desired.lifecycle.existing {
                Some(identity) => {
                    existing.insert(&desired.address, identity);
                }
                None => {
                    made.insert(&desired.address);
                }
            }
        }
        let (variables, data) = (BTreeMap::new(), BTreeSet::new());
        Self { labels, made, existing, observations, current: None, variables, data }
    }

    /// The resource that the next expressions belong to.
    pub fn begin(&mut self, address: &'a Address) {
        self.current = Some(address);
    }

    /// Whether the configuration makes it.
    pub fn is_made(&self, address: &Address) -> bool {
        self.made.contains(address)
    }

    /// A resource as `depends_on` names it.
    pub fn resource(&self, address: &Address) -> Result<Expression, hcl::Error> {
        traversal(&[address.kind(), &self.labels.of(address)])
    }

    /// A value of an attribute.
    pub fn expression(
        &mut self,
        value: &Value,
        sensitive: bool,
        path: &Path,
    ) -> Result<Expression, hcl::Error> {
        Ok(match value {
            Value::Secret(_) | Value::Unknown => {
                self.variable(path, sensitive || matches!(value, Value::Secret(_)))?
            }
            _ if sensitive => self.variable(path, true)?,
            Value::Null => Expression::Null,
            Value::Bool(value) => Expression::Bool(*value),
            Value::Integer(value) => Expression::Number(Number::from(*value)),
            Value::Float(value) => Number::from_f64(*value).map_or(Expression::Null, Expression::Number),
            Value::String(text) => match document(&escape(text)) {
                Some(document) => document?,
                None => Expression::String(text.clone()),
            },
            Value::Reference(reference) => self.reference(reference)?,
            Value::Template(parts) => match RangePart::of(parts) {
                Some(part) => self.range_part(&part)?,
                None => self.template(parts)?,
            },
            Value::List(items) => Expression::Array(
                items
                    .iter()
                    .enumerate()
                    .map(|(index, item)| self.expression(item, false, &path.index(index)))
                    .collect::<Result<_, _>>()?,
            ),
            Value::Map(entries) => {
                let entries = entries.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| {
                    let value = self.expression(value, false, &path.child(key.as_str()))?;
                    Ok((hcl::expr::ObjectKey::from(Expression::String(key.clone())), value))
                });
                Expression::Object(entries.collect::<Result<_, hcl::Error>>()?)
            }
        })
    }

    /// A variable for what is not known or not to be written down.
    fn variable(&mut self, path: &Path, sensitive: bool) -> Result<Expression, hcl::Error> {
        let address = self.current.map(ToString::to_string).unwrap_or_default();
        let name = plain(&format!("{address}.{path}")).replace('-', "_");
        let what = if sensitive { "is a secret" } else { "is known to the account alone" };
        self.variables.insert(name.clone(), (sensitive, format!("{path} of {address}, which {what}.")));
        traversal(&["var", &name])
    }

    fn reference(&mut self, reference: &Reference) -> Result<Expression, hcl::Error> {
        let address = &reference.address;
        if let Some((address, identity)) = self.existing.get_key_value(address) {
            if reference.is_identity() {
                return Ok(Expression::String(identity.as_str().to_owned()));
            }
            let known = self.observations.objects(address).first();
            let known = known.and_then(|found| found.attributes.at(&reference.path));
            if let Some(Value::String(text)) = known {
                return Ok(Expression::String(text.clone()));
            }
            self.data.insert(address);
            return attribute(&["data", address.kind(), &self.labels.of(address)], &reference.path);
        }
        attribute(&[address.kind(), &self.labels.of(address)], &reference.path)
    }

    fn range_part(&mut self, part: &RangePart) -> Result<Expression, hcl::Error> {
        let range = self.reference(&part.range)?;
        let call = hcl::expr::FuncCall::builder("cidrsubnet").arg(range).arg(part.bits).arg(part.number);
        Ok(Expression::from(call.build()))
    }

    fn template(&mut self, parts: &[TemplatePart]) -> Result<Expression, hcl::Error> {
        let mut raw = String::new();
        for part in parts {
            match part {
                TemplatePart::Text(text) => raw.push_str(&escape(text)),
                TemplatePart::Reference(reference) => match self.reference(reference)? {
                    Expression::String(text) => raw.push_str(&escape(&text)),
                    expression => {
                        raw.push_str("${");
                        raw.push_str(hcl::format::to_string(&expression)?.trim());
                        raw.push('}');
                    }
                },
            }
        }
        if let Some(document) = document(&raw) {
            return document;
        }
        Ok(Expression::from(TemplateExpr::QuotedString(quoted(&raw))))
    }

    /// The variables that were used.
    pub fn variables(&self) -> Vec<Block> {
        let block = |(name, (sensitive, description)): (&String, &(bool, String))| {
            let mut block = Block::builder("variable")
                .add_label(name.as_str())
                .add_attribute(("description", description.as_str()));
            if *sensitive {
                block = block.add_attribute(("sensitive", true));
            }
            block.build()
        };
        self.variables.iter().map(block).collect()
    }

    /// The data sources that were used.
    pub fn data(&self) -> Result<Vec<Block>, hcl::Error> {
        let block = |address: &&Address| -> Option<BlockBuilder> {
            let identity = self.existing.get(*address)?;
            let block = Block::builder("data").add_label(address.kind()).add_label(self.labels.of(address));
            Some(block.add_attribute(("id", identity.as_str())))
        };
        Ok(self.data.iter().filter_map(block).map(BlockBuilder::build).collect())
    }
}

/// A name in `ignore_changes`.
pub(super) fn name(name: &str) -> Result<Expression, hcl::Error> {
    Ok(Expression::Variable(Variable::new(name)?))
}

/// Names joined by dots.
pub(super) fn traversal(names: &[&str]) -> Result<Expression, hcl::Error> {
    attribute(names, &Path::root())
}

fn attribute(names: &[&str], path: &Path) -> Result<Expression, hcl::Error> {
    let Some((first, rest)) = names.split_first() else { return Ok(Expression::Null) };
    let mut operators = Vec::new();
    for name in rest {
        operators.push(TraversalOperator::GetAttr(Identifier::new(*name)?));
    }
    for segment in path.segments() {
        operators.push(match segment {
            Segment::Key(key) => match Identifier::new(key.as_str()) {
                Ok(name) => TraversalOperator::GetAttr(name),
                Err(_) => TraversalOperator::Index(Expression::String(key.clone())),
            },
            Segment::Index(index) => TraversalOperator::Index(Expression::from(*index as u64)),
        });
    }
    Ok(Expression::from(Traversal::new(Variable::new(*first)?, operators)))
}

/// A literal text inside a template.
fn escape(text: &str) -> String {
    text.replace("${", "$${").replace("%{", "%%{")
}

/// The inside of a quoted template: the text between `${` and `}` is unchanged, all other text is escaped.
fn quoted(raw: &str) -> String {
    let mut quoted = String::new();
    let mut rest = raw;
    while !rest.is_empty() {
        let begin = interpolation(rest).unwrap_or(rest.len());
        for c in rest[..begin].chars() {
            match c {
                '\\' => quoted.push_str("\\\\"),
                '"' => quoted.push_str("\\\""),
                '\n' => quoted.push_str("\\n"),
                '\r' => quoted.push_str("\\r"),
                '\t' => quoted.push_str("\\t"),
                c => quoted.push(c),
            }
        }
        rest = &rest[begin..];
        let end = rest.find('}').map_or(rest.len(), |end| end + 1);
        quoted.push_str(&rest[..end]);
        rest = &rest[end..];
    }
    quoted
}

/// The position of the first `${` that is not escaped.
fn interpolation(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.find("${")?;
        if at == 0 || !text[..at].ends_with('$') {
            return Some(at);
        }
        from = at + 2;
    }
}

/// A JSON document as a here document, for people to read; nothing for other texts.
fn document(raw: &str) -> Option<Result<Expression, hcl::Error>> {
    if !raw.trim_start().starts_with(['{', '[']) {
        return None;
    }
    let document: serde_json::Value = serde_json::from_str(raw).ok()?;
    let text = serde_json::to_string_pretty(&document).ok()?;
    let heredoc = Identifier::new("JSON").map(|delimiter| Heredoc::new(delimiter, text));
    Some(heredoc.map(|heredoc| Expression::from(TemplateExpr::Heredoc(heredoc))))
}
