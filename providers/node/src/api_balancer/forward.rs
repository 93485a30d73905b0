//! Connections of clients, each carried to a member.

use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::members::{Held, Members};

/// The largest number of connections at the same time. Each has two sockets, and a process has 1024 unless more are permitted.
const MOST: usize = 400;

/// How long a member may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(1);

/// How long all members together may take.
const CONNECT_ALL: Duration = Duration::from_secs(10);

/// How long a connection stays of which one side has said that it sends nothing more.
const HALF_OPEN: Duration = Duration::from_secs(30);

/// The pause after a connection could not be accepted, as when all file descriptors are in use.
const EXHAUSTED: Duration = Duration::from_millis(100);

/// When a member's machine counts as gone on an idle connection: the first check, and the time between and the number of
/// further ones.
const IDLE: Duration = Duration::from_secs(15);
const CHECK: Duration = Duration::from_secs(5);
const CHECKS: u32 = 3;

/// How long nothing may come from either side before a connection is quiet.
const QUIET: Duration = Duration::from_millis(250);

/// How long sent bytes may stay without an acknowledgement, in milliseconds.
const UNACKNOWLEDGED: u32 = 30_000;

/// Carries connections until it is dropped.
pub(super) async fn forward(listener: TcpListener, members: Arc<Members>) {
    forward_at_most(MOST, listener, members).await;
}

async fn forward_at_most(most: usize, listener: TcpListener, members: Arc<Members>) {
    let permits = Arc::new(Semaphore::new(most));
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // Clients beyond the limit wait in the queue of the listener.
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((client, _)) => {
                let members = Arc::clone(&members);
                connections.spawn(async move {
                    carry(client, &members).await;
                    drop(permit);
                });
            }
            Err(_) => tokio::time::sleep(EXHAUSTED).await,
        }
    }
}

/// Carries one connection. Without a member that accepts it, the client's connection is closed.
async fn carry(client: TcpStream, members: &Arc<Members>) {
    let connected = timeout(CONNECT_ALL, connect(members)).await;
    let Ok(Some((upstream, held))) = connected else { return };
    // A connection that is not tuned works all the same.
    let _ = client.set_nodelay(true);
    let _ = tune(&upstream);
    let carried = AtomicU64::new(0);
    tokio::select! {
        () = both_ways(client, upstream, &carried) => {}
        () = held.closing.cancelled() => {}
        () = quiet_after(&held, &carried) => {}
    }
}

/// Waits until the connection has to be left and is quiet.
async fn quiet_after(held: &Held, carried: &AtomicU64) {
    held.leaving.cancelled().await;
    loop {
        let before = carried.load(Ordering::Relaxed);
        tokio::time::sleep(QUIET).await;
        if carried.load(Ordering::Relaxed) == before {
            return;
        }
    }
}

/// The end of a connection that bytes are read from. It counts the reads.
struct Counted<'a, R> {
    from: R,
    carried: &'a AtomicU64,
}

impl<R: AsyncRead + Unpin> AsyncRead for Counted<'_, R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let polled = Pin::new(&mut self.from).poll_read(context, buffer);
        if polled.is_ready() {
            self.carried.fetch_add(1, Ordering::Relaxed);
        }
        polled
    }
}

/// A connection to the best member that accepts one.
async fn connect(members: &Arc<Members>) -> Option<(TcpStream, Held)> {
    for member in members.order() {
        // Removed meanwhile.
        let Some(held) = members.hold(member) else { continue };
        match dial(member).await {
            Some(upstream) => return Some((upstream, held)),
            None => members.failed(member),
        }
    }
    None
}

async fn dial(member: SocketAddr) -> Option<TcpStream> {
    timeout(CONNECT, TcpStream::connect(member)).await.ok()?.ok()
}

/// Has the kernel notice a machine that is gone.
fn tune(upstream: &TcpStream) -> Result<(), rustix::io::Errno> {
    sockopt::set_tcp_nodelay(upstream, true)?;
    sockopt::set_socket_keepalive(upstream, true)?;
    sockopt::set_tcp_keepidle(upstream, IDLE)?;
    sockopt::set_tcp_keepintvl(upstream, CHECK)?;
    sockopt::set_tcp_keepcnt(upstream, CHECKS)?;
    sockopt::set_tcp_user_timeout(upstream, UNACKNOWLEDGED)
}

async fn both_ways(client: TcpStream, upstream: TcpStream, carried: &AtomicU64) {
    let (from_client, to_client) = client.into_split();
    let (from_upstream, to_upstream) = upstream.into_split();
    let out = one_way(Counted { from: from_client, carried }, to_upstream);
    let back = one_way(Counted { from: from_upstream, carried }, to_client);
    tokio::pin!(out, back);
    let (is_intact, was_out) = tokio::select! {
        ended = &mut out => (ended, true),
        ended = &mut back => (ended, false),
    };
    // The other direction may still carry the rest of an answer.
    let rest = async { if was_out { back.await } else { out.await } };
    if is_intact {
        let _ = timeout(HALF_OPEN, rest).await;
    }
}

/// Carries bytes until one side sends no more, and passes that on. Returns whether the connection is intact.
async fn one_way(mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) -> bool {
    tokio::io::copy(&mut from, &mut to).await.is_ok() && to.shutdown().await.is_ok()
}

#[cfg(test)]
mod tests;
