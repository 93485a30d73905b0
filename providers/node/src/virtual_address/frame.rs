//! Frames that tell the network which machine has an address.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The hardware address of an interface of Ethernet.
pub(super) type Hardware = [u8; 6];

const BROADCAST: Hardware = [0xff; 6];

/// The hardware address of all IPv6 nodes of a network, ff02::1 (RFC 2464, 7).
const ALL_NODES: Hardware = [0x33, 0x33, 0, 0, 0, 1];

/// The shortest frame of Ethernet, without its check sequence.
const SHORTEST: usize = 60;

/// The frames that announce an address: gratuitous ARP as a request and as a reply, since some hosts take only one of them, or an
/// unsolicited neighbour advertisement.
pub(super) fn announcements(address: IpAddr, hardware: Hardware) -> Vec<Vec<u8>> {
    match address {
        IpAddr::V4(address) => [1, 2].map(|operation| arp(operation, address, hardware)).into(),
        IpAddr::V6(address) => vec![advertisement(address, hardware)],
    }
}

/// A packet of ARP whose sender and target are the same address (RFC 5227, 3).
fn arp(operation: u8, address: Ipv4Addr, hardware: Hardware) -> Vec<u8> {
    let mut frame = ethernet(BROADCAST, hardware, 0x0806);
    // Ethernet with addresses of 6 bytes, IPv4 with addresses of 4.
    frame.extend([0, 1, 0x08, 0, 6, 4, 0, operation]);
    frame.extend(hardware);
    frame.extend(address.octets());
    frame.extend(BROADCAST);
    frame.extend(address.octets());
    frame.resize(SHORTEST, 0);
    frame
}

/// An unsolicited neighbour advertisement that replaces what others have cached (RFC 4861, 4.4 and 7.2.6).
fn advertisement(address: Ipv6Addr, hardware: Hardware) -> Vec<u8> {
    const ALL: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    // Type 136, the flag `override`, the target, and its hardware address as option 2.
    let mut message = vec![136, 0, 0, 0, 0x20, 0, 0, 0];
    message.extend(address.octets());
    message.extend([2, 1]);
    message.extend(hardware);
    let [high, low] = checksum(address, ALL, &message).to_be_bytes();
    if let Some(place) = message.get_mut(2..4) {
        place.copy_from_slice(&[high, low]);
    }
    let mut frame = ethernet(ALL_NODES, hardware, 0x86dd);
    // Version 6, a payload of 32 bytes of ICMPv6, and the hop limit that receivers demand.
    frame.extend([0x60, 0, 0, 0, 0, 32, 58, 255]);
    frame.extend(address.octets());
    frame.extend(ALL.octets());
    frame.extend(message);
    frame
}

fn ethernet(to: Hardware, from: Hardware, protocol: u16) -> Vec<u8> {
    let mut frame = Vec::with_capacity(96);
    frame.extend(to);
    frame.extend(from);
    frame.extend(protocol.to_be_bytes());
    frame
}

/// The checksum of a message of ICMPv6 whose own checksum is zero (RFC 8200, 8.1).
fn checksum(from: Ipv6Addr, to: Ipv6Addr, message: &[u8]) -> u16 {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut summed = Vec::with_capacity(40 + message.len());
    summed.extend(from.octets());
    summed.extend(to.octets());
    summed.extend(length.to_be_bytes());
    summed.extend([0, 0, 0, 58]);
    summed.extend(message);
    let words = summed.chunks(2).map(|pair| match pair {
        [high, low] => u32::from(u16::from_be_bytes([*high, *low])),
        [high] => u32::from(*high) << 8,
        _ => 0,
    });
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from(sum).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HARDWARE: Hardware = [0x02, 0, 0, 0, 0, 0x0a];

    #[test]
    fn gratuitous_arp_is_a_request_and_a_reply() {
        let frames = announcements("192.0.2.40".parse().unwrap(), HARDWARE);
        let mut wanted = vec![0xff; 6];
        wanted.extend(HARDWARE);
        wanted.extend([0x08, 0x06, 0, 1, 0x08, 0, 6, 4, 0, 1]);
        wanted.extend(HARDWARE);
        wanted.extend([192, 0, 2, 40]);
        wanted.extend([0xff; 6]);
        wanted.extend([192, 0, 2, 40]);
        wanted.resize(60, 0);
        assert_eq!(frames[0], wanted);
        wanted[21] = 2;
        assert_eq!(frames[1], wanted);
        assert_eq!(frames.len(), 2);
    }

    #[test]
    fn an_advertisement_overrides_and_has_a_checksum() {
        let address: Ipv6Addr = "fd00::40".parse().unwrap();
        let frames = announcements(address.into(), HARDWARE);
        let [frame] = frames.as_slice() else { panic!("{frames:?}") };
        assert_eq!(frame.len(), 86);
        assert_eq!(frame[..14], [0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0x0a, 0x86, 0xdd]);
        assert_eq!(frame[14..22], [0x60, 0, 0, 0, 0, 32, 58, 255]);
        assert_eq!(frame[22..38], address.octets());
        assert_eq!(frame[54..56], [136, 0]);
        assert_eq!(frame[58..62], [0x20, 0, 0, 0]);
        assert_eq!(frame[62..78], address.octets());
        assert_eq!(frame[78..], [2, 1, 2, 0, 0, 0, 0, 0x0a]);
        assert_eq!(frame[56..58], [0x5a, 0x14]);
        // A receiver sums up all of it, also the checksum.
        let to: Ipv6Addr = "ff02::1".parse().unwrap();
        assert_eq!(checksum(address, to, &frame[54..]), 0);
    }
}
