//! `slipway provider`

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::json;
use slipway_operations::providers::{BUILT_IN, find_named};
use slipway_protocol::LockFile;
use slipway_resource::{Mode, ResourceType};

use crate::cli::{
    ProviderCommand, ProviderInfoArguments, ProviderListArguments, ProviderLockArguments, ReportFormat,
};
use crate::error::CommandError;
use crate::program::Context;

/// Lists, shows or pins providers.
pub(crate) async fn run(context: &Context, command: &ProviderCommand) -> Result<ExitCode, CommandError> {
    match command {
        ProviderCommand::List(arguments) => list(context, arguments),
        ProviderCommand::Info(arguments) => info(context, arguments).await,
        ProviderCommand::Lock(arguments) => lock(context, arguments).await,
    }
}

/// The status of a provider that the lock file has and that is not installed.
const LOCKED_AND_MISSING: &str = "locked, and no executable was found";

/// Name, version, status, and executable of a provider; the last is empty without one.
type Row = (String, String, String, String);

fn list(context: &Context, arguments: &ProviderListArguments) -> Result<ExitCode, CommandError> {
    let file = LockFile::read(context.policy.lock_file())?;
    let (installed, errors) = context.search_path().list();
    let code = if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) };
    for error in errors {
        context.output.notice(&format!("{}: {error}", context.output.style_error("error")));
    }
    let built_in = |name: &str| match file.get(name) {
        Some(_) => "built in, replaced by the locked one",
        None => "built in",
    };
    let mut rows: Vec<Row> = BUILT_IN
        .iter()
        .map(|name| {
            let (version, status) = (env!("CARGO_PKG_VERSION"), built_in(name));
            ((*name).to_owned(), version.to_owned(), status.to_owned(), String::new())
        })
        .collect();
    for provider in &installed {
        let status = match file.verify(provider) {
            Ok(_) => "locked",
            Err(slipway_protocol::Error::Unlocked { .. }) => "not locked",
            Err(slipway_protocol::Error::NotBuilt { .. }) if file.get(provider.name()).is_some() => {
                LOCKED_AND_MISSING
            }
            Err(slipway_protocol::Error::NotBuilt { .. }) if provider.offline_executable().is_some() => {
                "plans offline only"
            }
            Err(slipway_protocol::Error::NotBuilt { .. }) => "no executable was found",
            Err(_) => "changed since it was locked",
        };
        let (name, version) = (provider.name().to_owned(), provider.manifest.version.clone());
        let executable = Some(provider.executable.as_path()).filter(|path| path.exists());
        let executable = executable.or_else(|| provider.offline_executable());
        let executable = executable.map(|path| path.display().to_string()).unwrap_or_default();
        rows.push((name, version, status.to_owned(), executable));
    }
    let is_missing = |name: &str| installed.iter().all(|provider| provider.name() != name);
    rows.extend(file.providers().iter().filter(|locked| is_missing(&locked.name)).map(|locked| {
        (locked.name.clone(), locked.version.clone(), LOCKED_AND_MISSING.to_owned(), String::new())
    }));
    if arguments.output == ReportFormat::Json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(name, version, status, executable)| {
                json!({ "name": name, "version": version, "status": status, "executable": executable })
            })
            .collect();
        context.output.result(&json!({ "providers": rows }).to_string())?;
        return Ok(code);
    }
    let width = |column: fn(&Row) -> usize| rows.iter().map(column).max().unwrap_or(0);
    let (name, version, status) =
        (width(|row| row.0.len()), width(|row| row.1.len()), width(|row| row.2.len()));
    let text = rows.iter().fold(String::new(), |mut text, row| {
        // Writing to a string cannot fail.
        let line = format!("{:name$}  {:version$}  {:status$}  {}", row.0, row.1, row.2, row.3);
        let _ = writeln!(text, "{}", line.trim_end());
        text
    });
    context.output.result(&text)?;
    Ok(code)
}

async fn info(context: &Context, arguments: &ProviderInfoArguments) -> Result<ExitCode, CommandError> {
    let provider = find_named(&context.without_store()?, &arguments.name).await?;
    let info = provider.info().await?;
    let schema = provider.schema().await?;
    if arguments.output == ReportFormat::Json {
        context.output.result(&json!({ "info": info, "schema": *schema }).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("{} {}\n\nSettings:\n", info.name, info.version);
    for (name, attribute) in &schema.config {
        let _ = writeln!(text, "  {name}: {}", attribute.description);
    }
    text.push_str("\nResource types:\n");
    for (name, kind) in &schema.types {
        let _ = writeln!(text, "  {name}: {}", kind.description);
        let _ = writeln!(text, "    {}", attributes(kind));
    }
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn attributes(kind: &ResourceType) -> String {
    let names = kind.attributes.iter().map(|(name, attribute)| match attribute.mode {
        Mode::Required => format!("{name}*"),
        Mode::Computed => format!("({name})"),
        Mode::Optional | Mode::OptionalComputed => name.clone(),
    });
    names.collect::<Vec<_>>().join(", ")
}

async fn lock(context: &Context, arguments: &ProviderLockArguments) -> Result<ExitCode, CommandError> {
    let mut file = LockFile::read(context.policy.lock_file())?;
    let mut all = Vec::new();
    for name in &arguments.names {
        let installed = context.search_path().find(name)?;
        let locked = slipway_protocol::lock(&installed, &mut file).await?;
        if arguments.output == ReportFormat::Text {
            context.output.result(&format!("{name} {} is locked to {}", locked.version, locked.digest))?;
        }
        all.push(json!({ "name": name, "version": locked.version, "digest": locked.digest }));
    }
    if arguments.output == ReportFormat::Json {
        context.output.outcome(&json!({ "locked": all }).to_string())?;
    }
    Ok(ExitCode::SUCCESS)
}
