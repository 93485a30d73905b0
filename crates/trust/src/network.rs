//! Addresses and URLs.

use std::net::{IpAddr, Ipv4Addr};

use ipnet::IpNet;

use crate::Reach;

/// A URL that the policy has granted. Only [`crate::Policy`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedUrl {
    url: String,
    reach: Reach,
}

impl TrustedUrl {
    pub(crate) fn new(url: &str, reach: Reach) -> Self {
        Self { url: url.to_owned(), reach }
    }

    /// The URL.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// Where its server may be.
    #[must_use]
    pub fn reach(&self) -> &Reach {
        &self.reach
    }
}

/// An IPv4 address that is written as an IPv6 one, as IPv4.
pub(crate) fn plain(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// The host of a URL, and whether it is reached over TLS.
pub(crate) fn host_of(url: &str) -> Option<(String, bool)> {
    let (secure, rest) = match url.split_once("://")? {
        ("https", rest) => (true, rest),
        ("http", rest) => (false, rest),
        _ => return None,
    };
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    // A user in a URL hides where it leads.
    if authority.contains('@') {
        return None;
    }
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.0,
        None => authority.rsplit_once(':').map_or(authority, |(host, _)| host),
    };
    (!host.is_empty()).then(|| (host.trim_end_matches('.').to_lowercase(), secure))
}

/// The address that a host's name is, also in the forms that resolvers take for one: `127.1`, `0x7f000001`, `2130706433`.
pub(crate) fn address_of(host: &str) -> Option<IpAddr> {
    let host = host.trim_matches(['[', ']']);
    let host = host.split('%').next().unwrap_or(host);
    if let Ok(address) = host.parse() {
        return Some(address);
    }
    let number = |text: &str| -> Option<u32> {
        if text.is_empty() {
            return None;
        }
        if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            return if digits.is_empty() { Some(0) } else { u32::from_str_radix(digits, 16).ok() };
        }
        match text.strip_prefix('0') {
            Some(digits) if !digits.is_empty() => u32::from_str_radix(digits, 8).ok(),
            _ => text.parse().ok(),
        }
    };
    let parts: Vec<u32> = host.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = parts.split_last()?;
    let room = 8 * (4_u32.checked_sub(u32::try_from(first.len()).ok()?)?);
    if first.iter().any(|part| *part > 255) || (room < 32 && *last >= 1 << room) {
        return None;
    }
    let high = first
        .iter()
        .enumerate()
        .fold(0_u32, |sum, (index, part)| sum | part << (24 - 8 * u32::try_from(index).unwrap_or(0)));
    Some(Ipv4Addr::from(high | last).into())
}

/// Whether a host is this machine.
pub(crate) fn is_here(host: &str) -> bool {
    host == "localhost"
        || host.ends_with(".localhost")
        || address_of(host).is_some_and(|address| plain(address).is_loopback())
}

/// Whether an address or a name is one of some networks and names.
pub(crate) fn is_in(host: &str, networks: &[String]) -> bool {
    let address = address_of(host).map(plain);
    networks.iter().any(|network| match (network.parse::<IpNet>(), network.parse::<IpAddr>(), address) {
        (Ok(range), _, Some(address)) => range.contains(&address),
        (_, Ok(one), Some(address)) => plain(one) == address,
        (Ok(_), ..) | (_, Ok(_), _) | (.., Some(_)) => false,
        (Err(_), Err(_), None) => match network.strip_prefix('*') {
            Some(end) => host.to_lowercase().ends_with(&end.to_lowercase()),
            None => network.eq_ignore_ascii_case(host),
        },
    })
}

/// Whether a URL is one of those that are allowed, or below it: `https://a/b` allows `https://a/b` and `https://a/b/c`.
pub(crate) fn is_below(url: &str, allowed: &[String]) -> bool {
    // Dots may climb out of what is allowed.
    if url.contains("/../")
        || url.ends_with("/..")
        || url.to_lowercase().contains("%2e")
        || url.contains('\\')
    {
        return false;
    }
    allowed.iter().any(|allowed| {
        let allowed = allowed.trim_end_matches('/');
        match url.strip_prefix(allowed) {
            Some(rest) => rest.is_empty() || rest.starts_with(['/', '?']),
            None => false,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::is_reserved;

    #[test]
    fn every_way_to_write_the_metadata_service_is_seen() {
        for host in [
            "169.254.169.254",
            "0xa9fea9fe",
            "2852039166",
            "169.254.43518",
            "0251.0376.0251.0376",
            "::ffff:169.254.169.254",
            "fe80::1%eth0",
            "fd00:ec2::254",
            "0.0.0.0",
            "0",
        ] {
            let address = address_of(host).unwrap_or_else(|| panic!("{host}"));
            assert!(is_reserved(address), "{host}: {address}");
        }
        for host in ["10.0.0.1", "203.0.113.7", "2001:db8::1"] {
            assert!(!is_reserved(address_of(host).unwrap()), "{host}");
        }
        for name in ["a.example.com", "1.2.3.4.5", "300.1.1.1.", "", "12a"] {
            assert_eq!(address_of(name), None, "{name}");
        }
        assert!(is_here("127.1") && is_here("localhost") && is_here("::1") && !is_here("10.0.0.1"));
    }

    #[test]
    fn a_url_s_host_is_what_a_client_would_ask() {
        let host = |url| host_of(url).map(|(host, _)| host);
        assert_eq!(host("https://A.test:8443/x").as_deref(), Some("a.test"));
        assert_eq!(host("http://[2001:db8::1]:80").as_deref(), Some("2001:db8::1"));
        for bad in ["https://good.test@evil.test/", "file:///etc/passwd", "https://", "a.test"] {
            assert_eq!(host(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_allowed_is_a_range_a_name_or_a_folder() {
        let networks = ["10.0.0.0/8".to_owned(), "*.example.com".to_owned(), "192.0.2.1".to_owned()];
        for good in ["10.1.2.3", "a.example.com", "192.0.2.1", "::ffff:10.0.0.1"] {
            assert!(is_in(good, &networks), "{good}");
        }
        for bad in ["11.0.0.1", "example.com", "a.example.com.evil.test", "192.0.2.2"] {
            assert!(!is_in(bad, &networks), "{bad}");
        }
        let urls = ["https://a.test/m/".to_owned()];
        assert!(is_below("https://a.test/m/x.yaml", &urls) && is_below("https://a.test/m", &urls));
        for bad in [
            "https://a.test/mine",
            "https://a.test.evil/m/",
            "https://a.test/m/../x",
            "https://a.test/m/%2e%2e/x",
        ] {
            assert!(!is_below(bad, &urls), "{bad}");
        }
    }
}
