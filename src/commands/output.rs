//! `slipway output`

use std::process::ExitCode;

use serde_json::{Value as Json, json};
use slipway_operations::Opened;
use slipway_spec::model::Endpoint;

use super::kubeconfig;
use super::state as shown;
use crate::cli::ReportFormat;
use crate::cli::clusters::{OutputArguments, OutputName};
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// Shows the values of a cluster that scripts and other tools need. Reads the state only, and no secret.
pub(crate) async fn run(context: &Context, arguments: &OutputArguments) -> Result<ExitCode, CommandError> {
    let opened = kubeconfig::open(context, &arguments.cluster).await?;
    let values = values(&opened).await?;
    let text = match (arguments.only, arguments.output) {
        (None, ReportFormat::Json) => shown::json(&values)?,
        (None, ReportFormat::Text) => lines(&values),
        (Some(name), format) => {
            let value = values.get(name.field()).filter(|value| !value.is_null());
            let value = value.ok_or_else(|| missing(&opened, name))?;
            match format {
                ReportFormat::Json => shown::json(value)?,
                ReportFormat::Text => plain(value),
            }
        }
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The values, by the cluster as it was applied last.
async fn values(opened: &Opened) -> Result<Json, CommandError> {
    let cluster = &opened.spec.cluster;
    let access = opened.access();
    let authority = access.certificates().await?;
    let known = access.endpoints().first().map(|endpoint| endpoint.url());
    let given = match &cluster.control_plane.endpoint {
        Endpoint::Given(given) => Some(url(&given.host, given.port)),
        Endpoint::LoadBalancer(_) | Endpoint::VirtualIp(_) | Endpoint::Elected {} => None,
    };
    let pools: Vec<Json> = cluster
        .pools
        .iter()
        .map(|pool| {
            json!({
                "name": pool.name,
                "role": pool.role.as_str(),
                "min": pool.size.min(),
                "max": pool.size.max(),
                "machine_type": pool.machine_type,
                "version": pool.kubernetes_version.to_string(),
                "zones": pool.zones,
            })
        })
        .collect();
    let state = opened.state.as_ref();
    let records = state.into_iter().flat_map(|state| &state.snapshot.resources);
    let objects: serde_json::Map<String, Json> =
        records.map(|(address, record)| (address.to_string(), record.identity.as_str().into())).collect();
    Ok(json!({
        "cluster": cluster.name,
        "uid": state.map(|state| state.snapshot.uid.to_string()),
        "generation": state.map(|state| state.head.generation.0),
        "provider": cluster.provider.name,
        "region": cluster.region,
        "zones": cluster.zones,
        "kubernetes_version": cluster.kubernetes_version.to_string(),
        "endpoint": known.or(given),
        "certificate_authority": authority,
        "pools": pools,
        "objects": objects,
    }))
}

/// The URL of an API server; an IPv6 address gets brackets.
fn url(host: &str, port: u16) -> String {
    match host.contains(':') {
        true => format!("https://[{host}]:{port}"),
        false => format!("https://{host}:{port}"),
    }
}

/// One line for each value, and for each pool. The objects and the authority are only in JSON and alone.
fn lines(values: &Json) -> String {
    let mut text = String::new();
    for (name, value) in values.as_object().into_iter().flatten() {
        match value {
            Json::Null | Json::Object(_) => {}
            _ if name == "certificate_authority" => {}
            Json::Array(items) if name == "pools" => {
                let names: Vec<&str> = items.iter().filter_map(|pool| pool["name"].as_str()).collect();
                text.push_str(&format!("pools = {}\n", names.join(", ")));
            }
            value => text.push_str(&format!("{name} = {}\n", plain(value))),
        }
    }
    text
}

/// A value without quotes.
fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.trim_end().to_owned(),
        Json::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Why a cluster does not have a value.
fn missing(opened: &Opened, name: OutputName) -> CommandError {
    if matches!(name, OutputName::CertificateAuthority | OutputName::Endpoint) {
        return opened.no_authority().into();
    }
    let cluster = &opened.spec.cluster.name;
    CommandError::new(code::NO_VALUE, format!("{cluster} has no value {}", name.field()))
        .hint(format!("`slipway output {cluster}` lists the values that it has"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_a_line_for_each_value_and_an_address_its_brackets() {
        assert_eq!(url("fd00::1", 6443), "https://[fd00::1]:6443");
        assert_eq!(url("api.example.com", 443), "https://api.example.com:443");
        let values = json!({
            "certificate_authority": "pem", "cluster": "demo", "generation": 2, "objects": {}, "pools": [{ "name": "a" }, { "name": "b" }],
            "region": null, "zones": ["x", "y"],
        });
        assert_eq!(lines(&values), "cluster = demo\ngeneration = 2\npools = a, b\nzones = x, y\n");
    }
}
