//! A policy document and its deterministic JSON.

use std::collections::{BTreeMap, BTreeSet};

use slipway_resource::{Address, Path, Reference, TemplatePart, Value};

/// The version of the policy language, fixed by IAM.
const VERSION: &str = "2012-10-17";

/// A text of a policy that may name another resource's attribute, as a queue's ARN.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Text(Vec<TemplatePart>);

impl Text {
    /// The attribute of another resource, and nothing else.
    pub(crate) fn of(address: &Address, attribute: &str) -> Self {
        let reference = Reference { address: address.clone(), path: Path::key(attribute) };
        Self(vec![TemplatePart::Reference(reference)])
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(vec![TemplatePart::Text(text.to_owned())])
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(vec![TemplatePart::Text(text)])
    }
}

/// The principal of a statement in a trust or resource policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Principal {
    /// Services of the cloud, by their names.
    Services(Vec<String>),
    /// The account, by its ARN: identities of the account whose own policies allow the actions, too.
    Account(String),
    /// Identities of an identity provider, by the provider's ARN.
    Federated(Text),
}

/// Operator, key and values of each condition; all of them must hold.
pub(crate) type Conditions = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// One statement. All effects are Allow, since no grant needs an exception.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Statement {
    /// For trust and resource policies.
    pub(crate) principal: Option<Principal>,
    /// As `ec2:DescribeInstances`.
    pub(crate) actions: BTreeSet<String>,
    /// ARNs; none in a trust policy.
    pub(crate) resources: Vec<Text>,
    /// The conditions of the statement.
    pub(crate) conditions: Conditions,
}

/// A policy document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Document {
    /// Its statements, in the order in which they are written.
    pub(crate) statements: Vec<Statement>,
}

impl Document {
    /// A document with one statement.
    pub(crate) fn of(statement: Statement) -> Self {
        Self { statements: vec![statement] }
    }

    /// Whether it grants nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.statements.is_empty()
    }

    /// Its JSON, indented, with keys in a fixed order; a template where it names attributes of other resources.
    pub(crate) fn to_value(&self) -> Value {
        let mut writer = Writer::default();
        writer.document(self);
        writer.finish()
    }
}

/// Writes JSON with references in it. Each reference is to an ARN, which needs no escapes.
#[derive(Default)]
struct Writer {
    parts: Vec<TemplatePart>,
    text: String,
}

impl Writer {
    fn document(&mut self, document: &Document) {
        self.text.push_str("{\n  \"Version\": ");
        self.string(VERSION);
        self.text.push_str(",\n  \"Statement\": [");
        for (index, statement) in document.statements.iter().enumerate() {
            self.text.push_str(if index == 0 { "\n" } else { ",\n" });
            self.statement(statement);
        }
        self.text.push_str("\n  ]\n}");
    }

    fn statement(&mut self, statement: &Statement) {
        self.text.push_str("    {\n      \"Effect\": \"Allow\"");
        match &statement.principal {
            Some(Principal::Services(services)) => {
                self.text.push_str(",\n      \"Principal\": {\n        \"Service\": ");
                self.one_or_many(8, services.iter().map(|service| Text::from(service.as_str())));
                self.text.push_str("\n      }");
            }
            Some(Principal::Account(account)) => {
                self.text.push_str(",\n      \"Principal\": {\n        \"AWS\": ");
                self.string(account);
                self.text.push_str("\n      }");
            }
            Some(Principal::Federated(provider)) => {
                self.text.push_str(",\n      \"Principal\": {\n        \"Federated\": ");
                self.templated(provider);
                self.text.push_str("\n      }");
            }
            None => {}
        }
        self.text.push_str(",\n      \"Action\": ");
        self.one_or_many(6, statement.actions.iter().map(|action| Text::from(action.as_str())));
        if !statement.resources.is_empty() {
            self.text.push_str(",\n      \"Resource\": ");
            self.one_or_many(6, statement.resources.iter().cloned());
        }
        if !statement.conditions.is_empty() {
            self.conditions(&statement.conditions);
        }
        self.text.push_str("\n    }");
    }

    fn conditions(&mut self, conditions: &Conditions) {
        self.text.push_str(",\n      \"Condition\": {");
        for (index, (operator, keys)) in conditions.iter().enumerate() {
            self.text.push_str(if index == 0 { "\n        " } else { ",\n        " });
            self.string(operator);
            self.text.push_str(": {");
            for (index, (key, values)) in keys.iter().enumerate() {
                self.text.push_str(if index == 0 { "\n          " } else { ",\n          " });
                self.string(key);
                self.text.push_str(": ");
                self.one_or_many(10, values.iter().map(|value| Text::from(value.as_str())));
            }
            self.text.push_str("\n        }");
        }
        self.text.push_str("\n      }");
    }

    /// IAM writes a list with one item as the item.
    fn one_or_many(&mut self, indent: usize, items: impl ExactSizeIterator<Item = Text>) {
        let single = items.len() == 1;
        let margin = " ".repeat(indent);
        if !single {
            self.text.push('[');
        }
        for (index, item) in items.enumerate() {
            if !single {
                self.text.push_str(if index == 0 { "\n" } else { ",\n" });
                self.text.push_str(&margin);
                self.text.push_str("  ");
            }
            self.templated(&item);
        }
        if !single {
            self.text.push('\n');
            self.text.push_str(&margin);
            self.text.push(']');
        }
    }

    fn templated(&mut self, text: &Text) {
        self.text.push('"');
        for part in &text.0 {
            match part {
                TemplatePart::Text(piece) => {
                    let quoted = serde_json::Value::from(piece.as_str()).to_string();
                    self.text.push_str(&quoted[1..quoted.len() - 1]);
                }
                TemplatePart::Reference(_) => {
                    self.parts.push(TemplatePart::Text(std::mem::take(&mut self.text)));
                    self.parts.push(part.clone());
                }
            }
        }
        self.text.push('"');
    }

    fn string(&mut self, text: &str) {
        self.templated(&Text::from(text));
    }

    fn finish(mut self) -> Value {
        if self.parts.is_empty() {
            return Value::String(self.text);
        }
        self.parts.push(TemplatePart::Text(self.text));
        Value::Template(self.parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement() -> Statement {
        Statement {
            principal: None,
            actions: ["ec2:CreateTags".to_owned(), "ec2:DeleteTags".to_owned()].into(),
            resources: vec!["*".into()],
            conditions: BTreeMap::from([(
                "StringEquals".to_owned(),
                BTreeMap::from([("aws:ResourceTag/a\"b".to_owned(), BTreeSet::from(["1".to_owned()]))]),
            )]),
        }
    }

    #[test]
    fn writes_json_that_reads_back() {
        let value = Document::of(statement()).to_value();
        let json: serde_json::Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
        let expected = serde_json::json!({
            "Version": "2012-10-17",
            "Statement": [{
                "Effect": "Allow",
                "Action": ["ec2:CreateTags", "ec2:DeleteTags"],
                "Resource": "*",
                "Condition": { "StringEquals": { "aws:ResourceTag/a\"b": "1" } },
            }],
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn names_other_resources() {
        let queue = Address::new("aws_sqs_queue", "events");
        let mut statement = statement();
        statement.principal = Some(Principal::Services(vec!["events.amazonaws.com".to_owned()]));
        statement.resources = vec![Text::of(&queue, "arn")];
        let value = Document::of(statement).to_value();
        let resolved = value.resolve(&mut |reference| {
            assert_eq!(reference.address, queue);
            Value::from("arn:aws:sqs:us-east-1:111111111111:events")
        });
        let json: serde_json::Value = serde_json::from_str(resolved.as_str().unwrap()).unwrap();
        assert_eq!(json["Statement"][0]["Resource"], "arn:aws:sqs:us-east-1:111111111111:events");
        assert_eq!(json["Statement"][0]["Principal"]["Service"], "events.amazonaws.com");
    }
}
