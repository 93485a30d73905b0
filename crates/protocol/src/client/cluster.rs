//! Load balancers and routes of a running cluster.

use async_trait::async_trait;
use slipway_resource::ProviderError;
use slipway_resource::provider::{
    BalancerKey, DesiredBalancer, LoadBalancer, LoadBalancers, NewRoute, Route, Routes,
};

use super::session::RemoteSession;
use crate::convert::Malformed;
use crate::generated as proto;
use crate::generated::get_load_balancer_response::Answer;

#[async_trait]
impl LoadBalancers for RemoteSession {
    async fn get(&self, key: &BalancerKey) -> Result<Option<LoadBalancer>, ProviderError> {
        let message = proto::GetLoadBalancerRequest { session: self.id(), key: Some(key.clone().into()) };
        let mut rpc = self.connection().balancers.clone();
        let answer = self.connection().unary(self.patience(), rpc.get_load_balancer(message)).await?.answer;
        match answer {
            Some(Answer::Present(balancer)) => {
                balancer.try_into().map(Some).map_err(|error| self.malformed(&error))
            }
            Some(Answer::Absent(_)) => Ok(None),
            // An unknown answer never counts as absent.
            None => Err(self.malformed(&Malformed::new("answer", ""))),
        }
    }

    async fn ensure(&self, desired: &DesiredBalancer) -> Result<LoadBalancer, ProviderError> {
        let DesiredBalancer { key, service, nodes } = desired.clone();
        let message = proto::EnsureLoadBalancerRequest {
            session: self.id(),
            key: Some(key.into()),
            service: Some(service.into()),
            nodes: nodes.into_iter().map(Into::into).collect(),
        };
        let mut rpc = self.connection().balancers.clone();
        let call = rpc.ensure_load_balancer(message);
        let balancer = self.connection().unary(self.patience(), call).await?.load_balancer;
        let balancer = balancer.ok_or_else(|| self.malformed(&Malformed::new("load balancer", "")))?;
        balancer.try_into().map_err(|error| self.malformed(&error))
    }

    async fn update(&self, desired: &DesiredBalancer) -> Result<(), ProviderError> {
        let DesiredBalancer { key, service, nodes } = desired.clone();
        let message = proto::UpdateLoadBalancerRequest {
            session: self.id(),
            key: Some(key.into()),
            service: Some(service.into()),
            nodes: nodes.into_iter().map(Into::into).collect(),
        };
        let mut rpc = self.connection().balancers.clone();
        self.connection().unary(self.patience(), rpc.update_load_balancer(message)).await?;
        Ok(())
    }

    async fn delete(&self, key: &BalancerKey) -> Result<(), ProviderError> {
        let message = proto::DeleteLoadBalancerRequest { session: self.id(), key: Some(key.clone().into()) };
        let mut rpc = self.connection().balancers.clone();
        self.connection().unary(self.patience(), rpc.delete_load_balancer(message)).await?;
        Ok(())
    }
}

#[async_trait]
impl Routes for RemoteSession {
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, ProviderError> {
        let message = proto::ListRoutesRequest { session: self.id(), cluster: cluster.to_owned() };
        let mut rpc = self.connection().routes.clone();
        let routes = self.connection().unary(self.patience(), rpc.list_routes(message)).await?.routes;
        self.all(routes)
    }

    async fn create(&self, cluster: &str, route: &NewRoute) -> Result<(), ProviderError> {
        let message = proto::CreateRouteRequest {
            session: self.id(),
            cluster: cluster.to_owned(),
            name_hint: route.name_hint.clone(),
            destination: route.destination.to_string(),
            target: Some(route.target.clone().into()),
        };
        let mut rpc = self.connection().routes.clone();
        self.connection().unary(self.patience(), rpc.create_route(message)).await?;
        Ok(())
    }

    async fn delete(&self, cluster: &str, route: &Route) -> Result<(), ProviderError> {
        let message = proto::DeleteRouteRequest {
            session: self.id(),
            cluster: cluster.to_owned(),
            route: Some(route.clone().into()),
        };
        let mut rpc = self.connection().routes.clone();
        self.connection().unary(self.patience(), rpc.delete_route(message)).await?;
        Ok(())
    }
}
