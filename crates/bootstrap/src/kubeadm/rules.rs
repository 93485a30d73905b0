//! Forms of values, as kubeadm has them.

use std::net::IpAddr;

use super::context::Context;
use crate::configuration::{Argument, GoDuration, Timeouts, is_dns_name};

/// Whether a text is a name that a certificate may hold: a DNS name, perhaps with `*` as its first label, or an address.
pub(super) fn is_alternative_name(text: &str) -> bool {
    text.parse::<IpAddr>().is_ok() || is_dns_name(text) || text.strip_prefix("*.").is_some_and(is_dns_name)
}

/// Whether a text is valid before `/name:tag` in an image's name: a registry, optionally with a port, and a
/// path.
pub(super) fn is_image_repository(text: &str) -> bool {
    let mut parts = text.split('/');
    let first = parts.next().unwrap_or_default();
    (is_registry(first) || is_path_part(first)) && parts.all(is_path_part)
}

fn is_registry(text: &str) -> bool {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !host.is_empty() && !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host = address.map_or_else(|| host.split('.').all(label), |text| text.parse::<IpAddr>().is_ok());
    host && port.is_none_or(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Small letters and digits, with `.`, `_`, `__` or hyphens between them.
fn is_path_part(text: &str) -> bool {
    let alphanumeric = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let separators = text.split(alphanumeric).filter(|part| !part.is_empty());
    text.starts_with(alphanumeric)
        && text.ends_with(alphanumeric)
        && separators
            .into_iter()
            .all(|part| matches!(part, "." | "_" | "__") || part.bytes().all(|byte| byte == b'-'))
}

/// The scheme of a URL; `None` when it has none.
pub(super) fn scheme(url: &str) -> Option<&str> {
    let (scheme, rest) = url.split_once("://")?;
    let letters = scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    (letters && !scheme.is_empty() && !rest.is_empty()).then_some(scheme)
}

impl Context<'_> {
    /// Refuses a path that is not absolute.
    pub(super) fn absolute(&mut self, path: &str, value: &str) {
        if !value.starts_with('/') {
            self.refuse(path, format!("`{value}` is not an absolute path"), "begin it with `/`");
        }
    }

    /// Refuses what no certificate may hold.
    pub(super) fn alternative_names(&mut self, path: &str, names: &[String]) {
        for (index, name) in names.iter().enumerate().filter(|(_, name)| !is_alternative_name(name)) {
            let message = format!("`{name}` is neither a DNS name nor an IP address");
            let hint =
                "write names in small letters as api.example.test or *.example.test, without scheme and port";
            self.refuse(&format!("{path}/{index}"), message, hint);
        }
    }

    /// Refuses what cannot be part of an image's name.
    pub(super) fn image_repository(&mut self, path: &str, value: &str) {
        if !is_image_repository(value) {
            let message = format!("`{value}` cannot stand before an image's name");
            let hint = "write a registry and a path in small letters, without scheme and tag, as in registry.example.test:5000/k8s";
            self.refuse(path, message, hint);
        }
    }

    /// Flags; those without a name are refused.
    pub(super) fn arguments(&mut self, path: &str, arguments: Vec<super::v1beta4::Arg>) -> Vec<Argument> {
        for (index, argument) in arguments.iter().enumerate() {
            let place = format!("{path}/{index}");
            if argument.name.is_empty() {
                self.refuse(&place, "a flag has no name", "add `name`, the flag without its hyphens");
            } else if argument.name.starts_with('-') {
                let name = argument.name.trim_start_matches('-');
                let message = format!("the flag `{}` would get four hyphens", argument.name);
                self.warn(&place, super::code::UNUSUAL, message, format!("write `name: {name}`"));
            }
        }
        arguments
            .into_iter()
            .map(|argument| Argument { name: argument.name, value: argument.value })
            .collect()
    }

    /// A span of time, or its default.
    pub(super) fn duration(&mut self, path: &str, text: Option<&str>, default: GoDuration) -> GoDuration {
        let Some(text) = text else { return default };
        text.parse().unwrap_or_else(|error: crate::configuration::GoDurationError| {
            self.refuse(path, error.to_string(), "write numbers with units, as in 1h30m");
            default
        })
    }

    /// How long a phase waits for what.
    pub(super) fn timeouts(&mut self, timeouts: Option<super::v1beta4::Timeouts>) -> Timeouts {
        let given = timeouts.unwrap_or_default();
        let default = Timeouts::default();
        let mut read = |name: &str, text: Option<String>, default| {
            self.duration(&format!("timeouts/{name}"), text.as_deref(), default)
        };
        Timeouts {
            control_plane_component_health_check: read(
                "controlPlaneComponentHealthCheck",
                given.control_plane_component_health_check,
                default.control_plane_component_health_check,
            ),
            kubelet_health_check: read(
                "kubeletHealthCheck",
                given.kubelet_health_check,
                default.kubelet_health_check,
            ),
            kubernetes_api_call: read(
                "kubernetesAPICall",
                given.kubernetes_api_call,
                default.kubernetes_api_call,
            ),
            etcd_api_call: read("etcdAPICall", given.etcd_api_call, default.etcd_api_call),
            tls_bootstrap: read("tlsBootstrap", given.tls_bootstrap, default.tls_bootstrap),
            discovery: read("discovery", given.discovery, default.discovery),
            upgrade_manifests: read("upgradeManifests", given.upgrade_manifests, default.upgrade_manifests),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_come_from_registries() {
        for text in [
            "registry.k8s.io",
            "localhost:5000/a/b",
            "a.b/c-d__e.f",
            "Registry.test/x",
            "[fd00::1]:80/x",
            "k8s",
        ] {
            assert!(is_image_repository(text), "{text}");
        }
        for text in ["", "https://a", "a/B", "a//b", "a/", "-a/b", "a/b:tag", "a/.b", "a/b___c", "a:b/c"] {
            assert!(!is_image_repository(text), "{text}");
        }
    }

    #[test]
    fn urls_have_schemes() {
        assert_eq!(scheme("https://a:1"), Some("https"));
        for text in ["a:1", "://a", "/a", "https://"] {
            assert_eq!(scheme(text), None, "{text}");
        }
    }
}
