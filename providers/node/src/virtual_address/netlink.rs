//! Addresses of an interface, by messages of rtnetlink(7).

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// How long the kernel has for an answer; it answers at once.
const ANSWERS: Duration = Duration::from_secs(1);

/// Messages, as linux/rtnetlink.h and linux/netlink.h have them.
const NEW_ADDRESS: u16 = 20;
const DELETE_ADDRESS: u16 = 21;
const ERROR: u16 = 2;
const REQUEST: u16 = 0x1;
const ACKNOWLEDGE: u16 = 0x4;
const REPLACE: u16 = 0x100;
const EXCLUSIVE: u16 = 0x200;
const CREATE: u16 = 0x400;

/// Attributes of an address, as linux/if_addr.h has them.
const ADDRESS: u16 = 1;
const LOCAL: u16 = 2;
const CACHE: u16 = 6;
const FLAGS: u16 = 8;

/// Do not ask first whether another host has the address: the Lease has decided that.
const NO_DUPLICATE_DETECTION: u32 = 0x02;
const NO_PREFIX_ROUTE: u32 = 0x200;

/// The length of the header of a message and of a message about an address.
const HEADER: usize = 16;

/// A socket of rtnetlink.
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// # Errors
    /// When the kernel has none.
    pub(super) fn open() -> io::Result<Self> {
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(ANSWERS))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Adds an address for that many seconds, or sets how long it stays. Returns whether it was not there before.
    ///
    /// # Errors
    /// When the kernel refuses: without the right to do so, or when the interface is gone.
    pub(super) fn add(&mut self, address: IpAddr, interface: u32, seconds: u32) -> io::Result<bool> {
        let payload = payload(address, interface, Some(seconds));
        match self.request(NEW_ADDRESS, CREATE | EXCLUSIVE, &payload) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                self.request(NEW_ADDRESS, CREATE | REPLACE, &payload).map(|()| false)
            }
            done => done.map(|()| true),
        }
    }

    /// Removes an address. Returns whether it was there.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn remove(&mut self, address: IpAddr, interface: u32) -> io::Result<bool> {
        match self.request(DELETE_ADDRESS, 0, &payload(address, interface, None)) {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Ok(false),
            done => done.map(|()| true),
        }
    }

    fn request(&mut self, kind: u16, flags: u16, payload: &[u8]) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let request = message(kind, flags, self.sequence, payload);
        send(&self.socket, &request, SendFlags::empty())?;
        let mut buffer = [0; 4096];
        loop {
            let (length, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            let answer = buffer.get(..length).unwrap_or_default();
            if let Some(result) = acknowledged(answer, self.sequence) {
                return result;
            }
        }
    }
}

/// A message with its header.
fn message(kind: u16, flags: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(HEADER + payload.len()).unwrap_or(u32::MAX);
    let mut message = Vec::with_capacity(HEADER + payload.len());
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend((REQUEST | ACKNOWLEDGE | flags).to_ne_bytes());
    message.extend(sequence.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend(payload);
    message
}

/// A host's address on an interface. One with a lifetime is deprecated from the beginning, so that the machine uses it as the
/// source of no connection of its own.
fn payload(address: IpAddr, interface: u32, seconds: Option<u32>) -> Vec<u8> {
    let (family, prefix, bytes) = match address {
        IpAddr::V4(address) => (2_u8, 32_u8, address.octets().to_vec()),
        IpAddr::V6(address) => (10, 128, address.octets().to_vec()),
    };
    let mut payload = vec![family, prefix, 0, 0];
    payload.extend(interface.to_ne_bytes());
    attribute(&mut payload, LOCAL, &bytes);
    attribute(&mut payload, ADDRESS, &bytes);
    if let Some(seconds) = seconds {
        let times = [0, seconds, 0, 0].map(u32::to_ne_bytes);
        attribute(&mut payload, CACHE, times.as_flattened());
        if address.is_ipv6() {
            attribute(&mut payload, FLAGS, &(NO_DUPLICATE_DETECTION | NO_PREFIX_ROUTE).to_ne_bytes());
        }
    }
    payload
}

/// Adds an attribute, whose length is a multiple of four here.
fn attribute(payload: &mut Vec<u8>, kind: u16, value: &[u8]) {
    let length = u16::try_from(4 + value.len()).unwrap_or(u16::MAX);
    payload.extend(length.to_ne_bytes());
    payload.extend(kind.to_ne_bytes());
    payload.extend(value);
}

/// The result of a request, if an answer has it.
fn acknowledged(answer: &[u8], sequence: u32) -> Option<io::Result<()>> {
    let word = |at: usize| -> Option<[u8; 4]> { answer.get(at..at + 4)?.try_into().ok() };
    let [low, high, ..] = word(4)?;
    let is_it = u16::from_ne_bytes([low, high]) == ERROR && u32::from_ne_bytes(word(8)?) == sequence;
    if !is_it {
        return None;
    }
    match i32::from_ne_bytes(word(HEADER)?) {
        0 => Some(Ok(())),
        error => Some(Err(io::Error::from_raw_os_error(error.saturating_neg()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn an_address_is_added_with_a_lifetime_and_deprecated() {
        let payload = payload("192.0.2.40".parse().unwrap(), 7, Some(1));
        let wanted = joined(&[
            &[2, 32, 0, 0],
            &7_u32.to_ne_bytes(),
            &8_u16.to_ne_bytes(),
            &2_u16.to_ne_bytes(),
            &[192, 0, 2, 40],
            &8_u16.to_ne_bytes(),
            &1_u16.to_ne_bytes(),
            &[192, 0, 2, 40],
            &20_u16.to_ne_bytes(),
            &6_u16.to_ne_bytes(),
            &0_u32.to_ne_bytes(),
            &1_u32.to_ne_bytes(),
            &[0; 8],
        ]);
        assert_eq!(payload, wanted);
        let message = message(NEW_ADDRESS, CREATE | EXCLUSIVE, 3, &payload);
        let header = joined(&[
            &60_u32.to_ne_bytes(),
            &20_u16.to_ne_bytes(),
            &0x605_u16.to_ne_bytes(),
            &3_u32.to_ne_bytes(),
            &[0; 4],
        ]);
        assert_eq!(message[..HEADER], header);
    }

    #[test]
    fn an_ipv6_address_is_there_at_once() {
        let payload = payload("fd00::40".parse().unwrap(), 7, Some(1));
        assert_eq!(payload.len(), 8 + 20 + 20 + 20 + 8);
        assert_eq!(payload[..2], [10, 128]);
        assert_eq!(payload[72..], 0x202_u32.to_ne_bytes());
        let removed = super::payload("fd00::40".parse().unwrap(), 7, None);
        assert_eq!(removed.len(), 8 + 20 + 20);
    }

    #[test]
    fn only_the_answer_to_a_request_is_its_result() {
        let answer = |kind: u16, sequence: u32, error: i32| {
            joined(&[
                &36_u32.to_ne_bytes(),
                &kind.to_ne_bytes(),
                &[0; 2],
                &sequence.to_ne_bytes(),
                &[0; 4],
                &error.to_ne_bytes(),
            ])
        };
        assert!(matches!(acknowledged(&answer(ERROR, 3, 0), 3), Some(Ok(()))));
        assert!(acknowledged(&answer(ERROR, 2, 0), 3).is_none());
        assert!(acknowledged(&answer(NEW_ADDRESS, 3, 0), 3).is_none());
        assert!(acknowledged(&[0; 5], 3).is_none());
        let error = acknowledged(&answer(ERROR, 3, -17), 3).unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
}
