//! The address of a cluster's API, and the resource that represents it.

use std::fmt;

use slipway_resource::provider::{PlanItem, Planned};
use slipway_resource::{Identity, ProviderError, Value};

use crate::manifest::invalid;

const SCHEME: &str = "https://";

/// The address at which a cluster's API is served. It is the identity of a resource of type `kubernetes_api`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiEndpoint {
    /// A DNS name or an IP address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl fmt::Display for ApiEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(formatter, "{SCHEME}[{host}]:{port}")
        } else {
            write!(formatter, "{SCHEME}{host}:{port}")
        }
    }
}

impl ApiEndpoint {
    /// The address in an identity of the type, as `https://api.example.com:443`; none in another text.
    #[must_use]
    pub fn of_identity(identity: &Identity) -> Option<Self> {
        let (host, port) = identity.as_str().strip_prefix(SCHEME)?.rsplit_once(':')?;
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        Some(Self { host: host.to_owned(), port: port.parse().ok()? })
    }

    /// The address in attributes whose values are all known.
    pub(crate) fn of_attributes(attributes: &Value) -> Result<Self, ProviderError> {
        let host = attributes.get("host").and_then(Value::as_str).unwrap_or_default();
        let port = attributes.get("port").and_then(Value::as_integer);
        if host.is_empty() || host.contains(['/', ' ', '[', ']']) {
            return Err(invalid(format!("host: `{host}` is neither a DNS name nor an IP address")));
        }
        let port = port.and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0);
        let port = port.ok_or_else(|| invalid("port: a port is a number from 1 to 65535"))?;
        Ok(Self { host: host.to_owned(), port })
    }

    pub(crate) fn identity(&self) -> Identity {
        Identity::new(self.to_string())
    }

    pub(crate) fn attributes(&self) -> Value {
        Value::map([("host", Value::from(self.host.as_str())), ("port", i64::from(self.port).into())])
    }
}

/// Plans a change of the resource. Its address is its only attribute.
pub(crate) fn plan(item: &PlanItem) -> Result<Planned, ProviderError> {
    let Some(desired) = &item.desired else { return Ok(Planned::default()) };
    let normalised = desired.resolve(&mut |_| Value::Unknown);
    if normalised.is_known() {
        ApiEndpoint::of_attributes(&normalised)?;
    }
    Ok(Planned { normalised, ..Planned::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_the_address() {
        for (host, port, identity) in [
            ("api.example.com", 443, "https://api.example.com:443"),
            ("10.0.0.1", 6443, "https://10.0.0.1:6443"),
            ("fd00::1", 443, "https://[fd00::1]:443"),
        ] {
            let endpoint = ApiEndpoint { host: host.to_owned(), port };
            assert_eq!(endpoint.identity().as_str(), identity);
            assert_eq!(ApiEndpoint::of_identity(&endpoint.identity()), Some(endpoint.clone()));
            assert_eq!(ApiEndpoint::of_attributes(&endpoint.attributes()), Ok(endpoint));
        }
        for other in ["", "api.example.com:443", "https://api.example.com", "https://api.example.com:port"] {
            assert_eq!(ApiEndpoint::of_identity(&Identity::new(other)), None, "{other}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (host, port) in [("", 443), ("https://a", 443), ("a", 0), ("a", 65_536)] {
            let attributes = Value::map([("host", Value::from(host)), ("port", i64::from(port).into())]);
            assert!(ApiEndpoint::of_attributes(&attributes).is_err(), "{host}:{port}");
        }
    }
}
