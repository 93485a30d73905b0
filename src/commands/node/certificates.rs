//! `slipway node certs`

use std::path::Path;
use std::process::ExitCode;

use jiff::Timestamp;
use serde_json::json;
use slipway_bootstrap::certificate_upload::CertificateKey;
use slipway_bootstrap::kubeconfig::{Kubeconfig, inventory as kubeconfigs};
use slipway_bootstrap::pki::Certificate;
use slipway_bootstrap::pki::expiry::Expiry;
use slipway_bootstrap::pki::inventory;
use slipway_node_agent::facts;
use slipway_node_agent::machine::root_of_files;

use super::mend;
use crate::cli::ReportFormat;
use crate::cli::node::{CertificatesCommand, CheckExpirationArguments, RenewArguments};
use crate::code;
use crate::error::CommandError;
use crate::files;
use crate::program::Context;
use crate::ui::table::table;

/// A certificate that expires sooner changes the exit code.
const SOON_SECONDS: i64 = 30 * 24 * 3600;

pub(super) async fn run(context: &Context, command: &CertificatesCommand) -> Result<ExitCode, CommandError> {
    match command {
        CertificatesCommand::CheckExpiration(arguments) => check(context, arguments),
        CertificatesCommand::Renew(arguments) => renew(context, arguments).await,
        CertificatesCommand::GenerateCsr(arguments) => super::requests::run(context, arguments),
        CertificatesCommand::CertificateKey => {
            let key = CertificateKey::generate().map_err(super::no_randomness)?;
            context.output.result(key.to_text().expose())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The result for a place where a certificate should be.
struct Line {
    name: String,
    found: Option<Expiry>,
    is_authority: bool,
    external: bool,
    authority: Option<&'static str>,
}

fn check(context: &Context, arguments: &CheckExpirationArguments) -> Result<ExitCode, CommandError> {
    let now = Timestamp::now();
    let root = root_of_files(&arguments.rootfs)?;
    let [folder, kubeconfigs] =
        [&arguments.cert_dir, &arguments.kubeconfig_dir].map(|folder| facts::named(&root, folder));
    let lines = lines(&folder, &kubeconfigs, now)?;
    if lines.iter().all(|line| line.found.is_none()) {
        return Err(CommandError::new(
            code::NO_CERTIFICATE,
            format!("there is no certificate in {}", folder.display()),
        )
        .hint("name the folder with --cert-dir"));
    }
    let text = match arguments.output {
        ReportFormat::Text => people(&lines),
        ReportFormat::Json => programs(&lines)?,
    };
    context.output.result(&text)?;
    let ends_soon = lines
        .iter()
        .filter_map(|line| line.found.as_ref())
        .any(|found| found.remaining_seconds < SOON_SECONDS);
    Ok(if ends_soon { ExitCode::from(2) } else { ExitCode::SUCCESS })
}

fn lines(folder: &Path, kubeconfig_folder: &Path, now: Timestamp) -> Result<Vec<Line>, CommandError> {
    let read =
        |path: &Path| files::read(path).map_err(|error| CommandError::file("the certificate", path, error));
    let external = |authority: &str| {
        let base = inventory::certificate(authority).map_or(authority, |entry| entry.base_name);
        folder.join(format!("{base}.crt")).exists() && !folder.join(format!("{base}.key")).exists()
    };
    let mut lines = Vec::new();
    for entry in kubeconfigs::KUBECONFIGS.iter().filter(|entry| entry.renewed) {
        let path = kubeconfig_folder.join(entry.file);
        let mut line = Line {
            name: entry.file.to_owned(),
            found: None,
            is_authority: false,
            external: external("ca"),
            authority: Some("ca"),
        };
        if let Some(text) = read(&path)? {
            let damaged = |error: &dyn std::fmt::Display| damaged(&path, error);
            let kubeconfig = Kubeconfig::parse(&text).map_err(|error| damaged(&error))?;
            let certificate = kubeconfig.certificate().map_err(|error| damaged(&error))?;
            line.found =
                certificate.map(|found| Expiry::of(entry.file, &found, Some("ca"), line.external, now));
        }
        lines.push(line);
    }
    for entry in &inventory::CERTIFICATES {
        let path = folder.join(format!("{}.crt", entry.base_name));
        let external = external(entry.authority.unwrap_or(entry.name));
        let mut line = Line {
            name: entry.name.to_owned(),
            found: None,
            is_authority: entry.is_authority(),
            external,
            authority: entry.authority,
        };
        if let Some(text) = read(&path)? {
            let found = Certificate::from_pem(&text).map_err(|error| damaged(&path, &error))?;
            line.found = Some(Expiry::of(entry.name, &found, entry.authority, external, now));
        }
        lines.push(line);
    }
    Ok(lines)
}

fn damaged(path: &Path, error: &dyn std::fmt::Display) -> CommandError {
    CommandError::new(code::CERTIFICATE, format!("{} cannot be read as a certificate", path.display()))
        .cause(error.to_string())
        .hint("`slipway node plan` shows what it should be, `slipway node apply` mends it")
}

fn people(lines: &[Line]) -> String {
    let rows = |authorities: bool| -> Vec<Vec<String>> {
        let wanted = lines.iter().filter(|line| line.is_authority == authorities);
        wanted
            .map(|line| match &line.found {
                Some(found) => vec![
                    line.name.clone(),
                    found.expires.to_string(),
                    found.remaining(),
                    line.authority.unwrap_or_default().to_owned(),
                    if line.external { "yes" } else { "no" }.to_owned(),
                ],
                None => vec![line.name.clone(), "missing".to_owned()],
            })
            .collect()
    };
    format!(
        "{}\n{}",
        table(&["CERTIFICATE", "EXPIRES", "LEFT", "CA", "EXTERNAL"], &rows(false)),
        table(&["CA", "EXPIRES", "LEFT", "", "EXTERNAL"], &rows(true)),
    )
}

/// In the form of kubeadm, so that what reads its report reads this one.
fn programs(lines: &[Line]) -> Result<String, CommandError> {
    let of = |authorities: bool| -> Vec<serde_json::Value> {
        let wanted = lines.iter().filter(|line| line.is_authority == authorities);
        wanted
            .map(|line| match &line.found {
                Some(found) => json!({
                    "name": line.name,
                    "expirationDate": found.expires.to_string(),
                    "residualTime": found.remaining_seconds,
                    "externallyManaged": line.external,
                    "caName": line.authority.unwrap_or_default(),
                    "missing": false,
                }),
                None => json!({"name": line.name, "externallyManaged": line.external, "missing": true}),
            })
            .collect()
    };
    let document = json!({
        "kind": "CertificateExpirationInfo",
        "apiVersion": "output.kubeadm.k8s.io/v1alpha3",
        "certificates": of(false),
        "certificateAuthorities": of(true),
    });
    serde_json::to_string_pretty(&document)
        .map_err(|error| CommandError::internal("the report cannot be written as JSON", error))
}

/// Replaces certificates in a plan of the machine, so that what uses them restarts with them.
async fn renew(context: &Context, arguments: &RenewArguments) -> Result<ExitCode, CommandError> {
    let mut replace = Vec::new();
    let all = arguments.names.iter().any(|name| name == "all");
    let wanted = |name: &str| all || arguments.names.iter().any(|wanted| wanted == name);
    for entry in inventory::CERTIFICATES.iter().filter(|entry| !entry.is_authority()) {
        if wanted(entry.name) {
            replace.push(format!("certificate.{}", entry.name));
        }
    }
    for entry in kubeconfigs::KUBECONFIGS.iter().filter(|entry| entry.renewed) {
        if wanted(entry.file) || wanted(entry.name) {
            replace.push(format!("kubeconfig.{}", entry.name));
        }
    }
    if replace.is_empty() {
        return Err(CommandError::new(code::NO_CERTIFICATE, format!("there is nothing to renew called {}", arguments.names.join(", ")))
            .hint("`slipway node certs check-expiration` lists the names; CAs are not renewed like other certificates"));
    }
    mend::renew(context, arguments, replace).await
}
