//! Tokens that are bound to a node's name: their RBAC objects, and decisions about the requests made with
//! them.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value as Json, json};
use slipway_bootstrap::objects::bound_bootstrappers;
use slipway_bootstrap::token::{ONCE, groups_of_node};
use slipway_node_agent::api::Api;
use slipway_node_agent::approval::{self, Decision};
use tokio::time::Instant;

use crate::cli::node::TokenApproveArguments;
use crate::code;
use crate::error::CommandError;
use crate::node::settings;
use crate::program::Context;

/// The pause before the API is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// The number of failed requests in a row after which the command stops following the API.
const FAILURES: usize = 60;

/// The groups of a token for a node.
pub(super) fn groups(node: &str) -> Result<Vec<String>, CommandError> {
    groups_of_node(node).map(Vec::from).ok_or_else(|| {
        settings::invalid(format!("no node can be called `{node}`"))
            .hint("a node's name has small letters, digits, `-` and `.`, and begins and ends with a letter or a digit")
    })
}

/// Marks a token's Secret as good for one use.
pub(super) fn mark_once(secret: &mut Json) {
    secret["metadata"]["annotations"] = json!({ONCE: "true"});
}

/// Whether a token's Secret is marked so.
pub(super) fn is_once(secret: &Json) -> bool {
    let annotations = secret.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(ONCE)).and_then(Json::as_str) == Some("true")
}

/// Creates the RBAC objects with which a bound token may request a certificate and read the objects that a
/// join needs.
pub(super) async fn let_in(api: &Api) -> Result<(), CommandError> {
    for object in bound_bootstrappers() {
        let collection = match object["metadata"]["namespace"].as_str() {
            Some(namespace) => {
                format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings")
            }
            None => "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings".to_owned(),
        };
        match api.post(&collection, &object).await {
            Ok(_) => {}
            // The object exists already.
            Err(error) if error.status() == Some(409) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// `slipway node token approve`
pub(super) async fn approve(
    context: &Context,
    arguments: &TokenApproveArguments,
) -> Result<(), CommandError> {
    let api = super::api(&arguments.api.kubeconfig)?;
    let Some(time) = &arguments.follow else {
        return tell(context, &approval::decide(&api).await?);
    };
    let time = settings::duration("--follow", time)?.get();
    let until = (!time.is_zero()).then(|| Instant::now() + time);
    let mut patience = Patience::default();
    loop {
        if let Some(decisions) = patience.of(approval::decide(&api).await.map_err(CommandError::from))? {
            tell(context, &decisions)?;
        }
        if until.is_some_and(|until| Instant::now() >= until) {
            return Ok(());
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// A token that was made for a node.
pub(super) struct Bound<'a> {
    pub id: &'a str,
    pub node: &'a str,
    pub once: bool,
    /// When it ends.
    pub end: Option<Timestamp>,
}

/// Decides about requests until the node of a token has joined.
pub(super) async fn wait(context: &Context, api: &Api, bound: &Bound<'_>) -> Result<(), CommandError> {
    let (mut patience, mut approved) = (Patience::default(), false);
    loop {
        let look = async {
            let decisions = approval::decide(api).await?;
            let is_there = approval::is_there(api, bound.id).await?;
            let has_registered = api.find(&format!("/api/v1/nodes/{}", bound.node)).await?.is_some();
            Ok((decisions, is_there, has_registered))
        };
        if let Some((decisions, is_there, has_registered)) = patience.of(look.await)? {
            for decision in &decisions {
                context.output.message(&decision.to_string());
            }
            approved |=
                decisions.iter().any(|decision| decision.token == bound.id && decision.verdict.is_ok());
            if has_registered && (if bound.once { !is_there } else { approved }) {
                context.output.message(&format!("{} has joined.", bound.node));
                return Ok(());
            }
            if bound.end.is_some_and(|end| end <= Timestamp::now()) || !is_there {
                let text =
                    format!("the time of token {} is over, and {} has not joined", bound.id, bound.node);
                return Err(CommandError::new(code::NO_BOOTSTRAP_TOKEN, text).hint("make another token"));
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

fn tell(context: &Context, decisions: &[Decision]) -> Result<(), CommandError> {
    decisions.iter().try_for_each(|decision| context.output.result(&decision.to_string()))
}

/// An API may be away for a moment, as while it restarts.
#[derive(Default)]
struct Patience {
    failures: usize,
}

impl Patience {
    fn of<T>(&mut self, looked: Result<T, CommandError>) -> Result<Option<T>, CommandError> {
        match looked {
            Ok(seen) => {
                self.failures = 0;
                Ok(Some(seen))
            }
            Err(error) if self.failures >= FAILURES => Err(error),
            Err(error) => {
                self.failures += 1;
                tracing::debug!(?error, "the cluster is asked again");
                Ok(None)
            }
        }
    }
}
