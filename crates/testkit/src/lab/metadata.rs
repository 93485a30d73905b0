//! The instance metadata service: a machine reads facts about itself at a fixed address.
//!
//! A caller is known by its address. The answer with a token travels no further than the instance's hop limit, so a pod
//! behind a machine does not get one while the limit is 1.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use aws_lc_rs::rand;
use socket2::SockRef;

use super::emulator::Instance;
use super::listener::{Listener, Place};
use super::shared::Shared;
use crate::proxy::{Request, read_request};

mod tree;

/// Where it answers over IPv4.
pub const ADDRESS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)), 80);
/// Where it answers over IPv6.
pub const ADDRESS_V6: SocketAddr =
    SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)), 80);

const LIFE: &str = "X-aws-ec2-metadata-token-ttl-seconds";
const TOKEN: &str = "X-aws-ec2-metadata-token";

/// Serves all machines at one address.
///
/// # Errors
/// When the network does not have it.
pub fn serve(shared: &Arc<Shared>, address: SocketAddr) -> Result<Listener> {
    let (shared, tokens) = (shared.clone(), Tokens::default());
    Listener::start(&shared.clone().inside, address, Place::Host, move |client| {
        // The caller sees every failure as a closed connection.
        let _ = answer(&shared, &tokens, &client);
    })
}

/// Tokens, each of one instance until a moment.
#[derive(Default)]
struct Tokens {
    known: Mutex<BTreeMap<String, (String, Instant)>>,
}

impl Tokens {
    fn issue(&self, instance: &str, life: Duration) -> Option<String> {
        let mut bytes = [0; 30];
        rand::fill(&mut bytes).ok()?;
        let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(token.clone(), (instance.to_owned(), Instant::now() + life));
        Some(token)
    }

    fn is_valid(&self, token: &str, instance: &str) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(token).is_some_and(|(owner, end)| owner == instance && Instant::now() < *end)
    }
}

fn answer(shared: &Shared, tokens: &Tokens, client: &TcpStream) -> Result<()> {
    let caller = client.peer_addr()?.ip();
    client.set_read_timeout(Some(Duration::from_secs(10)))?;
    let request = read_request(client)?;
    let (status, headers, body) = match shared.instance(|instance| is_caller(instance, caller)) {
        Some(instance) => {
            if request.method == "PUT" {
                limit_hops(client, instance.metadata.hops)?;
            }
            respond(shared, tokens, &instance, &request)
        }
        None => (404, String::new(), b"no instance has this address".to_vec()),
    };
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Type: text/plain\r\nServer: EC2ws\r\n{headers}Content-Length: {}\r\n\
         Connection: close\r\n\r\n",
        if status == 200 { "OK" } else { "Refused" },
        body.len()
    );
    let mut writer = client;
    writer.write_all(&[head.as_bytes(), &body].concat())?;
    client.shutdown(Shutdown::Write)?;
    Ok(())
}

fn limit_hops(client: &TcpStream, hops: u8) -> Result<()> {
    match client.local_addr()? {
        SocketAddr::V4(_) => client.set_ttl(hops.into())?,
        SocketAddr::V6(_) => SockRef::from(client).set_unicast_hops_v6(hops.into())?,
    }
    Ok(())
}

/// Whether an instance has this address. Over IPv6, machines use the address that follows from that of the hardware.
fn is_caller(instance: &Instance, caller: IpAddr) -> bool {
    instance.interfaces.iter().any(|interface| match caller {
        IpAddr::V4(caller) => interface.addresses.iter().any(|address| *address == caller.to_string()),
        IpAddr::V6(caller) => link_local(&interface.mac) == Some(caller),
    })
}

/// The address of a link that follows from a hardware address (RFC 4291, appendix A).
fn link_local(mac: &str) -> Option<Ipv6Addr> {
    let bytes: Vec<u16> = mac.split(':').map_while(|byte| u16::from_str_radix(byte, 16).ok()).collect();
    let [a, b, c, d, e, f] = bytes.try_into().ok()?;
    Some(Ipv6Addr::new(0xfe80, 0, 0, 0, ((a ^ 2) << 8) | b, (c << 8) | 0xff, 0xfe00 | d, (e << 8) | f))
}

fn respond(
    shared: &Shared,
    tokens: &Tokens,
    instance: &Instance,
    request: &Request,
) -> (u16, String, Vec<u8>) {
    let refused = |status| (status, String::new(), Vec::new());
    if !instance.metadata.enabled {
        return refused(403);
    }
    let path = request.target.split('?').next().unwrap_or_default();
    match request.method.as_str() {
        "PUT" if path != "/latest/api/token" => return refused(405),
        "PUT" if request.header("X-Forwarded-For").is_some() => return refused(403),
        "PUT" => {
            let life = request.header(LIFE).and_then(|text| text.parse::<u64>().ok());
            let Some(life) = life.filter(|life| (1..=21600).contains(life)) else { return refused(400) };
            let Some(token) = tokens.issue(&instance.id, Duration::from_secs(life)) else {
                return refused(503);
            };
            return (200, format!("{LIFE}: {life}\r\n"), token.into_bytes());
        }
        "GET" | "HEAD" => {}
        _ => return refused(405),
    }
    let is_allowed = match request.header(TOKEN) {
        Some(token) => tokens.is_valid(token, &instance.id),
        None => !instance.metadata.tokens_required,
    };
    if !is_allowed {
        return refused(401);
    }
    let found =
        tree::find(instance, path, |instance| shared.emulator.credentials(&instance.id).ok().flatten());
    found.map_or_else(|| refused(404), |body| (200, String::new(), body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_known_by_their_hardware() {
        let address: Ipv6Addr = "fe80::10ff:fe20:3040".parse().unwrap();
        assert_eq!(link_local("02:00:10:20:30:40"), Some(address));
        assert_eq!(link_local("02:00"), None);
    }

    #[test]
    fn tokens_are_of_one_instance_for_a_while() {
        let tokens = Tokens::default();
        let token = tokens.issue("i-1", Duration::from_secs(60)).unwrap();
        assert!(tokens.is_valid(&token, "i-1"));
        assert!(!tokens.is_valid(&token, "i-2"));
        let past = tokens.issue("i-1", Duration::ZERO).unwrap();
        assert!(!tokens.is_valid(&past, "i-1"));
    }
}
