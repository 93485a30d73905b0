//! Ports of the loopback interface.

use std::net::{TcpListener, TcpStream};

use anyhow::Result;

/// Ports that are free at the moment, for servers that must know their port before they start. Another
/// process may take one in between.
///
/// # Errors
/// When there are none.
pub fn free<const COUNT: usize>() -> Result<[u16; COUNT]> {
    let mut ports = [0; COUNT];
    // All are held until all are known, so that they differ.
    let mut listeners = Vec::new();
    for port in &mut ports {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        *port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok(ports)
}

/// Whether a process listens on a port.
#[must_use]
pub fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}
