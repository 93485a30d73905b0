use std::{fmt, net::IpAddr, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A host, perhaps with a port, kept as it was written: `api.example.test:6443`, `10.0.0.1`, `[fd00::1]:6443`, `fd00::1`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    written: String,
    host: String,
    port: Option<u16>,
}

/// A text that is no endpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EndpointError {
    /// The part after the colon is not a port.
    #[error(
        "{endpoint:?}: {port:?} is not a port: write a number of 1 to 65535, as in api.example.test:6443"
    )]
    Port {
        /// The whole text.
        endpoint: String,
        /// The part that should be a port.
        port: String,
    },
    /// The host is neither an IP address nor a DNS name.
    #[error(
        "{endpoint:?}: {host:?} is neither an IP address nor a DNS name: write a host without a scheme, and a port behind a colon, as in api.example.test:6443"
    )]
    Host {
        /// The whole text.
        endpoint: String,
        /// The part that should be a host.
        host: String,
    },
}

impl Endpoint {
    /// The host without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, where one is written.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        self.port
    }

    /// The text as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The host as an address, when it is one.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok()
    }
}

impl From<&LocalEndpoint> for Endpoint {
    fn from(endpoint: &LocalEndpoint) -> Self {
        let port = Some(endpoint.port);
        Self { written: endpoint.to_string(), host: endpoint.host.clone(), port }
    }
}

impl FromStr for Endpoint {
    type Err = EndpointError;

    fn from_str(text: &str) -> Result<Self, EndpointError> {
        let (host, port) = split(text).unwrap_or((text, ""));
        let parsed = match port {
            "" => None,
            port => match port.parse::<u16>() {
                Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => Some(number),
                _ => return Err(EndpointError::Port { endpoint: text.to_owned(), port: port.to_owned() }),
            },
        };
        if host.parse::<IpAddr>().is_err() && !is_dns_name(host) {
            return Err(EndpointError::Host { endpoint: text.to_owned(), host: host.to_owned() });
        }
        Ok(Self { written: text.to_owned(), host: host.to_owned(), port: parsed })
    }
}

/// `host:port` or `[host]:port` in its two parts; `None` when it has no port, and all of it is a host.
fn split(text: &str) -> Option<(&str, &str)> {
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split_once("]:");
    }
    let (host, port) = text.split_once(':')?;
    (!port.contains(':')).then_some((host, port))
}

/// Whether a text is a DNS name as Kubernetes has it: an RFC 1123 subdomain in lower case.
#[must_use]
pub(crate) fn is_dns_name(text: &str) -> bool {
    let label = |label: &str| {
        let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        !label.is_empty()
            && label.bytes().all(|byte| inside(byte) || byte == b'-')
            && label.bytes().next().is_some_and(inside)
            && label.bytes().last().is_some_and(inside)
    };
    text.len() <= 253 && text.split('.').all(label)
}

impl fmt::Display for Endpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.written)
    }
}

impl Serialize for Endpoint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written)
    }
}

impl<'de> Deserialize<'de> for Endpoint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// A host with a port, both known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LocalEndpoint {
    /// A DNS name or an IP address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
}

impl LocalEndpoint {
    /// The URL `https://<host>:<port>`, an IPv6 address in brackets.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://{self}")
    }
}

impl fmt::Display for LocalEndpoint {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(formatter, "[{}]:{}", self.host, self.port)
        } else {
            write!(formatter, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hosts_with_and_without_ports() {
        for (text, host, port) in [
            ("api.example.test:6443", "api.example.test", Some(6443)),
            ("api.example.test", "api.example.test", None),
            ("10.0.0.1:443", "10.0.0.1", Some(443)),
            ("[fd00::1]:6443", "fd00::1", Some(6443)),
            ("fd00::1", "fd00::1", None),
        ] {
            let endpoint: Endpoint = text.parse().unwrap();
            assert_eq!((endpoint.host(), endpoint.port(), endpoint.as_str()), (host, port, text));
        }
    }

    #[test]
    fn refuses_what_kubeadm_refuses() {
        for text in ["https://api:6443", "api:0", "api:70000", "api:http", "Api", "a_b", "", "[fd00::1]"] {
            assert!(text.parse::<Endpoint>().is_err(), "{text}");
        }
    }

    #[test]
    fn urls_put_ipv6_in_brackets() {
        let endpoint = LocalEndpoint { host: "fd00::1".to_owned(), port: 6443 };
        assert_eq!(endpoint.url(), "https://[fd00::1]:6443");
    }
}
