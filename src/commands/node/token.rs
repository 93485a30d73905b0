//! `slipway node token`

mod bound;

use std::path::Path;
use std::process::ExitCode;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use jiff::Timestamp;
use serde_json::{Value as Json, json};
use slipway_bootstrap::configuration::BootstrapTokenSettings;
use slipway_bootstrap::token::{Stored, Token, TokenError, is_group, node_of_groups};
use slipway_node_agent::api::Api;
use slipway_node_agent::discovery::texts;
use slipway_node_agent::{cluster_info, invite};

use crate::cli::ReportFormat;
use crate::cli::node::{TokenCommand, TokenCreateArguments, TokenDeleteArguments, TokenListArguments};
use crate::code;
use crate::error::CommandError;
use crate::node::settings;
use crate::program::Context;
use crate::ui::table::table;

const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";

pub(super) async fn run(context: &Context, command: &TokenCommand) -> Result<ExitCode, CommandError> {
    match command {
        TokenCommand::Generate => {
            let token = Token::generate().map_err(super::no_randomness)?;
            context.output.result(token.to_text().expose())?;
        }
        TokenCommand::Create(arguments) => create(context, arguments).await?,
        TokenCommand::List(arguments) => list(context, arguments).await?,
        TokenCommand::Delete(arguments) => delete(context, arguments).await?,
        TokenCommand::Approve(arguments) => bound::approve(context, arguments).await?,
    }
    Ok(ExitCode::SUCCESS)
}

fn api(path: &Path) -> Result<Api, CommandError> {
    Ok(Api::of_file(Path::new("/"), path)?)
}

async fn create(context: &Context, arguments: &TokenCreateArguments) -> Result<(), CommandError> {
    let token = match &arguments.token {
        Some(text) => text.parse().map_err(|error: TokenError| {
            CommandError::new(error.code(), error.to_string()).hint("`slipway node token generate` makes one")
        })?,
        None => Token::generate().map_err(super::no_randomness)?,
    };
    if let Some(wrong) = arguments.groups.iter().find(|group| !is_group(group)) {
        return Err(settings::invalid(format!("`{wrong}` cannot be a group of a token")).hint(
            "a group begins with system:bootstrappers: and goes on in small letters, digits, `-` and `:`",
        ));
    }
    let groups = match &arguments.node {
        Some(node) => bound::groups(node)?,
        None => arguments.groups.clone(),
    };
    let settings = BootstrapTokenSettings {
        token: None,
        description: arguments.description.clone(),
        ttl: settings::duration("--ttl", &arguments.ttl)?,
        expires: None,
        usages: arguments.usages.clone(),
        groups,
    };
    let api = api(&arguments.api.kubeconfig)?;
    let now = Timestamp::now();
    let mut object = token.object(&settings, now);
    if arguments.once {
        bound::mark_once(&mut object);
    }
    if arguments.node.is_some() {
        bound::let_in(&api).await?;
    }
    api.post(SECRETS, &object).await?;
    if arguments.usages.iter().any(|usage| usage == "signing") {
        // The controller manager would sign it as well, when it comes to it; a joining machine need not wait.
        cluster_info::sign(&api, &token).await?;
    }
    let text = if arguments.print_join_command {
        let info = cluster_info::read(&api).await?;
        let endpoint = info.cluster.server.trim_start_matches("https://").to_owned();
        let pin = invite::pin_of_text(info.cluster.authority.as_deref().unwrap_or_default())?;
        invite::join_command(&endpoint, token.to_text().expose(), &pin, arguments.certificate_key.as_deref())
    } else {
        token.to_text().expose().to_owned()
    };
    context.output.result(&text)?;
    if let (Some(node), true) = (&arguments.node, arguments.wait) {
        let ttl = settings.ttl.get();
        let end = if ttl.is_zero() { None } else { now.checked_add(ttl).ok() };
        let bound = bound::Bound { id: token.id(), node, once: arguments.once, end };
        bound::wait(context, &api, &bound).await?;
    }
    Ok(())
}

/// A token of the cluster.
struct Found {
    stored: Stored,
    /// The one node that it lets in; any, when absent.
    node: Option<String>,
    /// Whether it is good for one use.
    once: bool,
}

async fn found(api: &Api) -> Result<Vec<Found>, CommandError> {
    let selector = "?fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken";
    let list = api.get(&format!("{SECRETS}{selector}")).await?.body;
    let items = list.get("items").and_then(Json::as_array).into_iter().flatten();
    Ok(items.filter_map(read).collect())
}

/// A token, if a Secret makes one valid.
fn read(secret: &Json) -> Option<Found> {
    let fields = texts(secret).into_iter();
    let fields = fields.filter_map(|(name, text)| Some((name, BASE64_STANDARD.decode(text).ok()?))).collect();
    let name = secret.pointer("/metadata/name")?.as_str()?;
    let stored = Stored::from_secret(name, secret.get("type")?.as_str()?, &fields).ok()?;
    let node = node_of_groups(stored.groups.iter().map(String::as_str));
    Some(Found { stored, node, once: bound::is_once(secret) })
}

async fn list(context: &Context, arguments: &TokenListArguments) -> Result<(), CommandError> {
    let found = found(&api(&arguments.api.kubeconfig)?).await?;
    let text = match arguments.output {
        ReportFormat::Text => {
            let rows: Vec<Vec<String>> = found
                .iter()
                .map(|Found { stored, node, once }| {
                    vec![
                        stored.token.to_text().expose().to_owned(),
                        stored.expires.map_or_else(|| "never".to_owned(), |end| end.to_string()),
                        stored.usages.join(","),
                        node.clone().unwrap_or_else(|| "any".to_owned()),
                        if *once { "once" } else { "many" }.to_owned(),
                        stored.groups.join(","),
                        stored.description.clone(),
                    ]
                })
                .collect();
            table(&["TOKEN", "EXPIRES", "USAGES", "NODE", "TIMES", "GROUPS", "DESCRIPTION"], &rows)
        }
        ReportFormat::Json => {
            let tokens: Vec<Json> = found
                .iter()
                .map(|Found { stored, node, once }| {
                    json!({
                        "kind": "BootstrapToken",
                        "apiVersion": "output.kubeadm.k8s.io/v1alpha3",
                        "token": stored.token.to_text().expose(),
                        "expires": stored.expires.map(|end| end.to_string()),
                        "usages": stored.usages,
                        "node": node,
                        "once": once,
                        "groups": stored.groups,
                        "description": stored.description,
                    })
                })
                .collect();
            Json::from(tokens).to_string()
        }
    };
    context.output.result(&text)
}

async fn delete(context: &Context, arguments: &TokenDeleteArguments) -> Result<(), CommandError> {
    let api = api(&arguments.api.kubeconfig)?;
    for token in &arguments.tokens {
        let id = token.split('.').next().unwrap_or(token);
        match api.delete(&format!("{SECRETS}/bootstrap-token-{id}")).await {
            Ok(()) => {
                cluster_info::unsign(&api, id).await?;
                context.output.message(&format!("Token {id} is removed."));
            }
            Err(error) if error.status() == Some(404) => {
                return Err(CommandError::new(
                    code::NO_BOOTSTRAP_TOKEN,
                    format!("the cluster has no token {id}"),
                )
                .hint("`slipway node token list` shows those that there are"));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
