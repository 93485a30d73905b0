//! A bucket that the machines of a network reach: an S3 API of the test, behind an address of the network.

use std::io::copy;
use std::net::TcpStream;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, ChildStdout, Stdio};
use std::thread;

use anyhow::{Context as _, Result};
use slipway_integration::bucket::Bucket;
use slipway_testkit::network::Network;
use slipway_testkit::wait::until;

/// The port in the network.
const PORT: u16 = 9_000;

/// Listens on a port of the network, and passes every connection on to a socket of the test.
const RELAY: &str = r#"
import socket, sys, threading
def pump(a, b):
    try:
        while (data := a.recv(65536)): b.sendall(data)
    except OSError: pass
    finally:
        try: b.shutdown(socket.SHUT_WR)
        except OSError: pass
def serve(one):
    other = socket.socket(socket.AF_UNIX); other.connect(sys.argv[2])
    threading.Thread(target=pump, args=(one, other), daemon=True).start()
    pump(other, one)
server = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("listens", flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), __import__("os")._exit(0)), daemon=True).start()
while True: threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"#;

/// A bucket, and the relay to it.
pub(super) struct Reachable {
    /// The bucket, as the test reaches it.
    pub bucket: Bucket,
    /// Where machines reach its server.
    pub endpoint: String,
    relay: Child,
    /// A relay without a reader of what it says may end when it says the rest of a line.
    _said: ChildStdout,
}

impl Reachable {
    /// Makes one.
    pub fn new(network: &Network) -> Result<Self> {
        let bucket = Bucket::new()?;
        let socket = network.folder().join("bucket.sock");
        let listener = UnixListener::bind(&socket)?;
        let port = bucket.port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // Ends with its connection.
                thread::spawn(move || pass_on(&stream, port));
            }
        });
        let words = ["python3", "-c", RELAY, &PORT.to_string(), &socket.display().to_string()];
        let mut relay = network.command(words);
        let mut relay = relay.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut said = relay.stdout.take().context("the relay says nothing")?;
        until("the relay listens", || {
            let mut line = [0; 7];
            Ok((std::io::Read::read(&mut said, &mut line)? > 0).then_some(()))
        })?;
        Ok(Self { bucket, endpoint: format!("http://{}:{PORT}", network.address()), relay, _said: said })
    }

    /// The environment variables with which the program on a machine reaches the bucket.
    pub fn environment(&self) -> String {
        let pairs = self.bucket.environment().into_iter().map(|(name, value)| match name.as_str() {
            "AWS_ENDPOINT_URL" => format!("{name}={}\n", self.endpoint),
            _ => format!("{name}={value}\n"),
        });
        pairs.collect()
    }
}

impl Drop for Reachable {
    fn drop(&mut self) {
        drop(self.relay.stdin.take());
        let _ = self.relay.wait();
    }
}

fn pass_on(stream: &UnixStream, port: u16) -> std::io::Result<()> {
    let server = TcpStream::connect(("127.0.0.1", port))?;
    let (mut from, mut to) = (stream.try_clone()?, server.try_clone()?);
    let upwards = thread::spawn(move || {
        let _ = copy(&mut from, &mut to);
        to.shutdown(std::net::Shutdown::Write)
    });
    let (mut from, mut to) = (server, stream.try_clone()?);
    let _ = copy(&mut from, &mut to);
    let _ = to.shutdown(std::net::Shutdown::Write);
    let _ = upwards.join();
    Ok(())
}
