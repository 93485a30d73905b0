//! `slipway version`

use std::process::ExitCode;

use serde::Serialize;

use crate::cli::{ReportFormat, VersionArguments};
use crate::error::CommandError;
use crate::program::Context;

/// The version of the program and of the formats that it writes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    /// Version of the program.
    version: &'static str,
    /// API version of specs.
    spec_api_version: &'static str,
    /// Version of the provider contract.
    provider_contract: &'static str,
    /// Processor architecture and operating system that the program was built for.
    platform: String,
}

/// Shows the version.
pub(crate) fn run(context: &Context, arguments: &VersionArguments) -> Result<ExitCode, CommandError> {
    let version = Version {
        version: env!("CARGO_PKG_VERSION"),
        spec_api_version: slipway_spec::v1alpha1::API_VERSION,
        provider_contract: slipway_protocol::handshake::PROTOCOL,
        platform: format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    };
    let text = match arguments.output {
        ReportFormat::Json => serde_json::to_string_pretty(&version)
            .map_err(|error| CommandError::internal("the version cannot be written", error))?,
        ReportFormat::Text => format!(
            "slipway {} ({})\nspecs: {}\nprovider contract: {}",
            version.version, version.platform, version.spec_api_version, version.provider_contract
        ),
    };
    context.output.result(&text)?;
    Ok(ExitCode::SUCCESS)
}
