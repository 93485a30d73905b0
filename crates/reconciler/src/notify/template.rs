//! Texts with named fields, and nothing else.

/// The fields that a text can name.
const FIELDS: [&str; 11] = [
    "cluster",
    "reason",
    "message",
    "code",
    "hint",
    "controller",
    "source",
    "path",
    "revision",
    "plan",
    "changes",
];

/// A text with named fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(&'static str),
}

impl Template {
    /// Parses a text. `{name}` is a field, `{{` and `}}` are braces.
    ///
    /// # Errors
    /// Why it is no template, in a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (mut parts, mut plain) = (Vec::new(), String::new());
        let mut rest = text;
        while let Some(at) = rest.find(['{', '}']) {
            let (before, tail) = rest.split_at(at);
            plain.push_str(before);
            if let Some(after) = tail.strip_prefix("{{") {
                plain.push('{');
                rest = after;
            } else if let Some(after) = tail.strip_prefix("}}") {
                plain.push('}');
                rest = after;
            } else {
                let field = tail.strip_prefix('{').and_then(|inner| inner.split_once('}'));
                let Some((name, after)) = field else {
                    return Err("`template` has a single brace; write it twice".to_owned());
                };
                let Some(field) = FIELDS.iter().find(|known| **known == name) else {
                    return Err(format!(
                        "`template` has the field `{name}`; known are {}",
                        FIELDS.join(", ")
                    ));
                };
                parts.push(Part::Text(std::mem::take(&mut plain)));
                parts.push(Part::Field(field));
                rest = after;
            }
        }
        plain.push_str(rest);
        parts.push(Part::Text(plain));
        Ok(Self(parts))
    }

    /// The text, with the values of the fields. Braces in a value mean nothing.
    pub fn render(&self, value: impl Fn(&str) -> String) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Field(name) => value(name),
        };
        self.0.iter().map(part).collect()
    }
}
