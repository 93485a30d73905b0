//! Servers for machines: sockets in their network that threads of the test serve.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result};

use super::inside::Inside;

/// Where the threads are that serve an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On the host: connections that they make are the host's.
    Host,
    /// In the network.
    Network,
}

/// A served address. It accepts no more connections after it is dropped; open ones end by themselves.
pub struct Listener {
    inside: Inside,
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Listener {
    /// Serves an address in the network, each connection in a thread of its own.
    ///
    /// # Errors
    /// When the address is not there, or taken.
    pub fn start(
        inside: &Inside,
        address: SocketAddr,
        place: Place,
        serve: impl Fn(TcpStream) + Send + Sync + 'static,
    ) -> Result<Self> {
        let listener =
            inside.run(move || TcpListener::bind(address))?.with_context(|| address.to_string())?;
        let address = listener.local_addr()?;
        let is_over = Arc::new(AtomicBool::new(false));
        let (ends, serve) = (is_over.clone(), Arc::new(serve));
        let work = move || {
            for client in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let (Ok(client), serve) = (client, serve.clone()) else { continue };
                // Without a thread, the client finds its connection closed.
                let _ = thread::Builder::new().spawn(move || serve(client));
            }
        };
        let thread = match place {
            Place::Network => inside.spawn("listener", work)?,
            Place::Host => {
                let thread = thread::Builder::new().name("listener".to_owned());
                thread
                    .spawn(move || {
                        work();
                        Ok(())
                    })
                    .context("no thread")?
            }
        };
        Ok(Self { inside: inside.clone(), address, is_over, thread: Some(thread) })
    }

    /// Forwards all connections to a port of the host's loopback interface.
    ///
    /// # Errors
    /// When the address is not there, or taken.
    pub fn forward(inside: &Inside, address: SocketAddr, port: u16) -> Result<Self> {
        Self::start(inside, address, Place::Host, move |client| {
            if let Ok(server) = TcpStream::connect(("127.0.0.1", port)) {
                join(client, server);
            }
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let address = self.address;
        // Wakes the thread that waits for a connection.
        let woken = self.inside.run(move || TcpStream::connect(address).is_ok());
        if let (Ok(true), Some(thread)) = (woken, self.thread.take()) {
            let _ = thread.join();
        }
    }
}

/// Passes on what two ends of a connection say to each other, until both have ended.
pub fn join(client: TcpStream, server: TcpStream) {
    let (Ok(from_client), Ok(to_server)) = (client.try_clone(), server.try_clone()) else { return };
    let forth = thread::Builder::new().spawn(move || copy(&from_client, &to_server));
    copy(&server, &client);
    if let Ok(forth) = forth {
        let _ = forth.join();
    }
}

fn copy(mut from: &TcpStream, mut to: &TcpStream) {
    // However one direction ends, its receiver gets the end.
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}
