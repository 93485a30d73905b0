use super::context::{Context, error};
use crate::{
    diagnostic::code::{CONTRADICTION, INLINE_SECRET},
    model::{AtRestProvider, NodeFiles},
    reader::join,
    value::SecretReference,
};

/// Checks that the spec contains no secret, and that fields for secrets name their source.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    files(context, "nodeFiles", &cluster.node_files);
    for pool in &cluster.pools {
        let path = format!("pools[{}]", pool.name);
        files(context, &format!("{path}.nodeFiles"), &pool.node_files);
        for part in &pool.user_data {
            let place = format!("{path}.userData[{}].content", part.name);
            content(context, &place, &format!("the user data `{}`", part.name), &part.content);
        }
    }
    for (name, component) in &cluster.components {
        for (variable, value) in &component.environment {
            let upper = variable.to_ascii_uppercase();
            let secret = ["PASSWORD", "SECRET", "TOKEN", "PRIVATE_KEY", "CREDENTIAL"]
                .iter()
                .any(|word| upper.contains(word));
            if secret && !value.starts_with('/') {
                let complaint = error(
                    INLINE_SECRET,
                    format!("the variable `{variable}` of {name} holds a secret"),
                    "put the secret in a file on the node and name its path, or let the component use the node's own identity",
                );
                context.at(&join(&format!("components.{name}.environment"), variable), complaint);
            }
        }
    }
    if let Some(proxy) = &cluster.egress_proxy
        && let Some((_, rest)) = proxy.url.split_once("://")
        && rest.split('/').next().is_some_and(|authority| authority.contains('@'))
    {
        let complaint = error(
            INLINE_SECRET,
            "the proxy's URL holds a user and a password",
            "use a proxy that knows its clients by address, and write the URL without them",
        );
        context.at("egressProxy.url", complaint);
    }
    at_rest(context);
}

fn files(context: &mut Context<'_>, path: &str, node_files: &NodeFiles) {
    for file in &node_files.files {
        let place = format!("{path}.files[{}]", file.name);
        // Values that a pool inherits from its cluster are reported there.
        if !context.is_written(&place) {
            continue;
        }
        content(context, &format!("{place}.content"), &format!("the file `{}`", file.name), &file.content);
        if !file.path.starts_with('/') {
            let complaint = error(
                CONTRADICTION,
                format!("the path `{}` is not absolute", file.path),
                "begin it with `/`",
            );
            context.at(&format!("{place}.path"), complaint);
        }
        let octal =
            (3..=4).contains(&file.mode.len()) && file.mode.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
        if !octal {
            let complaint = error(
                CONTRADICTION,
                format!("the mode `{}` is not three or four octal digits", file.mode),
                "write it as in \"0644\", in quotes",
            );
            context.at(&format!("{place}.mode"), complaint);
        }
    }
}

fn content(context: &mut Context<'_>, path: &str, what: &str, text: &str) {
    let found = if text.contains("PRIVATE KEY-----") {
        "a private key"
    } else if text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(is_access_key) {
        "an access key"
    } else {
        return;
    };
    let complaint = error(
        INLINE_SECRET,
        format!("{what} holds {found}"),
        "specs and boot data are readable by many: give the machine an identity of its own, and replace this secret, it is known now",
    );
    context.at(path, complaint);
}

/// Whether a word has the form of an AWS access key id.
fn is_access_key(word: &str) -> bool {
    word.len() == 20
        && (word.starts_with("AKIA") || word.starts_with("ASIA"))
        && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

fn at_rest(context: &mut Context<'_>) {
    let Some(at_rest) = &context.cluster.encryption.at_rest else { return };
    let path = "encryption.atRest";
    match (at_rest.provider, &at_rest.kms_endpoint) {
        (AtRestProvider::Kms, None) => {
            let complaint = error(
                CONTRADICTION,
                "the provider `kms` needs the socket of its plugin",
                "add `kmsEndpoint: unix:///run/kms/plugin.sock`",
            );
            context.at(&format!("{path}.provider"), complaint);
        }
        (AtRestProvider::Kms, Some(endpoint)) if !endpoint.starts_with("unix://") => {
            let complaint = error(
                CONTRADICTION,
                format!("the KMS endpoint `{endpoint}` is not a socket"),
                "write a `unix://` URL, as in unix:///run/kms/plugin.sock",
            );
            context.at(&format!("{path}.kmsEndpoint"), complaint);
        }
        (AtRestProvider::Secretbox | AtRestProvider::Aescbc, Some(_)) => {
            let complaint = error(
                CONTRADICTION,
                "a KMS endpoint is given, and the provider is not `kms`",
                "write `provider: kms`, or remove `kmsEndpoint`",
            );
            context.at(&format!("{path}.kmsEndpoint"), complaint);
        }
        _ => {}
    }
    if at_rest.provider == AtRestProvider::Kms && at_rest.key.is_some() {
        let complaint = error(
            CONTRADICTION,
            "a key is given, and with the provider `kms` the plugin keeps the key",
            "remove `key`",
        );
        context.at_key(&format!("{path}.key"), complaint);
    }
    if let Some(SecretReference::Sops(place)) = &at_rest.key
        && !place.split_once('#').is_some_and(|(file, key)| !file.is_empty() && !key.is_empty())
    {
        let complaint = error(
            CONTRADICTION,
            format!("`{place}` does not say which value of which file"),
            "write the file and the keys of the value, as in `secrets.yaml#etcd.key`",
        );
        context.at(&format!("{path}.key"), complaint);
    }
    if at_rest.resources.is_empty() {
        let complaint = error(
            CONTRADICTION,
            "encryption at rest covers no resources",
            "list at least `secrets`, or leave `resources` out",
        );
        context.at_key(&format!("{path}.resources"), complaint);
    }
}
