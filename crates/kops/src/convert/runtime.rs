use std::fmt::Write as _;

use slipway_spec::model::{Assets, ContainerRuntime, EgressProxy, RegistryMirror};

use super::Context;
use crate::{field::Field, outcome::Outcome};

/// containerd's settings on every node.
pub(super) fn containerd(context: &Context<'_>, outcome: &mut Outcome) -> ContainerRuntime {
    let field = context.spec.at("containerd");
    for (kops, model) in
        [("version", "version"), ("registryMirrors", "registryMirrors"), ("sandboxImage", "sandboxImage")]
    {
        outcome.wrote(&format!("containerRuntime.{model}"), &field.at(kops));
    }
    let registry_mirrors = field
        .at("registryMirrors")
        .entries()
        .into_iter()
        .map(|(registry, mirrors)| RegistryMirror {
            registry: registry.to_owned(),
            endpoints: mirrors.texts(),
        })
        .collect();
    let extra = extra_config(&field);
    if !extra.is_empty() {
        outcome.wrote("containerRuntime.extraConfig", &field);
    }
    ContainerRuntime {
        version: field.at("version").filled(),
        registry_mirrors,
        sandbox_image: field.at("sandboxImage").filled(),
        extra_config: (!extra.is_empty()).then_some(extra),
    }
}

/// Settings with a field in kOps and none in the model, as containerd's own configuration (version 2).
fn extra_config(field: &Field<'_>) -> String {
    let mut text = String::new();
    if let Some(level) = field.at("logLevel").filled() {
        let _ = writeln!(text, "[debug]\nlevel = {}", quoted(&level));
    }
    if let Some(selinux) = field.at("selinuxEnabled").boolean() {
        let _ = writeln!(text, "[plugins.\"io.containerd.grpc.v1.cri\"]\nenable_selinux = {selinux}");
    }
    let nri = field.at("nri");
    if nri.is_given() {
        let disabled = nri.at("enabled").boolean() != Some(true);
        let _ = writeln!(text, "[plugins.\"io.containerd.nri.v1.nri\"]\ndisable = {disabled}");
        for (kops, own) in [
            ("pluginRegistrationTimeout", "plugin_registration_timeout"),
            ("pluginRequestTimeout", "plugin_request_timeout"),
        ] {
            if let Some(time) = nri.at(kops).filled() {
                let _ = writeln!(text, "{own} = {}", quoted(&time));
            }
        }
    }
    for (key, value) in field.at("configAdditions").entries() {
        let (table, name) = split_key(key);
        if !table.is_empty() {
            let _ = writeln!(text, "[{table}]");
        }
        let node = value.node();
        let bare = node.is_some_and(|node| node.as_str().is_none());
        let shown = value.text().unwrap_or_default();
        let shown = if bare || shown == "true" || shown == "false" { shown } else { quoted(&shown) };
        let _ = writeln!(text, "{name} = {shown}");
    }
    text
}

/// A dotted key as its table and its last name; dots inside quotes do not count.
fn split_key(key: &str) -> (&str, &str) {
    let mut inside = false;
    let mut last = None;
    for (index, letter) in key.char_indices() {
        match letter {
            '"' => inside = !inside,
            '.' if !inside => last = Some(index),
            _ => {}
        }
    }
    last.map_or(("", key), |at| (&key[..at], &key[at + 1..]))
}

/// A TOML text.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Where images and files come from. A proxy for images is a registry as well, one that fills itself.
pub(super) fn assets(context: &Context<'_>, outcome: &mut Outcome) -> Assets {
    let field = context.spec.at("assets");
    let (registry, proxy) = (field.at("containerRegistry"), field.at("containerProxy"));
    let image = if registry.filled().is_some() { registry } else { proxy };
    outcome.wrote("assets.imageRegistry", &image);
    outcome.wrote("assets.fileRepository", &field.at("fileRepository"));
    Assets {
        image_registry: image.filled(),
        file_repository: field.at("fileRepository").filled(),
        ..Assets::default()
    }
}

/// The proxy through which nodes reach the outside.
pub(super) fn egress_proxy(context: &Context<'_>, outcome: &mut Outcome) -> Option<EgressProxy> {
    let field = context.spec.at("egressProxy");
    let (host, port) = (field.at("httpProxy.host"), field.at("httpProxy.port"));
    let name = host.filled()?;
    outcome.wrote("egressProxy", &field);
    outcome.wrote("egressProxy.url", &host);
    outcome.wrote("egressProxy.exclusions", &field.at("excludes"));
    let bare = name.strip_prefix("http://").unwrap_or(&name).trim_end_matches('/');
    let scheme = if name.starts_with("https://") { "" } else { "http://" };
    let url = match port.number::<u16>().filter(|port| *port != 0) {
        Some(port) => format!("{scheme}{bare}:{port}"),
        None => format!("{scheme}{bare}"),
    };
    let exclusions = field.at("excludes").text().map(|text| crate::values::parts(&text)).unwrap_or_default();
    Some(EgressProxy { url, exclusions })
}

#[cfg(test)]
mod tests {
    #[test]
    fn splits_keys_at_the_last_dot_outside_quotes() {
        assert_eq!(
            super::split_key("plugins.\"io.containerd.grpc.v1.cri\".max_concurrent_downloads"),
            ("plugins.\"io.containerd.grpc.v1.cri\"", "max_concurrent_downloads")
        );
        assert_eq!(super::split_key("version"), ("", "version"));
    }
}
