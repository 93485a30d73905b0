//! Endpoints as text.

use std::net::IpAddr;

use crate::api::Endpoint;

/// The port of an API server when nothing names one.
pub const DEFAULT_PORT: i32 = 6443;

impl Endpoint {
    /// Whether it names a host and a port.
    #[must_use]
    pub fn is_given(&self) -> bool {
        !self.host.is_empty() && self.port > 0
    }

    /// `host:port`, with an IPv6 address in brackets.
    #[must_use]
    pub fn authority(&self) -> String {
        match self.host.parse() {
            Ok(IpAddr::V6(address)) => format!("[{address}]:{}", self.port),
            _ => format!("{}:{}", self.host, self.port),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_address_is_in_brackets() {
        let of = |host: &str| Endpoint { host: host.to_owned(), port: 6443 }.authority();
        assert_eq!(of("fd00::1"), "[fd00::1]:6443");
        assert_eq!(of("10.0.0.1"), "10.0.0.1:6443");
        assert_eq!(of("api.example.com"), "api.example.com:6443");
        assert!(!Endpoint { host: "a".to_owned(), port: 0 }.is_given() && !Endpoint::default().is_given());
    }
}
