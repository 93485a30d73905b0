//! Ways from a member of etcd to others whose machines were replaced at the same moment as its own.
//!
//! A member reaches the others at the addresses in its data, and learns other addresses only from a majority. While this machine
//! starts its member, the former address of each other member is an address of its loopback interface. Connections to it are
//! passed on to the machine that has the volume of that member now. They stay encrypted from member to member: the certificate of
//! each has its former address too.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use slipway_provider_node::etcd_data::KnownMember;
use slipway_resource::with_causes;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

use super::addresses::Addresses;
use super::volume;
use crate::code;
use crate::error::Error;

/// How often the addresses of the others are read.
const AGAIN: Duration = Duration::from_secs(3);
/// How long a member may take to accept a connection at its former address.
const ANSWERS: Duration = Duration::from_secs(2);

/// Does some work while detours lead to the members that moved; without addresses, just the work.
pub(super) async fn during<T>(
    addresses: Option<&Addresses>,
    (root, own): (&Path, IpAddr),
    work: impl Future<Output = T>,
) -> T {
    let Some(addresses) = addresses else { return work.await };
    let mut detours = Detours {
        addresses,
        root,
        own,
        open: BTreeMap::new(),
        local: BTreeSet::new(),
        tasks: JoinSet::new(),
        reported: String::new(),
    };
    let mut work = pin!(work);
    let done = loop {
        tokio::select! {
            done = &mut work => break done,
            () = detours.turn() => {}
        }
    };
    detours.end().await;
    done
}

/// The detours of this machine.
struct Detours<'a> {
    addresses: &'a Addresses,
    root: &'a Path,
    /// The address of this machine.
    own: IpAddr,
    /// Where each one leads, by the former address.
    open: BTreeMap<SocketAddr, (IpAddr, AbortHandle)>,
    /// The addresses that the loopback interface has for them.
    local: BTreeSet<IpAddr>,
    tasks: JoinSet<()>,
    /// The last problem, which is reported once.
    reported: String,
}

impl Detours<'_> {
    /// Opens the detours that are needed, and waits until they are looked at again.
    async fn turn(&mut self) {
        let why = self.settle().await.err().map(|error| with_causes(&error)).unwrap_or_default();
        if !why.is_empty() && why != self.reported {
            tracing::warn!(%why, "not all members of etcd are reached");
        }
        self.reported = why;
        tokio::time::sleep(AGAIN).await;
    }

    async fn settle(&mut self) -> Result<(), Error> {
        // A running member writes to its database, which cannot be read at every moment.
        let Ok(members) = volume::members(self.root) else { return Ok(()) };
        let mut moved = Vec::new();
        for member in members.into_iter().filter(|member| member.id != self.addresses.own()) {
            if let Some(now) = self.addresses.of(member.id).await? {
                moved.push((member, now));
            }
        }
        let mut failed = None;
        for (former, now) in needed(self.own, &moved) {
            failed = self.open(former, now).await.err().or(failed);
        }
        failed.map_or(Ok(()), Err)
    }

    async fn open(&mut self, former: SocketAddr, now: IpAddr) -> Result<(), Error> {
        if let Some((to, task)) = self.open.get(&former) {
            if *to == now {
                return Ok(());
            }
            // The machine was replaced once more.
            task.abort();
        } else if answers(former).await {
            // The member is still there.
            return Ok(());
        }
        let closed = |why: String| {
            let text = format!("the member of etcd that moved from {former} to {now} is not reached");
            Error::new(code::VOLUME, text).cause(why)
        };
        // First, because the work may end meanwhile.
        self.local.insert(former.ip());
        loopback("replace", former.ip()).await.map_err(closed)?;
        let listener = TcpListener::bind(former).await.map_err(|error| closed(error.to_string()))?;
        tracing::info!(%former, %now, "a member of etcd moved, and is reached by a detour");
        let task = self.tasks.spawn(forward(listener, SocketAddr::new(now, former.port())));
        self.open.insert(former, (now, task));
        Ok(())
    }

    async fn end(mut self) {
        self.tasks.shutdown().await;
        for address in self.local {
            if let Err(why) = loopback("delete", address).await {
                tracing::warn!(%address, %why, "an address stays at the loopback interface until the machine restarts");
            }
        }
    }
}

/// The detours to members that moved, of which each is given with its address now: from the former address to that one. An address
/// that a machine of a member has now leads to no former member: the member stays unreached until the other one has moved on.
fn needed(own: IpAddr, members: &[(KnownMember, IpAddr)]) -> Vec<(SocketAddr, IpAddr)> {
    let is_used = |address: IpAddr| address == own || members.iter().any(|(_, now)| *now == address);
    let urls = members.iter().flat_map(|(member, now)| member.peer_urls.iter().map(move |url| (url, *now)));
    let former = urls.filter_map(|(url, now)| Some((volume::address_of(url)?, now)));
    former.filter(|(former, _)| !is_used(former.ip())).collect()
}

/// Whether something accepts connections at an address.
async fn answers(address: SocketAddr) -> bool {
    matches!(tokio::time::timeout(ANSWERS, TcpStream::connect(address)).await, Ok(Ok(_)))
}

/// Gives an address to the loopback interface, or takes it away.
async fn loopback(action: &str, address: IpAddr) -> Result<(), String> {
    let address = format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 });
    volume::run("ip", &["address", action, &address, "dev", "lo"]).await
}

/// Passes connections on. Ends when it is aborted, and ends its connections then.
async fn forward(listener: TcpListener, to: SocketAddr) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(pass(stream, to));
                }
                Err(_) => tokio::time::sleep(AGAIN).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn pass(mut from: TcpStream, to: SocketAddr) {
    // Members try again by themselves.
    if let Ok(mut stream) = TcpStream::connect(to).await {
        let _ = tokio::io::copy_bidirectional(&mut from, &mut stream).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    fn member(id: u64, last: u8) -> KnownMember {
        KnownMember { id, peer_urls: vec![format!("https://10.0.0.{last}:2380")], is_learner: false }
    }

    #[test]
    fn a_detour_leads_to_a_member_that_moved() {
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        let former = |last: u8| SocketAddr::new(address(last), 2380);
        let moved = [(member(2, 2), address(12)), (member(3, 3), address(3))];
        assert_eq!(needed(address(11), &moved), [(former(2), address(12))]);
        // An address that a machine has got of another one is that of this machine.
        let given_on = [(member(2, 2), address(12)), (member(3, 3), address(2))];
        assert_eq!(needed(address(11), &given_on), [(former(3), address(2))]);
        assert!(needed(address(2), &moved).is_empty());
        let named = KnownMember { peer_urls: vec!["https://a.example.com:2380".to_owned()], ..member(2, 2) };
        assert!(needed(address(11), &[(named, address(12))]).is_empty());
    }

    #[tokio::test]
    async fn a_connection_to_the_former_address_is_passed_on() {
        let here = TcpListener::bind("127.0.0.2:0").await.unwrap();
        let former = here.local_addr().unwrap();
        let now = TcpListener::bind("127.0.0.3:0").await.unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(forward(here, now.local_addr().unwrap()));
        let mut caller = TcpStream::connect(former).await.unwrap();
        caller.write_all(b"question").await.unwrap();
        let (mut member, _) = now.accept().await.unwrap();
        let mut asked = [0; 8];
        member.read_exact(&mut asked).await.unwrap();
        assert_eq!(&asked, b"question");
        member.write_all(b"answer").await.unwrap();
        drop(member);
        let mut said = String::new();
        caller.read_to_string(&mut said).await.unwrap();
        assert_eq!(said, "answer");
        // Nobody listens once it has ended, which is how a member that is still there is told from one that moved.
        assert!(answers(former).await);
        tasks.shutdown().await;
        assert!(!answers(former).await);
    }
}
