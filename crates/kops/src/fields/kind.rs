use slipway_spec::{
    value::{Amount, Quantity},
    yaml::{Node, Value},
};

/// The type of a leaf field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// A text.
    Text,
    /// A boolean.
    Bool,
    /// A whole number between these two, both included.
    Integer(i64, i64),
    /// A Kubernetes quantity, as a text or a number.
    Quantity,
    /// A Go duration, as in `1h30m`.
    Duration,
    /// A whole number or a text.
    IntOrString,
    /// A list of texts.
    Texts,
    /// A mapping of texts.
    TextMap,
    /// A mapping of booleans.
    BoolMap,
    /// A mapping of lists of texts.
    TextsMap,
    /// A mapping without fields that have a name.
    Object,
    /// Anything.
    Any,
    /// A type that this crate does not know: a mistake in the table.
    Unknown,
}

impl Type {
    /// The type with this name in the table.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        match name {
            "string" => Self::Text,
            "bool" => Self::Bool,
            "int" | "int64" => Self::Integer(i64::MIN, i64::MAX),
            "int32" => Self::Integer(i64::from(i32::MIN), i64::from(i32::MAX)),
            "int16" => Self::Integer(i64::from(i16::MIN), i64::from(i16::MAX)),
            "uint32" => Self::Integer(0, i64::from(u32::MAX)),
            "uint8" => Self::Integer(0, i64::from(u8::MAX)),
            "quantity" => Self::Quantity,
            "duration" => Self::Duration,
            "int-or-string" => Self::IntOrString,
            "[]string" => Self::Texts,
            "map[string]string" => Self::TextMap,
            "map[string]bool" => Self::BoolMap,
            "map[string]slice" => Self::TextsMap,
            "object" => Self::Object,
            "any" => Self::Any,
            _ => Self::Unknown,
        }
    }

    /// Its name in messages.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Bool => "a boolean",
            Self::Integer(..) => "a whole number",
            Self::Quantity => "a quantity",
            Self::Duration => "a duration",
            Self::IntOrString => "a number or a text",
            Self::Texts => "a list of texts",
            Self::TextMap => "a mapping of texts",
            Self::BoolMap => "a mapping of booleans",
            Self::TextsMap => "a mapping of lists of texts",
            Self::Object => "a mapping",
            Self::Any | Self::Unknown => "a value",
        }
    }

    /// The type of the values of a list or mapping; `None` for everything else.
    #[must_use]
    pub const fn inner(self) -> Option<Self> {
        match self {
            Self::Texts | Self::TextMap => Some(Self::Text),
            Self::BoolMap => Some(Self::Bool),
            Self::TextsMap => Some(Self::Texts),
            _ => None,
        }
    }

    /// Whether a value has this type, its items and values aside. No value at all fits every type, as in Go.
    #[must_use]
    pub fn fits(self, node: &Node) -> bool {
        match (&node.value, self) {
            (Value::Null, _)
            | (_, Self::Any | Self::Unknown)
            | (Value::Text(_), Self::Text | Self::Duration | Self::IntOrString)
            | (Value::Bool(_), Self::Bool)
            | (Value::Sequence(_), Self::Texts)
            | (Value::Mapping(_), Self::TextMap | Self::BoolMap | Self::TextsMap | Self::Object) => true,
            (Value::Number(number), Self::Integer(..) | Self::IntOrString) => number.is_i64(),
            (Value::Number(_) | Value::Text(_), Self::Quantity) => true,
            _ => false,
        }
    }

    /// Why a value of this type is malformed, with the way out; `None` when it is not.
    #[must_use]
    pub fn malformed(self, node: &Node) -> Option<(String, String)> {
        match (self, &node.value) {
            (Self::Quantity, Value::Text(text)) => {
                let malformed = text.parse::<Quantity>().err()?;
                Some((malformed.message, malformed.hint))
            }
            (Self::Duration, Value::Text(text)) if super::super::values::go_duration(text).is_none() => {
                Some((
                    "is not a duration".to_owned(),
                    "write numbers with the units h, m, s or ms, as in 15m or 1h30m".to_owned(),
                ))
            }
            (Self::Integer(least, most), Value::Number(number)) => {
                let number = number.as_i64()?;
                (number < least || number > most).then(|| {
                    ("is out of bounds".to_owned(), format!("write a whole number of {least} to {most}"))
                })
            }
            (Self::IntOrString, Value::Number(number)) => {
                number.to_string().parse::<Amount>().err().and_then(|_| {
                    number.as_i64().filter(|number| *number < 0).map(|_| {
                        ("is negative".to_owned(), "write a number of 0 or more, or a text".to_owned())
                    })
                })
            }
            _ => None,
        }
    }
}
