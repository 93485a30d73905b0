use std::collections::BTreeMap;

use slipway_spec::{
    diagnostic::code,
    model::{AtRest, AtRestProvider, Audit, Authentication, Encryption, OpenIdConnect, ServiceAccounts},
    source::SourceFile,
    yaml,
};

use super::{Context, node_files::Files};
use crate::{code as kops_code, defaults, field::Field, outcome::Outcome, values};

/// The OpenID Connect issuer of `kubeAPIServer`.
pub(super) fn authentication(context: &Context<'_>, outcome: &mut Outcome) -> Authentication {
    let server = context.spec.at("kubeAPIServer");
    let issuer = server.at("oidcIssuerURL");
    let Some(url) = issuer.filled() else {
        for leaf in [
            "oidcClientID",
            "oidcUsernameClaim",
            "oidcGroupsClaim",
            "oidcUsernamePrefix",
            "oidcGroupsPrefix",
            "oidcRequiredClaim",
        ] {
            let field = server.at(leaf);
            if field.is_given() {
                let alone = field
                    .error(code::CONTRADICTION, format!("{} is given without an oidcIssuerURL", field.path()))
                    .hint("write the issuer's URL, or leave the field out");
                outcome.say(alone);
            }
        }
        return Authentication::default();
    };
    let path = "authentication.openIdConnect[0]";
    outcome.wrote("authentication.openIdConnect", &issuer);
    for (kops, model) in [
        ("oidcIssuerURL", "issuer"),
        ("oidcClientID", "clientId"),
        ("oidcUsernameClaim", "usernameClaim"),
        ("oidcUsernamePrefix", "usernamePrefix"),
        ("oidcGroupsClaim", "groupsClaim"),
        ("oidcGroupsPrefix", "groupsPrefix"),
        ("oidcRequiredClaim", "requiredClaims"),
    ] {
        outcome.wrote(&format!("{path}.{model}"), &server.at(kops));
    }
    let client = server.at("oidcClientID");
    if client.filled().is_none() {
        let missing = client
            .error(code::MISSING_FIELD, format!("the OpenID Connect issuer {url} has no oidcClientID"))
            .hint("write the audience that tokens must have");
        outcome.say(missing);
    }
    let claim = server.at("oidcUsernameClaim").filled().unwrap_or_else(|| "sub".to_owned());
    // kube-apiserver puts the issuer before every claim but email, and nothing for a hyphen.
    let username_prefix = match server.at("oidcUsernamePrefix").filled().as_deref() {
        Some("-") => String::new(),
        Some(prefix) => prefix.to_owned(),
        None if claim == "email" => String::new(),
        None => format!("{url}#"),
    };
    let connect = OpenIdConnect {
        client_id: client.filled().unwrap_or_default(),
        username_claim: claim,
        username_prefix,
        groups_claim: server.at("oidcGroupsClaim").filled(),
        groups_prefix: server.at("oidcGroupsPrefix").filled().unwrap_or_default(),
        required_claims: claims(&server.at("oidcRequiredClaim"), outcome),
        issuer: url,
    };
    Authentication { open_id_connect: vec![connect], anonymous_health_checks: false }
}

fn claims(field: &Field<'_>, outcome: &mut Outcome) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in field.items() {
        let text = item.text().unwrap_or_default();
        match values::pair(&text, '=') {
            Some((name, value)) => drop(found.insert(name, value)),
            None => outcome.say(item.malformed(
                &text,
                "is not a claim with a value",
                "write it as hd=example.com",
            )),
        }
    }
    found
}

/// The issuer as kOps derives it: the written one, the discovery store's URL, or the API server's internal
/// name.
pub(super) fn service_accounts(
    context: &Context<'_>,
    region: Option<&str>,
    outcome: &mut Outcome,
) -> ServiceAccounts {
    let issuer = context.spec.at("kubeAPIServer.serviceAccountIssuer");
    let discovery = context.spec.at("serviceAccountIssuerDiscovery");
    let store = discovery.at("discoveryStore");
    outcome.wrote("serviceAccounts.issuer", &issuer);
    outcome.wrote("serviceAccounts.discoveryStore", &store);
    let url = issuer
        .filled()
        .or_else(|| store.filled().and_then(|store| store_url(&store, region, context.is_ipv6())))
        .unwrap_or_else(|| format!("https://api.internal.{}", context.name));
    let (audiences, more) =
        (context.spec.at("kubeAPIServer.apiAudiences"), discovery.at("additionalAudiences"));
    outcome
        .wrote("serviceAccounts.additionalAudiences", if audiences.is_given() { &audiences } else { &more });
    let mut additional_audiences = audiences.texts();
    if additional_audiences.is_empty() {
        additional_audiences.push(defaults::AUDIENCE.to_owned());
    }
    for audience in more.texts() {
        if !additional_audiences.contains(&audience) {
            additional_audiences.push(audience);
        }
    }
    additional_audiences.retain(|audience| *audience != url);
    ServiceAccounts { issuer: url, discovery_store: store.filled(), additional_audiences }
}

/// The URL under which the cloud serves a bucket's objects; the bucket is taken to lie in the cluster's region.
fn store_url(store: &str, region: Option<&str>, ipv6: bool) -> Option<String> {
    let (scheme, place) = store.split_once("://")?;
    let place = place.trim_end_matches('/');
    let (bucket, key) = place.split_once('/').unwrap_or((place, ""));
    let key = if key.is_empty() { String::new() } else { format!("/{key}") };
    match scheme {
        "s3" => {
            let region = region?;
            // Under the names for both families the bucket is the first part of the path.
            Some(match ipv6 {
                true => format!("https://s3.dualstack.{region}.amazonaws.com/{bucket}{key}"),
                false => format!("https://{bucket}.s3.{region}.amazonaws.com{key}"),
            })
        }
        "gs" => Some(format!("https://storage.googleapis.com/{bucket}{key}")),
        "memfs" | "https" => Some(format!("https://{place}")),
        _ => None,
    }
}

/// Encryption of what the API server stores. kOps keeps the configuration, and the keys in it, as a secret of its own.
pub(super) fn encryption(context: &Context<'_>, outcome: &mut Outcome) -> Encryption {
    let field = context.spec.at("encryptionConfig");
    outcome.wrote("encryption.atRest", &field);
    if field.boolean() != Some(true) {
        return Encryption::default();
    }
    let warning = field
        .warning(
            kops_code::LOST,
            "encryptionConfig is honoured with a new key: only `slipway adopt` reads the one in kOps' secret store",
        )
        .hint("for a cluster that exists, give its key in a Cluster of slipway.dev before the first apply");
    outcome.say(warning);
    Encryption {
        at_rest: Some(AtRest {
            provider: AtRestProvider::default(),
            key: None,
            kms_endpoint: None,
            resources: vec!["secrets".to_owned()],
        }),
    }
}

/// The audit log; its policy is taken from the file asset at `auditPolicyFile`.
pub(super) fn audit(context: &Context<'_>, outcome: &mut Outcome) -> Audit {
    let server = context.spec.at("kubeAPIServer");
    let path = server.at("auditLogPath");
    outcome.wrote("audit.enabled", &path);
    let file = server.at("auditPolicyFile");
    outcome.wrote("audit.policy", &file);
    let standard = Audit::default();
    for (kops, model) in [
        ("auditLogMaxAge", "maxAgeDays"),
        ("auditLogMaxBackups", "maxBackups"),
        ("auditLogMaxSize", "maxSizeMebibytes"),
    ] {
        outcome.wrote(&format!("audit.{model}"), &server.at(kops));
    }
    Audit {
        enabled: path.filled().is_some() || file.filled().is_some(),
        policy: file.filled().map(|name| policy(context, &file, &name, outcome)).unwrap_or_default(),
        max_age_days: server.at("auditLogMaxAge").number().unwrap_or(standard.max_age_days),
        max_backups: server.at("auditLogMaxBackups").number().unwrap_or(standard.max_backups),
        max_size_mebibytes: server.at("auditLogMaxSize").number().unwrap_or(standard.max_size_mebibytes),
    }
}

fn policy(context: &Context<'_>, file: &Field<'_>, path: &str, outcome: &mut Outcome) -> serde_json::Value {
    let Some(content) = Files::content(&context.spec.at("fileAssets"), path, outcome) else {
        let missing = file
            .error(
                code::UNKNOWN_REFERENCE,
                format!("the audit policy {path} is not among the cluster's fileAssets"),
            )
            .hint("add it there, with this path and the policy as its content");
        outcome.refuse("audit.policy", missing);
        return serde_json::Value::Null;
    };
    let (documents, problems) = yaml::parse(&SourceFile::new(path, content));
    match documents.into_iter().next() {
        Some(document) if problems.is_empty() => document.root.to_json(),
        _ => {
            let malformed = file
                .error(
                    code::BAD_FORMAT,
                    format!("the audit policy {path} among the fileAssets is not valid YAML"),
                )
                .hint("write a Policy of audit.k8s.io/v1 as its content");
            outcome.refuse("audit.policy", malformed);
            serde_json::Value::Null
        }
    }
}
