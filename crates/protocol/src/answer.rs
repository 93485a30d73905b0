//! The common part of all answers: the place of their failure.

use crate::generated as proto;

/// An answer of the contract: it has a failure or content.
pub trait Answer: Default {
    /// Takes the failure out.
    fn take_error(&mut self) -> Option<proto::Error>;

    /// The answer that is this failure and nothing else.
    fn failed(error: proto::Error) -> Self;
}

macro_rules! answers {
    ($($message:ident),* $(,)?) => {
        $(impl Answer for proto::$message {
            fn take_error(&mut self) -> Option<proto::Error> {
                self.error.take()
            }

            #[allow(clippy::needless_update, reason = "some answers have nothing but their failure")]
            fn failed(error: proto::Error) -> Self {
                Self {
                    error: Some(error),
                    ..Self::default()
                }
            }
        })*
    };
}

answers!(
    GetInfoResponse,
    GetSchemaResponse,
    ValidateConfigResponse,
    OpenSessionResponse,
    CloseSessionResponse,
    CancelResponse,
    CatalogResponse,
    ExpandResponse,
    DiscoverResponse,
    ReadResponse,
    LocateResponse,
    NodesResponse,
    RehearseResponse,
    PlanResponse,
    PreflightResponse,
    PriceResponse,
    ApplyEvents,
    ResumeResponse,
    UpgradeStateResponse,
    ImportResponse,
    WrapKeyResponse,
    UnwrapKeyResponse,
    BootstrapCredentialResponse,
    VerifyNodeResponse,
    InstancesResponse,
    GetLoadBalancerResponse,
    EnsureLoadBalancerResponse,
    UpdateLoadBalancerResponse,
    DeleteLoadBalancerResponse,
    ListRoutesResponse,
    CreateRouteResponse,
    DeleteRouteResponse,
);
