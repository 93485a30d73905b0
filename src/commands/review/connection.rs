//! The forge, its token, and the policy, as the caller names them.

use std::path::Path;

use slipway_forges::{Address, Connection, Forge, Kind, Policy, PullRequest, Repository, Token, connect};
use slipway_limits::{file, size};
use slipway_reviews::Checkout;

use crate::cli::review::{ForgeArguments, ForgeKind};
use crate::code;
use crate::error::CommandError;

/// How a policy of the base branch is named.
const OF_BASE: &str = "base:";

/// The repository on the forge, and the forge's host.
pub(super) fn forge(arguments: &ForgeArguments) -> Result<(Box<dyn Forge>, String), CommandError> {
    let (kind, usual) = match arguments.kind {
        ForgeKind::GitHub => (Kind::GitHub, "https://github.com"),
        ForgeKind::GitLab => (Kind::GitLab, "https://gitlab.com"),
        ForgeKind::Gitea => (Kind::Gitea, ""),
    };
    let address = Address::parse(arguments.url.as_deref().unwrap_or(usual), arguments.insecure_http)?;
    let repository = Repository::parse(&arguments.repository)?;
    let token = Some(token(arguments)?);
    let (user, patience) = (arguments.user.clone(), arguments.wait);
    let host = address.host().to_owned();
    Ok((connect(Connection { kind, address, repository, token, user, patience })?, host))
}

fn token(arguments: &ForgeArguments) -> Result<Token, CommandError> {
    if let Some(path) = &arguments.token_file {
        let text = file::read_given_text(path, size::KEY_FILE);
        let text = text.map_err(|error| CommandError::file("the token file", path, error))?;
        return Ok(Token::new(&text)?);
    }
    let name = arguments.token_variable.as_deref().unwrap_or_default();
    let text = std::env::var(name).map_err(|_| {
        CommandError::new(code::NO_TOKEN, format!("the environment variable {name} has no token"))
            .hint("set the variable, or name a file with `--token-file`")
    })?;
    Ok(Token::new(&text)?)
}

/// The policy: of the operator, or of the base branch. The head of a pull request cannot change it.
pub(super) fn policy(
    checkout: &Checkout,
    pull_request: &PullRequest,
    named: Option<&str>,
) -> Result<Policy, CommandError> {
    let Some(named) = named else { return Ok(Policy::default()) };
    if let Some(path) = named.strip_prefix(OF_BASE) {
        let text = checkout.file(&pull_request.base, Path::new(path)).map_err(|error| {
            CommandError::from(error)
                .hint(format!("commit it to the base branch, at {}", pull_request.base.short()))
        })?;
        return Ok(Policy::from_toml(&text)?);
    }
    let path = Path::new(named);
    if checkout.has(path) {
        let message = format!("the policy {named} is in the checkout, where a pull request can change it");
        return Err(CommandError::new(code::POLICY, message)
            .hint(format!("use `--policy {OF_BASE}PATH` for a file of the base branch")));
    }
    let text = file::read_given_text(path, size::CONFIGURATION);
    let text = text.map_err(|error| CommandError::file("the policy", path, error))?;
    Ok(Policy::from_toml(&text)?)
}
