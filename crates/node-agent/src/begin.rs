//! Preparation of a bootstrap before its plan: generated tokens, their expiry, the host's facts.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use slipway_bootstrap::certificate_upload::CertificateKey;
use slipway_bootstrap::configuration::{Configuration, Discovery};
use slipway_bootstrap::expand::{Facts, InitSystem};
use slipway_bootstrap::token::Token;
use slipway_resource::{Secret, SecretText};

use super::facts::{below, init_system};
use super::secrets::NodeSecrets;
use super::spec::NodeSpec;
use crate::error::Error;

/// Gives every token of a configuration its text and its end, and learns all texts.
///
/// Generated values are stored on the machine, so that an interrupted run continues with the same ones.
pub fn complete(
    configuration: &mut Configuration,
    before: Option<&NodeSpec>,
    secrets: &mut NodeSecrets,
    upload_certificates: bool,
    now: Timestamp,
) -> Result<(), Error> {
    let known = before.map(|spec| spec.configuration.node.bootstrap_tokens.as_slice()).unwrap_or_default();
    for (index, token) in configuration.node.bootstrap_tokens.iter_mut().enumerate() {
        let name = format!("bootstrap-token-{index}");
        let given = token.token.as_ref().and_then(|token| token.text.as_ref());
        token.token = Some(match given {
            Some(text) => secrets.keep(&name, text),
            None => {
                let generate = || Token::generate().map(|token| token.to_text().expose().to_owned());
                secrets.remembered(&name, generate).map_err(random_failed)?
            }
        });
        // The end is counted from the first run that made it.
        if token.expires.is_none() && !token.ttl.is_zero() {
            let earlier =
                known.get(index).filter(|known| known.token == token.token).and_then(|known| known.expires);
            token.expires = match earlier {
                Some(end) => Some(end),
                None => Some(whole_seconds(now, token.ttl.get())?),
            };
        }
    }
    let given = configuration.node.certificate_key.as_ref().and_then(|key| key.text.clone());
    configuration.node.certificate_key = match given {
        Some(text) => Some(secrets.keep("certificate-key", &text)),
        None if upload_certificates => {
            let generate = || CertificateKey::generate().map(|key| key.to_text().expose().to_owned());
            Some(secrets.remembered("certificate-key", generate).map_err(random_failed)?)
        }
        None => None,
    };
    learn(configuration, secrets);
    Ok(())
}

fn learn(configuration: &Configuration, secrets: &mut NodeSecrets) {
    let tokens = configuration.node.bootstrap_tokens.iter().filter_map(|token| token.token.as_ref());
    let join = configuration.join.iter().flat_map(|join| {
        let discovery = match &join.discovery {
            Discovery::Token(token) => Some(&token.token),
            Discovery::File(_) => None,
        };
        discovery.into_iter().chain(&join.tls_bootstrap_token)
    });
    for token in configuration.node.bootstrap_tokens.iter().filter_map(|token| token.token.as_ref()) {
        // An expansion speaks of the two parts of a token, of which the second is the secret.
        if let Some((id, part)) = token.text.as_ref().and_then(|text| text.expose().split_once('.')) {
            secrets
                .learn(&Secret { text: Some(SecretText::new(part)), ..Secret::new(format!("token:{id}")) });
        }
    }
    for secret in tokens.chain(join).chain(&configuration.node.certificate_key) {
        secrets.learn(secret);
    }
}

fn random_failed(error: impl std::fmt::Display) -> Error {
    Error::new(slipway_operations::code::INTERNAL, "the system gives no random numbers")
        .cause(error.to_string())
}

/// A moment that long from now, in whole seconds as tokens have it.
pub fn whole_seconds(now: Timestamp, span: std::time::Duration) -> Result<Timestamp, Error> {
    let end = SignedDuration::try_from(span).ok().and_then(|span| now.checked_add(span).ok());
    end.and_then(|end| Timestamp::from_second(end.as_second()).ok())
        .ok_or_else(|| Error::invalid("the token would live longer than time is counted"))
}

/// The facts of the host for an expansion.
pub fn expansion(root: &Path, configuration: &Configuration) -> Result<Facts, Error> {
    let cluster = &configuration.cluster;
    let authority = |name: &str| {
        let at = |end: &str| below(root, &format!("{}/{name}.{end}", cluster.certificates_dir)).exists();
        at("crt") && !at("key")
    };
    let is_there = |path: &&&str| below(root, path).is_dir();
    let mut facts = Facts {
        hostname: super::facts::detect(root).hostname,
        init_system: match init_system(root) {
            "systemd" => InitSystem::Systemd,
            "openrc" => InitSystem::Openrc,
            _ => InitSystem::None,
        },
        systemd_resolved: root.join("run/systemd/resolve/resolv.conf").exists(),
        ca_folders: Facts::CA_FOLDERS.iter().filter(is_there).map(|path| (*path).to_owned()).collect(),
        proxy_environment: super::facts::proxies(),
        external_authorities: ["ca", "front-proxy-ca", "etcd/ca"]
            .into_iter()
            .filter(|name| authority(name))
            .map(str::to_owned)
            .collect(),
        kubelet: super::facts::program("kubelet").map(|path| path.display().to_string()),
        ..Facts::default()
    };
    if facts.init_system == InitSystem::None
        && let Ok(path) = std::env::var("PATH")
    {
        facts.kubelet_environment.insert("PATH".to_owned(), path);
    }
    if let Some(folder) = &configuration.node.patches_directory {
        facts.patches = patches(&below(root, folder))?;
    }
    Ok(facts)
}

/// The patch files of a folder, by their names.
fn patches(folder: &Path) -> Result<std::collections::BTreeMap<String, String>, Error> {
    let unreadable = |error: &std::io::Error| Error::file("the folder of patches", folder, error);
    let mut found = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(|error| unreadable(&error))? {
        let path = entry.map_err(|error| unreadable(&error))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_patch =
            ["yaml", "json"].iter().any(|end| path.extension().is_some_and(|extension| extension == *end));
        if is_patch {
            let text = slipway_limits::file::read_text(&path, slipway_limits::size::SPEC)
                .map_err(|error| Error::file("the patch", &path, &error))?;
            found.insert(name, text);
        }
    }
    Ok(found)
}
