//! Load balancers of Services.

use slipway_protocol::convert::{balancer_key, desired_balancer};
use slipway_protocol::generated as proto;
use slipway_protocol::generated::get_load_balancer_response::Answer;
use slipway_protocol::generated::load_balancers_server;
use slipway_resource::provider::LoadBalancers;
use slipway_resource::{ErrorClass, ProviderError, Session};
use tonic::Request;

use super::{Service, Unary, invalid, unary};

/// The load balancers of a session.
fn balancers(session: &dyn Session) -> Result<&dyn LoadBalancers, ProviderError> {
    let refuse = || ProviderError::new(ErrorClass::Invalid, "this provider has no load balancers");
    session.load_balancers().ok_or_else(refuse)
}

impl Service {
    async fn getting(
        &self,
        request: proto::GetLoadBalancerRequest,
    ) -> Result<proto::GetLoadBalancerResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let key = balancer_key(request.key).map_err(invalid)?;
        let answer = match balancers(&*open.session)?.get(&key).await? {
            Some(balancer) => Answer::Present(balancer.into()),
            None => Answer::Absent(proto::Absent {}),
        };
        Ok(proto::GetLoadBalancerResponse { answer: Some(answer), error: None })
    }

    async fn ensuring(
        &self,
        request: proto::EnsureLoadBalancerRequest,
    ) -> Result<proto::EnsureLoadBalancerResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let desired = desired_balancer((request.key, request.service, request.nodes)).map_err(invalid)?;
        let balancer = balancers(&*open.session)?.ensure(&desired).await?;
        Ok(proto::EnsureLoadBalancerResponse { load_balancer: Some(balancer.into()), error: None })
    }

    async fn updating(
        &self,
        request: proto::UpdateLoadBalancerRequest,
    ) -> Result<proto::UpdateLoadBalancerResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let desired = desired_balancer((request.key, request.service, request.nodes)).map_err(invalid)?;
        balancers(&*open.session)?.update(&desired).await?;
        Ok(proto::UpdateLoadBalancerResponse::default())
    }

    async fn deleting(
        &self,
        request: proto::DeleteLoadBalancerRequest,
    ) -> Result<proto::DeleteLoadBalancerResponse, ProviderError> {
        let open = self.sessions.get(&request.session)?;
        let key = balancer_key(request.key).map_err(invalid)?;
        balancers(&*open.session)?.delete(&key).await?;
        Ok(proto::DeleteLoadBalancerResponse::default())
    }
}

#[tonic::async_trait]
impl load_balancers_server::LoadBalancers for Service {
    async fn get_load_balancer(
        &self,
        request: Request<proto::GetLoadBalancerRequest>,
    ) -> Unary<proto::GetLoadBalancerResponse> {
        unary(self.getting(request.into_inner()).await)
    }

    async fn ensure_load_balancer(
        &self,
        request: Request<proto::EnsureLoadBalancerRequest>,
    ) -> Unary<proto::EnsureLoadBalancerResponse> {
        unary(self.ensuring(request.into_inner()).await)
    }

    async fn update_load_balancer(
        &self,
        request: Request<proto::UpdateLoadBalancerRequest>,
    ) -> Unary<proto::UpdateLoadBalancerResponse> {
        unary(self.updating(request.into_inner()).await)
    }

    async fn delete_load_balancer(
        &self,
        request: Request<proto::DeleteLoadBalancerRequest>,
    ) -> Unary<proto::DeleteLoadBalancerResponse> {
        unary(self.deleting(request.into_inner()).await)
    }
}
