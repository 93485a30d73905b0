//! Delegated authentication and authorization: the API server of the cluster decides about a client of the endpoints.

use std::time::Duration;

use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};

/// The paths that everybody may read, as in Kubernetes' own controllers.
const OPEN: [&str; 3] = ["/healthz", "/livez", "/readyz"];

/// How long the API server may take for an answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks the API server. That needs the rights of the ClusterRole `system:auth-delegator`.
#[derive(Clone)]
pub(crate) struct Access {
    client: kube::Client,
}

/// A refused request: the status, and the reason for the client.
pub(crate) type Refusal = (StatusCode, String);

impl Access {
    pub(crate) fn new(client: kube::Client) -> Self {
        Self { client }
    }

    /// Whether a request is allowed: with a token whose user has the right to the path.
    pub(crate) async fn check(&self, request: &Parts) -> Result<(), Refusal> {
        let path = request.uri.path();
        if OPEN.contains(&path) {
            return Ok(());
        }
        let unauthenticated = || (StatusCode::UNAUTHORIZED, "Unauthorized".to_owned());
        let token = token(&request.headers).ok_or_else(unauthenticated)?;
        let user = asked(self.user(token)).await?.ok_or_else(unauthenticated)?;
        let name = user.username.clone().unwrap_or_default();
        let verb = request.method.as_str().to_ascii_lowercase();
        let reason = format!("Forbidden: {name} may not {verb} {path}");
        if asked(self.allows(user, verb, path)).await? {
            Ok(())
        } else {
            Err((StatusCode::FORBIDDEN, reason))
        }
    }

    /// The user of a token; `None` if the token is not valid.
    async fn user(&self, token: &str) -> kube::Result<Option<UserInfo>> {
        let spec = TokenReviewSpec { token: token.to_owned(), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let status = reviews.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
        Ok(status.user.filter(|_| status.authenticated == Some(true)))
    }

    async fn allows(&self, user: UserInfo, verb: String, path: &str) -> kube::Result<bool> {
        let attributes = NonResourceAttributes { path: Some(path.to_owned()), verb: Some(verb) };
        let spec = SubjectAccessReviewSpec {
            user: user.username,
            groups: user.groups,
            uid: user.uid,
            extra: user.extra,
            non_resource_attributes: Some(attributes),
            resource_attributes: None,
        };
        let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = reviews.create(&PostParams::default(), &review).await?;
        Ok(answer.status.is_some_and(|status| status.allowed))
    }
}

/// The answer of the API server. Without one, the request is refused.
async fn asked<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, Refusal> {
    let reason = match tokio::time::timeout(PATIENCE, answer).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    tracing::warn!(%reason, "the API server does not tell whether a client may read the endpoints");
    Err((
        StatusCode::INTERNAL_SERVER_ERROR,
        "the API server does not tell whether this is allowed".to_owned(),
    ))
}

/// The token of a client.
fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (kind, token) = value.split_once(' ')?;
    Some(token.trim()).filter(|token| kind.eq_ignore_ascii_case("bearer") && !token.is_empty())
}

#[cfg(test)]
mod tests {
    use http::Request;
    use kube::client::Body;
    use tower::BoxError;

    use super::*;

    /// An API server that knows the token `known`, whose user may read `/metrics`.
    fn access() -> Access {
        let service = tower::service_fn(|request: Request<Body>| async move {
            let path = request.uri().path().to_owned();
            let body = request.into_body().collect_bytes().await?;
            let sent = String::from_utf8_lossy(&body).into_owned();
            let answer = if path.ends_with("/tokenreviews") {
                let known = sent.contains("\"known\"");
                format!(
                    r#"{{"metadata":{{}},"spec":{{}},"status":{{"authenticated":{known},"user":{{"username":"me"}}}}}}"#
                )
            } else {
                let allowed = sent.contains("\"/metrics\"") && sent.contains("\"user\":\"me\"");
                format!(r#"{{"metadata":{{}},"spec":{{}},"status":{{"allowed":{allowed}}}}}"#)
            };
            Ok::<_, BoxError>(http::Response::new(Body::from(answer.into_bytes())))
        });
        Access::new(kube::Client::new(service, "default"))
    }

    async fn status(path: &str, authorization: Option<&str>) -> Option<u16> {
        let mut request = Request::get(path);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        access().check(&parts).await.err().map(|(status, _)| status.as_u16())
    }

    #[tokio::test]
    async fn the_api_server_decides_who_may_read() {
        assert_eq!(status("/healthz", None).await, None);
        assert_eq!(status("/metrics", None).await, Some(401));
        assert_eq!(status("/metrics", Some("Basic known")).await, Some(401));
        assert_eq!(status("/metrics", Some("Bearer other")).await, Some(401));
        assert_eq!(status("/metrics", Some("Bearer known")).await, None);
        assert_eq!(status("/configz", Some("bearer known")).await, Some(403));
    }
}
