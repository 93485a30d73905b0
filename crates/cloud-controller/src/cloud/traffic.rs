//! Calls about load balancers and routes.

use slipway_controller::{Fence, Fenced};
use slipway_resource::provider::{
    BalancerKey, DesiredBalancer, LoadBalancer, LoadBalancers, NewRoute, Route, Routes,
};
use slipway_resource::{ErrorClass, ProviderError};

use super::Cloud;

/// Whether this process may change something in the cloud: it leads, or there is no election.
fn may_write(fence: Option<&Fence>) -> Result<(), ProviderError> {
    match fence.map(Fence::remaining) {
        Some(None) => Err(ProviderError::new(ErrorClass::Permanent, Fenced.to_string())),
        Some(Some(_)) | None => Ok(()),
    }
}

/// Load balancers of Services. The controller of Services runs only if the provider has them.
impl Cloud {
    fn balancers(&self) -> Result<&dyn LoadBalancers, ProviderError> {
        let missing = || ProviderError::new(ErrorClass::Invalid, "the provider has no load balancers");
        self.session.load_balancers().ok_or_else(missing)
    }

    /// A load balancer; `None` if it does not exist.
    pub(crate) async fn balancer(&self, key: &BalancerKey) -> Result<Option<LoadBalancer>, ProviderError> {
        self.counted("GetLoadBalancer", self.balancers()?.get(key)).await
    }

    /// Creates or changes a load balancer.
    pub(crate) async fn ensure_balancer(
        &self,
        desired: &DesiredBalancer,
    ) -> Result<LoadBalancer, ProviderError> {
        may_write(self.fence.as_ref())?;
        self.counted("EnsureLoadBalancer", self.balancers()?.ensure(desired)).await
    }

    /// Changes the nodes of a load balancer.
    pub(crate) async fn update_balancer(&self, desired: &DesiredBalancer) -> Result<(), ProviderError> {
        may_write(self.fence.as_ref())?;
        self.counted("UpdateLoadBalancer", self.balancers()?.update(desired)).await
    }

    /// Deletes a load balancer.
    pub(crate) async fn delete_balancer(&self, key: &BalancerKey) -> Result<(), ProviderError> {
        may_write(self.fence.as_ref())?;
        self.counted("DeleteLoadBalancer", self.balancers()?.delete(key)).await
    }
}

/// Routes. The controller of routes runs only if the provider has them.
impl Cloud {
    fn routed(&self) -> Result<&dyn Routes, ProviderError> {
        let missing = || ProviderError::new(ErrorClass::Invalid, "the provider has no routes");
        self.session.routes().ok_or_else(missing)
    }

    /// All routes of the cluster.
    pub(crate) async fn routes(&self) -> Result<Vec<Route>, ProviderError> {
        self.counted("ListRoutes", self.routed()?.list(&self.cluster)).await
    }

    /// Creates a route.
    pub(crate) async fn create_route(&self, route: &NewRoute) -> Result<(), ProviderError> {
        may_write(self.fence.as_ref())?;
        self.counted("CreateRoute", self.routed()?.create(&self.cluster, route)).await
    }

    /// Deletes a route.
    pub(crate) async fn delete_route(&self, route: &Route) -> Result<(), ProviderError> {
        may_write(self.fence.as_ref())?;
        self.counted("DeleteRoute", self.routed()?.delete(&self.cluster, route)).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_lost_its_lease_changes_nothing_in_the_cloud() {
        may_write(None).unwrap();
        // A fence is closed until the lease is held.
        let error = may_write(Some(&Fence::default())).unwrap_err();
        assert!(error.message.contains("does not lead"), "{error}");
    }
}
