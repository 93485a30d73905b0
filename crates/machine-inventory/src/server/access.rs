//! Whether a host may do what it asks for.

use http::header::AUTHORIZATION;
use http::{HeaderMap, StatusCode};
use jiff::Timestamp;
use slipway_controller::k8s_openapi::api::core::v1::Secret;
use slipway_controller::kube::{Api, Client};

use super::answer::Refusal;
use crate::api::{ElementalHost, ElementalRegistration};
use crate::keys::{PrivateKey, PublicKey};
use crate::registrations::{key_text, secret_name};
use crate::token;
use crate::world::namespace;

/// The header with the registration token.
const REGISTRATION: &str = "Registration-Authorization";

/// The token in a header.
fn bearer<'a>(headers: &'a HeaderMap, header: &str) -> Result<&'a str, Refusal> {
    let value = headers.get(header).and_then(|value| value.to_str().ok());
    let token = value.and_then(|value| value.strip_prefix("Bearer "));
    token.ok_or_else(|| Refusal(StatusCode::UNAUTHORIZED, format!("the header {header} has no bearer token")))
}

fn forbidden(what: &str, error: impl std::fmt::Display) -> Refusal {
    Refusal(StatusCode::FORBIDDEN, format!("the {what} is refused: {error}"))
}

/// The address of a registration, which is the audience of all tokens.
fn uri(registration: &ElementalRegistration) -> Result<&str, Refusal> {
    let uri = registration.spec.config.elemental.registration.uri.as_deref().filter(|uri| !uri.is_empty());
    uri.ok_or_else(|| Refusal(StatusCode::NOT_FOUND, "the registration has no URI yet".to_owned()))
}

/// Checks that a request has a token of the registration.
pub(super) async fn check_registration(
    client: &Client,
    registration: &ElementalRegistration,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    let token = bearer(headers, REGISTRATION)?;
    let uri = uri(registration)?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace(&registration.metadata));
    let secret = secrets.get(secret_name(registration)).await?;
    let public = PrivateKey::read(&key_text(&secret)).and_then(|key| key.public());
    let public = public.map_err(|error| forbidden("registration token", error))?;
    token::check(token, &public, uri, uri, Timestamp::now())
        .map_err(|error| forbidden("registration token", error))
}

/// Checks that a request has a token of the host with a key.
pub(super) fn check_key(
    registration: &ElementalRegistration,
    host: &str,
    key: &str,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    let token = bearer(headers, AUTHORIZATION.as_str())?;
    let key = PublicKey::read(key).map_err(|error| forbidden("host token", error))?;
    token::check(token, &key, host, uri(registration)?, Timestamp::now())
        .map_err(|error| forbidden("host token", error))
}

/// Checks that a request has a token of a host that has registered.
pub(super) fn check_host(
    registration: &ElementalRegistration,
    host: &ElementalHost,
    headers: &HeaderMap,
) -> Result<(), Refusal> {
    let key = host.spec.pub_key.as_deref().unwrap_or_default();
    check_key(registration, host.metadata.name.as_deref().unwrap_or_default(), key, headers)
}
