//! The host's addresses, names and ports.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener};

use slipway_bootstrap::preflight::{InterfaceAddress, PortState};

use super::PATIENCE;

/// The host's addresses with their interfaces.
pub(super) fn addresses() -> Vec<InterfaceAddress> {
    let Ok(found) = nix::ifaddrs::getifaddrs() else { return Vec::new() };
    let ip = |storage: &nix::sys::socket::SockaddrStorage| -> Option<IpAddr> {
        let four = storage.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
        four.or_else(|| storage.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
    };
    found
        .filter_map(|entry| {
            let address = ip(entry.address.as_ref()?)?;
            let prefix = match entry.netmask.as_ref().and_then(ip) {
                Some(IpAddr::V4(mask)) => u32::from(mask).leading_ones(),
                Some(IpAddr::V6(mask)) => u128::from(mask).leading_ones(),
                None => 0,
            };
            let mtu = std::fs::read_to_string(format!("/sys/class/net/{}/mtu", entry.interface_name));
            Some(InterfaceAddress {
                address,
                prefix: u8::try_from(prefix).unwrap_or(128),
                mtu: mtu.ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default(),
                interface: entry.interface_name,
            })
        })
        .collect()
}

/// The first address of the interface with the default route, as kubeadm chooses it; else the first global one.
pub(super) fn default_address() -> Option<IpAddr> {
    let addresses = addresses();
    let usable = |found: &&InterfaceAddress| match found.address {
        IpAddr::V4(address) => {
            !address.is_loopback() && !address.is_link_local() && !address.is_unspecified()
        }
        IpAddr::V6(address) => !address.is_loopback() && !is_link_local(address),
    };
    let routed = default_interfaces();
    let on_route = |found: &&InterfaceAddress| routed.contains(&found.interface);
    let first = |four: bool, only_routed: bool| {
        let found = addresses.iter().filter(usable).filter(|found| found.address.is_ipv4() == four);
        found.filter(|found| !only_routed || on_route(found)).map(|found| found.address).next()
    };
    first(true, true)
        .or_else(|| first(false, true))
        .or_else(|| first(true, false))
        .or_else(|| first(false, false))
}

fn is_link_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xffc0 == 0xfe80
}

/// The interfaces with a default route.
fn default_interfaces() -> Vec<String> {
    let four = std::fs::read_to_string("/proc/net/route").unwrap_or_default();
    // Interface, destination, …
    let four = four.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace();
        let interface = fields.next()?;
        (fields.next()? == "00000000").then(|| interface.to_owned())
    });
    let six = std::fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    let six = six.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let all = fields.first()?.bytes().all(|byte| byte == b'0') && fields.get(1) == Some(&"00");
        fields.last().filter(|interface| all && **interface != "lo").map(|interface| (*interface).to_owned())
    });
    four.chain(six).collect()
}

/// Whether a program listens on a port. The check binds to the port.
pub(super) fn port(number: u16) -> PortState {
    let everywhere: [SocketAddr; 2] =
        [(Ipv6Addr::UNSPECIFIED, number).into(), (std::net::Ipv4Addr::UNSPECIFIED, number).into()];
    let taken = everywhere.iter().any(
        |address| matches!(TcpListener::bind(address), Err(error) if error.kind() == ErrorKind::AddrInUse),
    );
    if taken { PortState::Taken(listener(number)) } else { PortState::Free }
}

/// The name of the program that listens on a port.
fn listener(number: u16) -> Option<String> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok())
        .flat_map(|text| {
            let listening = text.lines().skip(1).filter_map(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                let port = u16::from_str_radix(fields.get(1)?.rsplit(':').next()?, 16).ok()?;
                (port == number && fields.get(3) == Some(&"0A"))
                    .then(|| fields.get(9).map(|inode| format!("socket:[{inode}]")))
                    .flatten()
            });
            listening.collect::<Vec<_>>()
        })
        .collect();
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    processes
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .find_map(|process| {
            let mut files = std::fs::read_dir(process.path().join("fd")).ok()?.flatten();
            files.find(|file| {
                let target = std::fs::read_link(file.path()).unwrap_or_default();
                inodes.iter().any(|inode| target.as_os_str() == inode.as_str())
            })?;
            let name = std::fs::read_to_string(process.path().join("comm")).ok()?;
            Some(name.trim().to_owned())
        })
}

/// Resolves names, as any program on the host would.
pub(super) async fn resolve<'a>(
    names: impl Iterator<Item = &'a str>,
) -> BTreeMap<String, Result<Vec<IpAddr>, String>> {
    let mut found = BTreeMap::new();
    for name in names {
        let lookup = tokio::time::timeout(PATIENCE, tokio::net::lookup_host((name, 0))).await;
        let addresses = match lookup {
            Ok(Ok(addresses)) => Ok(addresses.map(|address| address.ip()).collect()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
        };
        found.insert(name.to_owned(), addresses);
    }
    found
}

/// The proxy settings of the environment.
pub fn proxies() -> BTreeMap<String, String> {
    let names = ["http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];
    names.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()
}
