//! From a server's name to the addresses at which it may be.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use tower::Service;

use crate::trust::MayBeAt;

/// The system's resolver, with a look at each address.
#[derive(Clone)]
pub(super) struct Resolver {
    pub may_be_at: MayBeAt,
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Resolver")
    }
}

impl Service<Name> for Resolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, io::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let may_be_at = self.may_be_at.clone();
        Box::pin(async move {
            let shown = name.to_string();
            let found = GaiResolver::new().call(name).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| may_be_at(address.ip())).collect();
            if allowed.is_empty() {
                let text = format!("{shown} is at no address that a spec may name");
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
            }
            Ok(allowed.into_iter())
        })
    }
}
