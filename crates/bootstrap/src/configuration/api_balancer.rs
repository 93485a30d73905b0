use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::LocalEndpoint;

/// The node-local balancer: on every node, a loopback address behind which all API servers of the cluster are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiBalancer {
    /// The API servers of the control planes.
    pub members: Vec<SocketAddr>,
}

impl ApiBalancer {
    /// The address that clients on a node connect to. The certificate of every API server has it.
    pub const HOST: &'static str = "127.0.0.1";
    /// The port that clients on a node connect to: that of an API server is in use on control planes.
    pub const PORT: u16 = 6444;

    /// Where clients on a node reach the API.
    #[must_use]
    pub fn endpoint() -> LocalEndpoint {
        LocalEndpoint { host: Self::HOST.to_owned(), port: Self::PORT }
    }
}
