//! Addresses of the network that replace those of AWS: routers of subnets, the metadata, the API.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context as _, Result};

use super::emulator::Interface;
use super::metadata;
use crate::Network;
use crate::network::INTERNAL;

/// Where the emulator's API is served in the network.
pub const API: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 150, 0, 1)), 80);

/// The server of names, which AWS has in every network.
pub const NAME_SERVER: &str = "169.254.169.253";

/// The address of the emulator's API in the network.
pub fn endpoint() -> String {
    debug_assert!(API.ip().to_string().starts_with(INTERNAL), "the switch has this address");
    format!("http://{}", API.ip())
}

/// Gives the network the addresses that all machines use.
pub fn prepare(network: &Network) -> Result<()> {
    let (v4, v6) = (metadata::ADDRESS.ip(), metadata::ADDRESS_V6.ip());
    // Commands in the network look names up where machines do.
    let names = network.folder().join("resolv.conf");
    std::fs::write(&names, format!("nameserver {NAME_SERVER}\n"))?;
    // A bridge without an address of its own changes it with its members, and machines would call the old one.
    network.configure(&format!(
        "ip link set br0 address 02:00:0a:96:00:01
ip address add {v4}/32 dev br0
ip address add {NAME_SERVER}/32 dev br0
ip -6 address add {v6}/128 dev br0 nodad
mount --bind {} /etc/resolv.conf
",
        names.display()
    ))
}

/// A block of addresses: `172.20.32.0/19`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    first: u32,
    /// The length of its prefix.
    pub length: u8,
}

impl Block {
    /// Reads one.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self> {
        let (first, length) = text.split_once('/').with_context(|| format!("{text} is no block"))?;
        let first: Ipv4Addr = first.parse().with_context(|| text.to_owned())?;
        Ok(Self { first: first.into(), length: length.parse().with_context(|| text.to_owned())? })
    }

    /// The address with this number.
    pub fn address(self, number: u32) -> Ipv4Addr {
        Ipv4Addr::from(self.first + number)
    }
}

/// Makes the network the router of a subnet, and gives the router's address.
pub fn route(network: &Network, interface: &Interface) -> Result<Ipv4Addr> {
    let subnet = Block::parse(&interface.subnet_block)?;
    let gateway = subnet.address(1);
    network.configure(&format!("ip address replace {gateway}/{} dev br0\n", subnet.length))?;
    Ok(gateway)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_blocks_are_counted() {
        let block = Block::parse("172.20.32.0/19").unwrap();
        assert_eq!((block.address(1).to_string().as_str(), block.length), ("172.20.32.1", 19));
        assert!(Block::parse("172.20.32.0").is_err());
        assert!(Block::parse("172.20.32/19").is_err());
    }
}
