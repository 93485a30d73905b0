//! Proves a provider executable against the contract.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Parser, ValueEnum};
use slipway_protocol::Installed;
use slipway_provider_conformance::{Limits, RULES, Scenario, Suite};

/// Proves a provider executable against the contract.
///
/// Exit codes: 0 when every mandatory rule is kept or cannot be proved, 1 otherwise.
#[derive(Parser)]
#[command(name = "slipway-provider-conformance", version)]
struct Arguments {
    /// The executable, or its provider.toml.
    executable: PathBuf,
    /// Samples; `conformance.json` beside the executable when absent.
    #[arg(long, value_name = "FILE")]
    scenario: Option<PathBuf>,
    /// A JSON file with the configuration of sessions, in place of the scenario's.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Prove these rules only.
    #[arg(long, value_delimiter = ',', value_name = "RULE")]
    rules: Vec<String>,
    /// How many checks run at once.
    #[arg(long, default_value_t = 4)]
    parallel: usize,
    /// The form of the report.
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Arguments for the executable.
    #[arg(last = true)]
    arguments: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Output {
    Text,
    Json,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(rule) = arguments.rules.iter().find(|id| !RULES.iter().any(|rule| rule.id == **id)) {
        bail!("there is no rule {rule}");
    }
    let subject = subject(&arguments.executable)?;
    let mut scenario = match arguments.scenario.or(subject.scenario) {
        Some(path) => Scenario::read(&path)?,
        None => Scenario::default(),
    };
    if let Some(path) = &arguments.config {
        let text = std::fs::read(path).with_context(|| path.display().to_string())?;
        scenario.config = serde_json::from_slice(&text).with_context(|| path.display().to_string())?;
    }
    let limits = Limits { parallel: arguments.parallel, ..Limits::default() };
    let suite = Suite::new(&subject.name, subject.executable, scenario)
        .with_arguments(arguments.arguments)
        .with_limits(limits);
    let report = suite.run(&arguments.rules).await;
    let text = match arguments.output {
        Output::Text => report.to_text(),
        Output::Json => serde_json::to_string_pretty(&report)? + "\n",
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(if report.conforms() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Candidate {
    name: String,
    executable: PathBuf,
    scenario: Option<PathBuf>,
}

/// What is to be proved: a `provider.toml` says all of it, an executable's name says its provider's.
fn subject(path: &Path) -> anyhow::Result<Candidate> {
    if path.extension().is_some_and(|extension| extension == "toml") {
        let installed = Installed::read(path)?;
        let scenario = installed.conformance();
        return Ok(Candidate {
            name: installed.name().to_owned(),
            executable: installed.executable,
            scenario: scenario.is_file().then_some(scenario),
        });
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Some(name) = file.strip_prefix("slipway-provider-") else {
        bail!("{} is not named slipway-provider-<name>", path.display());
    };
    let beside = path.with_file_name("conformance.json");
    Ok(Candidate {
        name: name.to_owned(),
        executable: std::path::absolute(path)?,
        scenario: beside.is_file().then_some(beside),
    })
}
