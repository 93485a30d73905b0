use std::net::Ipv4Addr;
use std::time::Instant;

use tokio::io::AsyncReadExt as _;
use tokio::task::JoinHandle;

use super::super::members::Finding;
use super::super::probe::Asking;
use super::*;

/// A server that says its name to everybody, then sends back what it gets. It answers `GET /readyz` as well.
struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    async fn start(name: &'static str) -> Self {
        Self::at(name, SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).await
    }

    async fn at(name: &'static str, address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(name, stream));
            }
        });
        Self { address, task }
    }

    /// Ends it with all its connections, as a process that is killed.
    async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

async fn serve(name: &'static str, mut stream: TcpStream) {
    let mut buffer = [0_u8; 4096];
    let _ = stream.write_all(name.as_bytes()).await;
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        if stream.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}

/// A balancer in front of these members.
async fn balancer(addresses: &[SocketAddr]) -> (SocketAddr, Arc<Members>, JoinSet<()>) {
    balancer_of(MOST, addresses).await
}

async fn balancer_of(most: usize, addresses: &[SocketAddr]) -> (SocketAddr, Arc<Members>, JoinSet<()>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let members = Arc::new(Members::default());
    members.name(addresses, None);
    let mut tasks = JoinSet::new();
    tasks.spawn(forward_at_most(most, listener, Arc::clone(&members)));
    (address, members, tasks)
}

/// A connection, and the name of the server at its other end.
async fn connect_to(address: SocketAddr) -> (TcpStream, String) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut name = [0_u8; 1];
    let read = timeout(Duration::from_secs(5), stream.read_exact(&mut name)).await;
    read.unwrap().unwrap();
    (stream, String::from_utf8(name.to_vec()).unwrap())
}

/// Whether the other side ends a connection within this time.
async fn ends(stream: &mut TcpStream, within: Duration) -> bool {
    let mut rest = Vec::new();
    timeout(within, stream.read_to_end(&mut rest)).await.is_ok()
}

const SOON: Duration = Duration::from_secs(2);

#[tokio::test]
async fn clients_are_spread_and_go_on_when_a_member_dies_and_comes_back() {
    let servers = [Server::start("a").await, Server::start("b").await];
    let [a, b] = [servers[0].address, servers[1].address];
    let (address, members, _tasks) = balancer(&[a, b]).await;
    for member in [a, b] {
        members.found(member, &Finding::Ready);
    }
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(connect_to(address).await);
    }
    assert_eq!(open.iter().filter(|(_, name)| name == "a").count(), 5);
    let [first, second] = servers;
    first.kill().await;
    // The kernel has ended its connections, and each client of it sees that at once. Those of the other one stay.
    for (stream, name) in &mut open {
        let within = if name == "a" { SOON } else { Duration::from_millis(20) };
        assert_eq!(ends(stream, within).await, name == "a");
    }
    // Nobody was told that it is dead: the refused connection says so.
    let begun = Instant::now();
    for _ in 0..20 {
        assert_eq!(connect_to(address).await.1, "b");
    }
    assert!(begun.elapsed() < SOON);
    let _again = Server::at("a", a).await;
    members.found(a, &Finding::Ready);
    let mut names = Vec::new();
    for _ in 0..8 {
        names.push(connect_to(address).await);
    }
    assert!(names.iter().any(|(_, name)| name == "a"));
    second.kill().await;
}

#[tokio::test]
async fn a_member_without_a_machine_costs_a_second_and_its_clients_are_let_go() {
    let server = Server::start("a").await;
    // An address that answers nothing: packets to it are dropped or refused, whatever the network of the test has.
    let silent = SocketAddr::from(([192, 0, 2, 1], 6443));
    let (address, members, _tasks) = balancer(&[silent, server.address]).await;
    members.found(silent, &Finding::Ready);
    let begun = Instant::now();
    assert_eq!(connect_to(address).await.1, "a");
    assert!(begun.elapsed() < CONNECT + SOON);
    let begun = Instant::now();
    assert_eq!(connect_to(address).await.1, "a");
    assert!(begun.elapsed() < Duration::from_millis(500), "the next ones do not try it first");
}

#[tokio::test]
async fn a_member_that_hangs_loses_its_clients_when_another_one_is_ready() {
    // It takes connections and says nothing, as a stopped process does.
    let hangs = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let hung = hangs.local_addr().unwrap();
    let server = Server::start("a").await;
    let (address, members, _tasks) = balancer(&[hung]).await;
    let mut stuck = TcpStream::connect(address).await.unwrap();
    let (_accepted, _) = hangs.accept().await.unwrap();
    let finding = Asking::plainly().is_ready(hung).await;
    assert!(matches!(finding, Finding::Silent(_)), "{finding:?}");
    members.name(&[hung, server.address], None);
    members.found(server.address, &Finding::Ready);
    members.found(hung, &finding);
    members.found(hung, &finding);
    assert!(ends(&mut stuck, SOON).await);
    assert_eq!(connect_to(address).await.1, "a");
}

#[tokio::test]
async fn a_member_that_shuts_down_keeps_busy_clients_and_loses_quiet_ones() {
    let servers = [Server::start("a").await, Server::start("b").await];
    let (address, members, _tasks) = balancer(&[servers[0].address]).await;
    let (mut quiet, _) = connect_to(address).await;
    let (mut busy, _) = connect_to(address).await;
    members.name(&[servers[0].address, servers[1].address], None);
    members.found(servers[1].address, &Finding::Ready);
    members.found(servers[0].address, &Finding::Unready("shutting down".to_owned()));
    let mut back = [0_u8; 1];
    for _ in 0..10 {
        busy.write_all(b"x").await.unwrap();
        busy.read_exact(&mut back).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(ends(&mut quiet, Duration::from_millis(50)).await, "it is gone already");
    assert!(ends(&mut busy, SOON).await, "it is quiet now");
    assert_eq!(connect_to(address).await.1, "b");
}

#[tokio::test]
async fn a_removed_member_loses_its_clients_and_no_member_no_time() {
    let server = Server::start("a").await;
    let (address, members, _tasks) = balancer(&[server.address]).await;
    let (mut stream, _) = connect_to(address).await;
    members.name(&[], None);
    assert!(ends(&mut stream, SOON).await);
    let mut refused = TcpStream::connect(address).await.unwrap();
    assert!(ends(&mut refused, SOON).await);
}

#[tokio::test]
async fn half_of_a_connection_may_end_first() {
    let server = Server::start("a").await;
    let (address, _members, _tasks) = balancer(&[server.address]).await;
    let (mut stream, _) = connect_to(address).await;
    stream.write_all(&vec![b'x'; 100_000]).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut rest = Vec::new();
    timeout(Duration::from_secs(5), stream.read_to_end(&mut rest)).await.unwrap().unwrap();
    assert_eq!(rest.len(), 100_000);
}

#[tokio::test]
async fn clients_beyond_the_limit_wait_until_others_end() {
    let server = Server::start("a").await;
    let (address, _members, _tasks) = balancer_of(20, &[server.address]).await;
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(connect_to(address).await.0);
    }
    let mut waiting = TcpStream::connect(address).await.unwrap();
    let mut name = [0_u8; 1];
    assert!(timeout(Duration::from_millis(200), waiting.read_exact(&mut name)).await.is_err());
    open.truncate(15);
    timeout(SOON, waiting.read_exact(&mut name)).await.unwrap().unwrap();
    assert_eq!(&name, b"a");
}
