//! The annotations of a Service about its load balancer, with the names of `cloud-provider-aws`.

use std::collections::BTreeMap;

use aws_sdk_elasticloadbalancingv2::types::ProtocolEnum;
use slipway_resource::ProviderError;

use super::desired::HealthCheck;
use crate::error::invalid;
use crate::owner::{Tags, is_hidden};

/// The prefix of all annotations about load balancers of AWS.
const PREFIX: &str = "service.beta.kubernetes.io/aws-load-balancer-";

/// The annotations that are honoured, without the prefix. All others are refused: without them, the load balancer would not be the
/// one that the Service describes.
const HONOURED: [&str; 13] = [
    "additional-resource-tags",
    "cross-zone-load-balancing-enabled",
    "healthcheck-healthy-threshold",
    "healthcheck-interval",
    "healthcheck-path",
    "healthcheck-port",
    "healthcheck-protocol",
    "healthcheck-timeout",
    "healthcheck-unhealthy-threshold",
    "internal",
    "proxy-protocol",
    "subnets",
    "type",
];

/// The annotations of a Service about its load balancer, by name without the prefix.
pub(super) struct Annotations<'s>(BTreeMap<&'s str, &'s str>);

impl<'s> Annotations<'s> {
    /// The annotations of a Service.
    ///
    /// # Errors
    /// `invalid` if one of them is not honoured.
    pub fn of(all: &'s BTreeMap<String, String>) -> Result<Self, ProviderError> {
        let ours = all.iter().filter_map(|(name, value)| Some((name.strip_prefix(PREFIX)?, value.trim())));
        let ours: BTreeMap<&str, &str> = ours.collect();
        if let Some(name) = ours.keys().find(|name| !HONOURED.contains(name)) {
            return Err(invalid(format!("annotation {PREFIX}{name} is not honoured")).with_hint(
                "remove the annotation, or set spec.loadBalancerClass of a controller that honours it",
            ));
        }
        match ours.get("type") {
            None | Some(&"nlb") => Ok(Self(ours)),
            Some(other) => Err(invalid(format!("annotation {PREFIX}type: `{other}` is not `nlb`"))
                .with_hint("for another controller, set spec.loadBalancerClass; it cannot be changed later")),
        }
    }

    fn get(&self, name: &str) -> Option<&'s str> {
        self.0.get(name).copied().filter(|value| !value.is_empty())
    }

    /// Whether the load balancer is internal: every text but `false` says so.
    pub fn internal(&self) -> bool {
        self.get("internal").is_some_and(|value| value != "false")
    }

    /// Ids or names of subnets.
    pub fn subnets(&self) -> Option<Vec<String>> {
        let list = self.get("subnets")?;
        let named = list.split(',').map(str::trim).filter(|name| !name.is_empty());
        Some(named.map(str::to_owned).collect())
    }

    /// Further tags, as `key=value,key=value`.
    ///
    /// # Errors
    /// `invalid` for tags of Slipway, by which resources of a cluster are found, and of AWS.
    pub fn tags(&self) -> Result<Tags, ProviderError> {
        let pairs = self.get("additional-resource-tags").unwrap_or_default().split(',');
        let pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let named = pairs.filter(|(key, _)| !key.trim().is_empty());
        let tags: Tags = named.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect();
        if let Some(key) = tags.keys().find(|key| is_hidden(key)) {
            return Err(invalid(format!(
                "annotation {PREFIX}additional-resource-tags: the tag `{key}` is not for Services"
            )));
        }
        Ok(tags)
    }

    /// Whether an annotation is `true`.
    ///
    /// # Errors
    /// `invalid` for texts other than `true` and `false`.
    pub fn flag(&self, name: &str) -> Result<bool, ProviderError> {
        match self.get(name) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(other) => {
                Err(invalid(format!("annotation {PREFIX}{name}: `{other}` is not `true` or `false`")))
            }
        }
    }

    /// Whether targets get the address of the client in a header of the PROXY protocol.
    ///
    /// # Errors
    /// `invalid` for texts other than `*`, which stands for all ports.
    pub fn proxy_protocol(&self) -> Result<bool, ProviderError> {
        match self.get("proxy-protocol") {
            None => Ok(false),
            Some("*") => Ok(true),
            Some(other) => Err(invalid(format!("annotation {PREFIX}proxy-protocol: `{other}` is not `*`"))),
        }
    }

    fn number(&self, name: &str, default: i32) -> Result<i32, ProviderError> {
        let Some(text) = self.get(name) else { return Ok(default) };
        let number = text.parse::<i32>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| invalid(format!("annotation {PREFIX}{name}: `{text}` is not a positive number")))
    }

    /// A health check with the values of the annotations.
    ///
    /// # Errors
    /// `invalid` for values that AWS does not have.
    pub fn health_check(&self, default: HealthCheck) -> Result<HealthCheck, ProviderError> {
        let protocol = match self.get("healthcheck-protocol").map(str::to_ascii_uppercase).as_deref() {
            None => default.protocol,
            Some("TCP") => ProtocolEnum::Tcp,
            Some("HTTP") => ProtocolEnum::Http,
            Some("HTTPS") => ProtocolEnum::Https,
            Some(other) => {
                let text = format!(
                    "annotation {PREFIX}healthcheck-protocol: `{other}` is not `TCP`, `HTTP` or `HTTPS`"
                );
                return Err(invalid(text));
            }
        };
        let path = self.get("healthcheck-path").map(str::to_owned).or(default.path);
        let path = path.unwrap_or_else(|| "/".to_owned());
        let port = match self.get("healthcheck-port") {
            None => default.port,
            Some(port) if port == "traffic-port" || port.parse::<u16>().is_ok_and(|port| port > 0) => {
                port.to_owned()
            }
            Some(other) => {
                return Err(invalid(format!("annotation {PREFIX}healthcheck-port: `{other}` is not a port")));
            }
        };
        Ok(HealthCheck {
            path: (protocol != ProtocolEnum::Tcp).then_some(path),
            protocol,
            port,
            interval: self.number("healthcheck-interval", default.interval)?,
            timeout: self.number("healthcheck-timeout", default.timeout)?,
            healthy: self.number("healthcheck-healthy-threshold", default.healthy)?,
            unhealthy: self.number("healthcheck-unhealthy-threshold", default.unhealthy)?,
        })
    }
}
