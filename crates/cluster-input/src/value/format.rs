use super::{AccessSource, Amount, Cidr, Duration, KubernetesVersion, PortRange, Quantity};

/// A text that does not have the form its field asks for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Malformed {
    /// What is wrong with the text, as the second half of a sentence: `has no unit`.
    pub message: String,
    /// How to write it, as a full phrase: `write a number with a unit, as in 15m`.
    pub hint: String,
}

impl Malformed {
    pub(crate) fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into() }
    }
}

/// The forms of text that JSON schemas of this crate name in `format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// An address range, [`Cidr`].
    Cidr,
    /// An IP address without a prefix length.
    Ip,
    /// A time span with units, [`Duration`].
    Duration,
    /// A Kubernetes resource quantity, [`Quantity`].
    Quantity,
    /// A Kubernetes release, [`KubernetesVersion`].
    KubernetesVersion,
    /// A count or a percentage, [`Amount`].
    Amount,
    /// A range of ports, [`PortRange`].
    PortRange,
    /// A range of addresses or a prefix list, [`AccessSource`].
    AccessSource,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 8] = [
        Self::Cidr,
        Self::Ip,
        Self::Duration,
        Self::Quantity,
        Self::KubernetesVersion,
        Self::Amount,
        Self::PortRange,
        Self::AccessSource,
    ];

    /// The name in a JSON schema.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cidr => "cidr",
            Self::Ip => "ip",
            Self::Duration => "duration-units",
            Self::Quantity => "quantity",
            Self::KubernetesVersion => "kubernetes-version",
            Self::Amount => "amount",
            Self::PortRange => "port-range",
            Self::AccessSource => "access-source",
        }
    }

    /// The format of a JSON schema's `format`; `None` for those this crate does not check.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// A text that has this form, for messages and templates.
    #[must_use]
    pub const fn example(self) -> &'static str {
        match self {
            Self::Cidr => "10.0.0.0/16",
            Self::Ip => "10.0.0.10",
            Self::Duration => "15m",
            Self::Quantity => "500Mi",
            Self::KubernetesVersion => "1.35.2",
            Self::Amount => "25%",
            Self::PortRange => "30000-32767",
            Self::AccessSource => "203.0.113.0/24",
        }
    }

    /// What the form is called in a message: `an address range`.
    #[must_use]
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Cidr => "an address range (CIDR)",
            Self::Ip => "an IP address",
            Self::Duration => "a duration",
            Self::Quantity => "a quantity",
            Self::KubernetesVersion => "a Kubernetes version",
            Self::Amount => "a count or a percentage",
            Self::PortRange => "a range of ports",
            Self::AccessSource => "an address range or a prefix list",
        }
    }

    /// Checks that `text` has this form.
    ///
    /// # Errors
    /// [`Malformed`] says what is wrong and how to write it.
    pub fn check(self, text: &str) -> Result<(), Malformed> {
        match self {
            Self::Cidr => text.parse::<Cidr>().map(drop),
            Self::Ip => text.parse::<std::net::IpAddr>().map(drop).map_err(|_| {
                let hint = if text.contains('/') {
                    "leave out the prefix length, as in 10.0.0.10"
                } else {
                    "write one address, as in 10.0.0.10 or fd00::10"
                };
                Malformed::new("is not an IP address", hint)
            }),
            Self::Duration => text.parse::<Duration>().map(drop),
            Self::Quantity => text.parse::<Quantity>().map(drop),
            Self::KubernetesVersion => text.parse::<KubernetesVersion>().map(drop),
            Self::Amount => text.parse::<Amount>().map(drop),
            Self::PortRange => text.parse::<PortRange>().map(drop),
            Self::AccessSource => text.parse::<AccessSource>().map(drop),
        }
    }
}

/// Implements serde (as the canonical string) and the JSON schema (a string with a `format`) for a value type.
macro_rules! string_value {
    ($type:ty, $format:expr, $name:literal, $description:literal) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                text.parse().map_err(|malformed: $crate::value::Malformed| {
                    serde::de::Error::custom(format_args!("{text:?} {malformed}"))
                })
            }
        }

        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let format = $format;
                schemars::json_schema!({
                    "type": "string",
                    "format": format.name(),
                    "description": $description,
                    "examples": [format.example()],
                })
            }
        }
    };
}
pub(crate) use string_value;
