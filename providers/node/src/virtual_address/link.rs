//! The interface that has the address.

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};

use nix::ifaddrs::getifaddrs;
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, SockaddrStorage, sendto, socket,
};
use slipway_resource::ProviderError;

use super::election::LIFETIME;
use super::frame::{Hardware, announcements};
use super::netlink::Netlink;
use super::settings::Settings;
use crate::error::permanent;

/// An interface of this machine, and the address that it may have.
pub(super) struct Link {
    address: IpAddr,
    name: String,
    index: u32,
    link: LinkAddr,
    hardware: Hardware,
    netlink: Netlink,
    frames: OwnedFd,
}

impl Link {
    /// Finds the interface: that of the settings, else the one with the address of the node.
    ///
    /// # Errors
    /// When there is no such interface, it is no Ethernet, or this process may not use it.
    pub(super) fn open(settings: &Settings) -> Result<Self, ProviderError> {
        let failed = |what: &str, error: &dyn std::fmt::Display| permanent(format!("{what}: {error}"));
        let found: Vec<_> =
            getifaddrs().map_err(|error| failed("the interfaces of this machine", &error))?.collect();
        let with_node = || {
            let has_it = |address: &SockaddrStorage| ip(address) == Some(settings.node_address);
            let with_it = found.iter().find(|entry| entry.address.as_ref().is_some_and(has_it));
            with_it.map(|entry| entry.interface_name.clone())
        };
        let name = settings.interface.clone().or_else(with_node).ok_or_else(|| {
            permanent(format!("no interface of this machine has its address {}", settings.node_address))
        })?;
        let mut entries = found.iter().filter(|entry| entry.interface_name == name);
        let link = entries.find_map(|entry| entry.address.as_ref()?.as_link_addr().copied());
        let link = link.ok_or_else(|| permanent(format!("there is no interface {name}")))?;
        let hardware = link.addr().filter(|hardware| link.halen() == hardware.len() && *hardware != [0; 6]);
        let hardware =
            hardware.ok_or_else(|| permanent(format!("the interface {name} has no address of Ethernet")))?;
        let index = u32::try_from(link.ifindex()).map_err(|error| failed(&name, &error))?;
        let frames =
            socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, None::<SockProtocol>)
                .map_err(|error| failed("a socket for frames", &error))?;
        let netlink = Netlink::open().map_err(|error| failed("a socket of netlink", &error))?;
        Ok(Self { address: settings.address, name, index, link, hardware, netlink, frames })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Adds the address, or extends its lifetime. Returns whether it was not there before.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn extend(&mut self) -> Result<bool, ProviderError> {
        let done = self.netlink.add(self.address, self.index, LIFETIME);
        done.map_err(|error| self.failed("cannot be added to", &error))
    }

    /// Removes the address. Returns whether it was there.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn remove(&mut self) -> Result<bool, ProviderError> {
        let done = self.netlink.remove(self.address, self.index);
        done.map_err(|error| self.failed("cannot be removed from", &error))
    }

    /// Tells the network which machine has the address.
    ///
    /// # Errors
    /// When a frame cannot be sent, as while the interface is down.
    pub(super) fn announce(&self) -> Result<(), String> {
        for frame in announcements(self.address, self.hardware) {
            sendto(self.frames.as_raw_fd(), &frame, &self.link, MsgFlags::empty())
                .map_err(|error| format!("{} cannot be announced on {}: {error}", self.address, self.name))?;
        }
        Ok(())
    }

    fn failed(&self, what: &str, error: &io::Error) -> ProviderError {
        permanent(format!("{} {what} {}: {error}", self.address, self.name))
    }
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let four = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    four.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}
