use std::{
    collections::BTreeSet,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

use der::{Decode, Encode, Tag, TagNumber, asn1::Any};

use super::error::{Result, malformed};

const DNS: TagNumber = TagNumber(2);
const IP: TagNumber = TagNumber(7);

/// The names and addresses by which a server is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AlternativeNames {
    /// DNS names, perhaps with `*` as the first label.
    pub dns: Vec<String>,
    /// IP addresses.
    pub ip: Vec<IpAddr>,
}

impl AlternativeNames {
    /// Names from texts that are either addresses or DNS names.
    pub fn of<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Self {
        let mut names = Self::default();
        for text in texts {
            names.add(text.as_ref());
        }
        names
    }

    /// Adds a text that is either an address or a DNS name.
    pub fn add(&mut self, text: &str) {
        match text.parse() {
            Ok(address) => self.ip.push(address),
            Err(_) => self.dns.push(text.to_owned()),
        }
    }

    /// The form in which they are written: DNS names sorted, each name and address once.
    #[must_use]
    pub fn normalised(&self) -> Self {
        let dns: BTreeSet<&String> = self.dns.iter().collect();
        let mut ip: Vec<IpAddr> = Vec::new();
        for address in &self.ip {
            let address = address.to_canonical();
            if !ip.contains(&address) {
                ip.push(address);
            }
        }
        Self { dns: dns.into_iter().cloned().collect(), ip }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.dns.is_empty() && self.ip.is_empty()
    }

    /// Whether a client that asks for `host`, a DNS name or an address, is served: DNS names without regard to case,
    /// `*` for one whole first label (RFC 6125).
    #[must_use]
    pub fn cover(&self, host: &str) -> bool {
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        if let Ok(address) = host.parse::<IpAddr>() {
            return self.ip.iter().any(|own| own.to_canonical() == address.to_canonical());
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        self.dns.iter().any(|own| {
            let own = own.to_ascii_lowercase();
            own == host
                || own.strip_prefix("*.").is_some_and(|parent| {
                    host.split_once('.').is_some_and(|(first, rest)| !first.is_empty() && rest == parent)
                })
        })
    }

    pub(super) fn to_der(&self) -> der::Result<Vec<u8>> {
        let context =
            |number, bytes: &[u8]| Any::new(Tag::ContextSpecific { constructed: false, number }, bytes);
        let mut parts = Vec::new();
        for name in &self.dns {
            parts.push(context(DNS, name.as_bytes())?);
        }
        for address in &self.ip {
            parts.push(match address.to_canonical() {
                IpAddr::V4(address) => context(IP, &address.octets())?,
                IpAddr::V6(address) => context(IP, &address.octets())?,
            });
        }
        parts.to_der()
    }

    /// The names, and whether there are others beside them: of mail, URIs, directories.
    pub(super) fn with_others(bytes: &[u8]) -> Result<(Self, bool)> {
        let parts: Vec<Any> = Vec::from_der(bytes).map_err(malformed("list of alternative names"))?;
        let mut names = Self::default();
        let mut others = false;
        for part in &parts {
            let Tag::ContextSpecific { number, .. } = der::Tagged::tag(part) else {
                others = true;
                continue;
            };
            if number == DNS {
                names.dns.push(String::from_utf8_lossy(part.value()).into_owned());
            } else if number == IP {
                if let Ok(octets) = <[u8; 4]>::try_from(part.value()) {
                    names.ip.push(Ipv4Addr::from(octets).into());
                } else if let Ok(octets) = <[u8; 16]>::try_from(part.value()) {
                    names.ip.push(Ipv6Addr::from(octets).into());
                } else {
                    others = true;
                }
            } else {
                others = true;
            }
        }
        Ok((names, others))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn are_sorted_and_unique_and_read_back() {
        let names = AlternativeNames::of(["b.test", "10.0.0.1", "a.test", "b.test", "::1", "10.0.0.1"]);
        let names = names.normalised();
        assert_eq!(names.dns, ["a.test", "b.test"]);
        assert_eq!(names.ip.len(), 2);
        assert_eq!(AlternativeNames::with_others(&names.to_der().unwrap()).unwrap(), (names, false));
    }

    #[test]
    fn cover_hosts_as_tls_clients_do() {
        let names = AlternativeNames::of(["*.example.test", "Api.test", "fd00::1"]);
        for host in ["a.example.test", "api.TEST", "fd00:0::1", "[fd00::1]", "api.test."] {
            assert!(names.cover(host), "{host}");
        }
        for host in ["example.test", "a.b.example.test", ".example.test", "fd00::2", "10.0.0.1"] {
            assert!(!names.cover(host), "{host}");
        }
    }
}
