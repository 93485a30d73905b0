//! Turns the name of a server into the addresses of connections.
//!
//! A name does not say where its server is, and a resolver may answer differently the next time. So a grant
//! for a name is a [`Reach`]: it resolves the name, keeps the allowed addresses, and the connection uses one
//! of these.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::join_all;
use hyper_util::client::legacy::connect::dns::Name;
use tower::Service;

use crate::network::{address_of, is_here, is_in, plain};
use crate::reserved::{is_loopback, is_reserved};

/// The addresses of a name, while they are looked up.
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// Resolves names of servers.
pub trait Resolve: fmt::Debug + Send + Sync {
    /// All addresses of a name.
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a>;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    #[allow(clippy::disallowed_methods, reason = "this is what resolves names for all others")]
    fn resolve<'a>(&'a self, host: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The addresses at which a server may be.
#[derive(Clone, Debug)]
pub struct Reach {
    rule: Rule,
    resolver: Arc<dyn Resolve>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Anywhere,
    Servers { allowed: Vec<String> },
    Elsewhere,
    Here,
}

impl PartialEq for Reach {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule
    }
}

impl Eq for Reach {}

impl Reach {
    fn new(rule: Rule) -> Self {
        Self { rule, resolver: Arc::new(SystemResolver) }
    }

    /// A server that the caller has named: it may be at any address.
    #[must_use]
    pub fn anywhere() -> Self {
        Self::new(Rule::Anywhere)
    }

    /// A server that a spec names: it may be at any address that is not reserved, and in the networks that the caller allows.
    #[must_use]
    pub fn servers(allowed: &[String]) -> Self {
        Self::new(Rule::Servers { allowed: allowed.to_vec() })
    }

    /// The same; a name that the caller allows may be at any address.
    #[must_use]
    pub fn host(host: &str, allowed: &[String]) -> Self {
        if address_of(host).is_none() && is_in(host, allowed) {
            Self::anywhere()
        } else {
            Self::servers(allowed)
        }
    }

    /// A server that a spec names, and that is not this machine.
    #[must_use]
    pub fn elsewhere() -> Self {
        Self::new(Rule::Elsewhere)
    }

    /// A server on this machine.
    #[must_use]
    pub fn here() -> Self {
        Self::new(Rule::Here)
    }

    /// The same with another resolver.
    #[must_use]
    pub fn resolved_by(self, resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, ..self }
    }

    /// Whether the server may be at an address.
    #[must_use]
    pub fn may_be_at(&self, address: IpAddr) -> bool {
        match &self.rule {
            Rule::Anywhere => true,
            Rule::Servers { allowed } => !is_reserved(address) || is_in(&address.to_string(), allowed),
            Rule::Elsewhere => !is_reserved(address) && !is_loopback(address),
            Rule::Here => plain(address).is_loopback(),
        }
    }

    /// The addresses of a server that may be connected to, in the order of the resolver. `host` is a name or an address, as in
    /// a URL.
    ///
    /// # Errors
    /// When the name cannot be resolved, and `PermissionDenied` when none of its addresses is allowed.
    pub async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let host = host.trim_matches(['[', ']']);
        let found = match address_of(host) {
            // An address with a zone is the caller's own link, and a literal one.
            Some(address) => vec![address],
            None => self.resolver.resolve(host).await?,
        };
        let (allowed, refused): (Vec<IpAddr>, Vec<IpAddr>) =
            found.into_iter().partition(|address| self.may_be_at(*address));
        if allowed.is_empty() {
            return Err(denied(host, &refused));
        }
        Ok(allowed)
    }

    /// Whether the server takes a connection on a port within the time.
    pub async fn answers(&self, host: &str, port: u16, patience: Duration) -> bool {
        let Ok(addresses) = self.addresses(host).await else { return false };
        join_all(addresses.iter().map(|address| knock(*address, port, patience))).await.contains(&true)
    }

    /// The address to connect to: the first that takes a connection on the port within the time, or the first one.
    ///
    /// # Errors
    /// As for [`Self::addresses`].
    pub async fn address(&self, host: &str, port: u16, patience: Duration) -> io::Result<IpAddr> {
        let addresses = self.addresses(host).await?;
        let first = addresses.first().copied().ok_or_else(|| denied(host, &[]))?;
        if addresses.len() == 1 {
            return Ok(first);
        }
        let knocks = join_all(addresses.iter().map(|address| knock(*address, port, patience))).await;
        let open = addresses.iter().zip(knocks).find(|(_, answers)| *answers).map(|(address, _)| *address);
        Ok(open.unwrap_or(first))
    }

    /// Refuses a host that is written as an address at which the server may not be. An HTTP client does not resolve those.
    ///
    /// # Errors
    /// `PermissionDenied`.
    pub fn check_literal(&self, host: &str) -> io::Result<()> {
        match address_of(host) {
            Some(address) if !self.may_be_at(address) => Err(denied(host, &[address])),
            _ => Ok(()),
        }
    }
}

/// The rule of a server that a spec names and that gets credentials of the caller: it is on this machine.
#[must_use]
pub(crate) fn of_server(host: &str, gets_credentials: bool, allowed: &[String]) -> Reach {
    if gets_credentials || is_here(host) { Reach::here() } else { Reach::host(host, allowed) }
}

#[allow(clippy::disallowed_methods, reason = "the addresses are those that a rule allows")]
async fn knock(address: IpAddr, port: u16, patience: Duration) -> bool {
    let connecting = tokio::net::TcpStream::connect(SocketAddr::new(address, port));
    matches!(tokio::time::timeout(patience, connecting).await, Ok(Ok(_)))
}

fn denied(host: &str, addresses: &[IpAddr]) -> io::Error {
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    let text = if addresses.is_empty() {
        format!("{host} has no address")
    } else {
        format!("{host} resolves to {}, which the trust policy does not allow", addresses.join(", "))
    };
    io::Error::new(io::ErrorKind::PermissionDenied, text)
}

/// Resolves the names of an HTTP client's servers right before it connects.
impl Service<Name> for Reach {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Response>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let reach = self.clone();
        Box::pin(async move {
            let addresses = reach.addresses(name.as_str()).await?;
            let places: Vec<SocketAddr> =
                addresses.into_iter().map(|address| SocketAddr::new(address, 0)).collect();
            Ok(places.into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Answers otherwise each time, as the DNS server of an attacker does.
    #[derive(Debug)]
    struct Rebinding(Mutex<Vec<&'static str>>);

    impl Resolve for Rebinding {
        fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
            let answer = self.0.lock().unwrap().remove(0);
            Box::pin(async move { Ok(answer.split(' ').map(|address| address.parse().unwrap()).collect()) })
        }
    }

    fn rebinding(reach: Reach, answers: &[&'static str]) -> Reach {
        reach.resolved_by(Arc::new(Rebinding(Mutex::new(answers.to_vec()))))
    }

    async fn shown(reach: &Reach, host: &str) -> Result<String, String> {
        let found = reach.addresses(host).await.map_err(|error| error.to_string())?;
        Ok(found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "))
    }

    #[tokio::test]
    async fn every_answer_of_a_resolver_is_checked() {
        let reach = rebinding(
            Reach::servers(&["169.254.7.0/24".to_owned()]),
            &[
                "203.0.113.7",
                "169.254.169.254",
                "169.254.169.254 203.0.113.7",
                "169.254.7.1",
                "::ffff:169.254.169.254",
            ],
        );
        assert_eq!(shown(&reach, "api.evil.test").await.unwrap(), "203.0.113.7");
        let refused = shown(&reach, "api.evil.test").await.unwrap_err();
        assert_eq!(
            refused,
            "api.evil.test resolves to 169.254.169.254, which the trust policy does not allow"
        );
        assert_eq!(shown(&reach, "api.evil.test").await.unwrap(), "203.0.113.7", "the others are left out");
        assert_eq!(shown(&reach, "api.evil.test").await.unwrap(), "169.254.7.1", "a network of the caller's");
        assert!(shown(&reach, "api.evil.test").await.is_err(), "written as an IPv6 address");
    }

    #[tokio::test]
    async fn this_machine_is_where_a_loopback_address_is() {
        let here = rebinding(Reach::here(), &["127.0.0.1", "203.0.113.7"]);
        assert_eq!(shown(&here, "localhost").await.unwrap(), "127.0.0.1");
        assert!(shown(&here, "localhost").await.is_err());
        let elsewhere = rebinding(Reach::elsewhere(), &["203.0.113.7", "127.0.0.1"]);
        assert_eq!(shown(&elsewhere, "a.test").await.unwrap(), "203.0.113.7");
        assert!(shown(&elsewhere, "a.test").await.is_err());
    }

    #[tokio::test]
    async fn a_name_that_the_caller_allows_may_be_anywhere() {
        let networks = ["*.example.com".to_owned()];
        let named = rebinding(Reach::host("a.example.com", &networks), &["169.254.169.254"]);
        assert!(shown(&named, "a.example.com").await.is_ok());
        let other = rebinding(Reach::host("a.evil.test", &networks), &["169.254.169.254"]);
        assert!(shown(&other, "a.evil.test").await.is_err());
    }

    #[tokio::test]
    async fn addresses_are_not_resolved() {
        let reach = rebinding(Reach::servers(&[]), &[]);
        assert_eq!(shown(&reach, "[2001:db8::1]").await.unwrap(), "2001:db8::1");
        assert!(shown(&reach, "0xa9fea9fe").await.is_err() && reach.check_literal("0xa9fea9fe").is_err());
        assert!(reach.check_literal("a.test").is_ok());
    }

    #[tokio::test]
    async fn an_http_client_connects_to_the_address_that_was_checked() {
        let mut reach = rebinding(Reach::servers(&[]), &["203.0.113.7", "169.254.169.254"]);
        let name: Name = "a.test".parse().unwrap();
        let found: Vec<SocketAddr> = reach.call(name.clone()).await.unwrap().collect();
        assert_eq!(found, ["203.0.113.7:0".parse().unwrap()]);
        assert_eq!(reach.call(name).await.unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    }
}
