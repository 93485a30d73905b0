//! Names of an endpoint that a spec names: its server is on this machine, since it gets credentials of the caller.

use aws_smithy_runtime_api::client::dns::{DnsFuture, ResolveDns, ResolveDnsError};
use slipway_trust::Reach;

/// Resolves the name of the endpoint to loopback addresses only, and all other names (of AWS, for credentials) as they are.
#[derive(Clone, Debug)]
pub(crate) struct EndpointResolver {
    host: String,
    reach: Reach,
}

impl EndpointResolver {
    /// A resolver for the endpoint of a URL.
    pub fn of(endpoint: &str) -> Self {
        let authority = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
        let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        Self { host: host.to_ascii_lowercase(), reach: Reach::here() }
    }
}

impl ResolveDns for EndpointResolver {
    fn resolve_dns<'a>(&'a self, name: &'a str) -> DnsFuture<'a> {
        let name_of_host = name.to_ascii_lowercase();
        // With buckets as subdomains of the endpoint.
        let is_endpoint = name_of_host == self.host || name_of_host.ends_with(&format!(".{}", self.host));
        let reach = if is_endpoint { self.reach.clone() } else { Reach::anywhere() };
        DnsFuture::new(async move { reach.addresses(name).await.map_err(ResolveDnsError::new) })
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;
    use std::sync::Arc;

    use slipway_trust::{Resolve, Resolving};

    use super::*;

    #[derive(Debug)]
    struct At(IpAddr);

    impl Resolve for At {
        fn resolve<'a>(&'a self, _host: &'a str) -> Resolving<'a> {
            Box::pin(async move { Ok(vec![self.0]) })
        }
    }

    #[tokio::test]
    async fn the_endpoint_of_a_spec_is_on_this_machine() {
        for (address, good) in [("127.0.0.1", true), ("203.0.113.7", false), ("169.254.169.254", false)] {
            let mut resolver = EndpointResolver::of("http://LocalHost:5000/x");
            resolver.reach = resolver.reach.resolved_by(Arc::new(At(address.parse().unwrap())));
            assert_eq!(resolver.resolve_dns("localhost").await.is_ok(), good, "{address}");
            assert_eq!(resolver.resolve_dns("bucket.localhost").await.is_ok(), good, "{address}");
        }
    }
}
