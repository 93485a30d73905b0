//! The addresses of a machine's surroundings, above all where clouds give out the credentials of machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::network::plain;

/// The services of clouds for their own machines that are not at a link-local address. The sources are the clouds' manuals.
const SERVICES_V4: [Ipv4Addr; 3] = [
    // Azure, "What is IP address 168.63.129.16?": the platform's channel, which gives out certificates and settings.
    Ipv4Addr::new(168, 63, 129, 16),
    // Alibaba Cloud, "View instance metadata".
    Ipv4Addr::new(100, 100, 100, 200),
    // Oracle Cloud Infrastructure Classic, "Retrieving Instance Metadata".
    Ipv4Addr::new(192, 0, 0, 192),
];

/// The same over IPv6: the beginning of the addresses, and how many bits it has.
const SERVICES_V6: [(Ipv6Addr, u32); 4] = [
    // AWS, "Use the Instance Metadata Service" (`fd00:ec2::254`) and "EKS Pod Identity" (`fd00:ec2::23`).
    (Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0), 32),
    // Google Cloud, "About VM metadata".
    (Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x254), 128),
    // Oracle Cloud Infrastructure, "Instance Metadata Service v2".
    (Ipv6Addr::new(0xfd00, 0x00c1, 0, 0, 0, 0, 0xa9fe, 0xa9fe), 128),
    // Scaleway, "Using the metadata API".
    (Ipv6Addr::new(0xfd00, 0x0042, 0, 0, 0, 0, 0, 0x42), 128),
];

/// Whether an address is one of a machine's surroundings rather than of a server: link-local or another one where clouds give
/// out the credentials of machines, unspecified, broadcast or multicast. An IPv6 address that routers or systems translate
/// into an IPv4 one counts as this one too.
#[must_use]
pub fn is_reserved(address: IpAddr) -> bool {
    forms(address).into_iter().any(|form| match form {
        IpAddr::V4(address) => {
            address.is_link_local()
                || address.is_unspecified()
                || address.is_multicast()
                || address == Ipv4Addr::BROADCAST
                || address.octets()[0] == 0
                || SERVICES_V4.contains(&address)
        }
        IpAddr::V6(address) => {
            let in_range = |(first, bits): &(Ipv6Addr, u32)| {
                let other = 128 - bits;
                address.to_bits().checked_shr(other) == first.to_bits().checked_shr(other)
            };
            address.is_unicast_link_local()
                || address.is_unspecified()
                || address.is_multicast()
                || SERVICES_V6.iter().any(in_range)
        }
    })
}

/// Whether an address leads to this machine.
pub(crate) fn is_loopback(address: IpAddr) -> bool {
    forms(address).into_iter().any(|form| form.is_loopback())
}

/// An address, and the IPv4 addresses that are written in it.
fn forms(address: IpAddr) -> Vec<IpAddr> {
    let mut forms = vec![plain(address)];
    if let IpAddr::V6(address) = plain(address) {
        forms.extend(embedded(address).into_iter().map(IpAddr::V4));
    }
    forms
}

/// The IPv4 addresses that an IPv6 address may be translated into.
fn embedded(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    if address.is_loopback() || address.is_unspecified() {
        return Vec::new();
    }
    let bits = address.to_bits();
    // The 32 bits that begin after so many.
    let after =
        |count: u32| Ipv4Addr::from(u32::try_from((bits >> (96 - count)) & 0xffff_ffff).unwrap_or_default());
    // Bits 64 to 71 of a translated address are zero, and no part of the IPv4 address (RFC 6052).
    let split = |prefix: u32| {
        let high = prefix - 32;
        let rest = 32 - (64 - prefix);
        let first = (bits >> 64) & ((1 << (32 - high)) - 1);
        let second = (bits >> (56 - rest)) & ((1 << rest) - 1);
        Ipv4Addr::from(u32::try_from((first << rest) | second).unwrap_or_default())
    };
    match address.segments() {
        // IPv4-compatible (RFC 4291), and translated by SIIT (RFC 2765).
        [0, 0, 0, 0, 0, 0, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => vec![after(96)],
        // NAT64 with the well-known prefix (RFC 6052).
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => vec![after(96)],
        // NAT64 of a network (RFC 8215), whose prefix may have any of these lengths.
        [0x64, 0xff9b, 1, ..] => {
            let guessed = [split(48), split(56), split(64), after(96)];
            guessed.into_iter().filter(|address| address.octets()[0] != 0).collect()
        }
        // 6to4 (RFC 3056).
        [0x2002, ..] => vec![after(16)],
        // Teredo (RFC 4380): the server, and the client with all bits turned over.
        [0x2001, 0, ..] => vec![after(32), Ipv4Addr::from(!after(96).to_bits())],
        // ISATAP (RFC 5214).
        [_, _, _, _, 0 | 0x200, 0x5efe, ..] => vec![after(96)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_services_of_clouds_are_seen_in_every_form() {
        for text in [
            "169.254.169.254",
            "168.63.129.16",
            "100.100.100.200",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
            "::ffff:168.63.129.16",
            "::169.254.169.254",
            "::ffff:0:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b::168.63.129.16",
            "64:ff9b:1::a9fe:a9fe",
            "64:ff9b:1:a9fe:a9:fe00::",
            "64:ff9b:1:a9:fe:a9fe::",
            "64:ff9b:1:0:a9:fea9:fe00:0",
            "2002:a9fe:a9fe::1",
            "2002:6464:64c8::",
            "2001:0:a9fe:a9fe::1",
            "2001:0:c000:201::5601:5601",
            "2001:db8::5efe:a9fe:a9fe",
            "2001:db8::200:5efe:a83f:8110",
            "::",
            "ff02::1",
        ] {
            let address: IpAddr = text.parse().unwrap();
            assert!(is_reserved(address), "{text}");
        }
        for text in [
            "168.63.129.17",
            "100.100.100.201",
            "192.0.0.191",
            "10.0.0.1",
            "127.0.0.1",
            "::1",
            "fd20:ce::253",
            "fd00:ec3::254",
            "64:ff9b::cb00:7107",
            "64:ff9b:1::cb00:7107:0:1",
            "2002:cb00:7107::a9fe:a9fe",
            "2001:db8::a9fe:a9fe",
            "2600:1f18::a9fe:a9fe",
        ] {
            assert!(!is_reserved(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn this_machine_is_seen_in_every_form() {
        for text in
            ["127.0.0.1", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"]
        {
            assert!(is_loopback(text.parse().unwrap()), "{text}");
        }
        for text in ["10.0.0.1", "2001:db8::1", "64:ff9b::cb00:7107"] {
            assert!(!is_loopback(text.parse().unwrap()), "{text}");
        }
    }
}
