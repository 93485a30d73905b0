//! The gRPC services of the contract on one socket.

use std::convert::Infallible;
use std::task::{Context, Poll};

use slipway_protocol::MESSAGE_LIMIT;
use slipway_protocol::generated::load_balancers_server::{
    LoadBalancersServer, SERVICE_NAME as LOAD_BALANCERS,
};
use slipway_protocol::generated::provider_server::ProviderServer;
use slipway_protocol::generated::routes_server::{RoutesServer, SERVICE_NAME as ROUTES};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service as Answering, http};

use crate::service::Service;

/// The services of the contract. The path of a request names its service.
#[derive(Clone)]
pub(crate) struct Contract {
    provider: ProviderServer<Service>,
    load_balancers: LoadBalancersServer<Service>,
    routes: RoutesServer<Service>,
}

impl Contract {
    pub(crate) fn of(service: Service) -> Self {
        let load_balancers = LoadBalancersServer::new(service.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let routes = RoutesServer::new(service.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let provider = ProviderServer::new(service)
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        Self { provider, load_balancers, routes }
    }
}

impl Answering<http::Request<Body>> for Contract {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Self::Error>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        // The services are always ready.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        // `/package.Service/Method`. The service of the provider refuses a path that no service has.
        match request.uri().path().split('/').nth(1) {
            Some(LOAD_BALANCERS) => self.load_balancers.call(request),
            Some(ROUTES) => self.routes.call(request),
            _ => self.provider.call(request),
        }
    }
}
