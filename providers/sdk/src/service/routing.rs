//! Routes to the pods of nodes.

use slipway_protocol::generated as proto;
use slipway_protocol::generated::routes_server;
use slipway_resource::provider::{NewRoute, Route, Routes};
use slipway_resource::{ErrorClass, ProviderError, Session};
use tonic::Request;

use super::{Service, Unary, invalid, unary};

/// The routes of a session.
fn routes(session: &dyn Session) -> Result<&dyn Routes, ProviderError> {
    let refuse = || ProviderError::new(ErrorClass::Invalid, "this provider has no routes");
    session.routes().ok_or_else(refuse)
}

impl Service {
    async fn listing_routes(
        &self,
        request: proto::ListRoutesRequest,
    ) -> Result<proto::ListRoutesResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let listed = routes(&*open.session)?.list(&request.cluster).await?;
        Ok(proto::ListRoutesResponse { routes: listed.into_iter().map(Into::into).collect(), error: None })
    }

    async fn creating_route(
        &self,
        mut request: proto::CreateRouteRequest,
    ) -> Result<proto::CreateRouteResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let cluster = std::mem::take(&mut request.cluster);
        let route = NewRoute::try_from(request).map_err(invalid)?;
        routes(&*open.session)?.create(&cluster, &route).await?;
        Ok(proto::CreateRouteResponse::default())
    }

    async fn deleting_route(
        &self,
        request: proto::DeleteRouteRequest,
    ) -> Result<proto::DeleteRouteResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let route = Route::try_from(request.route.unwrap_or_default()).map_err(invalid)?;
        routes(&*open.session)?.delete(&request.cluster, &route).await?;
        Ok(proto::DeleteRouteResponse::default())
    }
}

#[tonic::async_trait]
impl routes_server::Routes for Service {
    async fn list_routes(
        &self,
        request: Request<proto::ListRoutesRequest>,
    ) -> Unary<proto::ListRoutesResponse> {
        unary(self.listing_routes(request.into_inner()).await)
    }

    async fn create_route(
        &self,
        request: Request<proto::CreateRouteRequest>,
    ) -> Unary<proto::CreateRouteResponse> {
        unary(self.creating_route(request.into_inner()).await)
    }

    async fn delete_route(
        &self,
        request: Request<proto::DeleteRouteRequest>,
    ) -> Unary<proto::DeleteRouteResponse> {
        unary(self.deleting_route(request.into_inner()).await)
    }
}
