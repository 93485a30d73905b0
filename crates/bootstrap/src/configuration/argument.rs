use serde::{Deserialize, Serialize};

/// One flag of a component's command line, without its leading hyphens. A name may occur several times in a
/// list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Argument {
    /// The flag's name.
    pub name: String,
    /// Its value; may be empty.
    pub value: String,
}

impl Argument {
    /// A flag with this name and value.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }
}

/// The value of the last flag with this name: the one that wins on a command line.
#[must_use]
pub fn argument_value<'a>(arguments: &'a [Argument], name: &str) -> Option<&'a str> {
    arguments.iter().rev().find(|argument| argument.name == name).map(|argument| argument.value.as_str())
}

/// Adds those of the flags that are not set, in their order.
pub fn set_missing(arguments: &mut Vec<Argument>, flags: Vec<(&str, String)>) {
    for (name, value) in flags {
        if argument_value(arguments, name).is_none() {
            arguments.push(Argument::new(name, value));
        }
    }
}
