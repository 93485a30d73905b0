//! `slipway validate`

use std::process::ExitCode;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};
use slipway_operations::Opened;
use slipway_operations::health::{self, CertificateEnd, Health};
use tokio::time::Instant;

use super::done;
use crate::cli::ReportFormat;
use crate::cli::clusters::ValidateArguments;
use crate::commands::kubeconfig::open;
use crate::error::CommandError;
use crate::program::Context;
use crate::ui::table::table;

/// How often a cluster that is waited for is looked at.
const PERIOD: Duration = Duration::from_secs(2);

/// How long before its end Slipway makes a successor of a certificate that is valid for a year.
const RENEWED: SignedDuration = SignedDuration::from_hours(30 * 24);

/// Reports the health of a cluster; with `--wait`, waits until it is healthy.
pub(crate) async fn run(context: &Context, arguments: &ValidateArguments) -> Result<ExitCode, CommandError> {
    let until = arguments.wait.map(|wait| Instant::now() + wait);
    let (opened, health) = loop {
        // A run that is under way changes the state meanwhile.
        let opened = open(context, &arguments.cluster).await?;
        let health = health::look(&opened).await?;
        let waits = until.is_some_and(|until| Instant::now() + PERIOD < until);
        if health.is_healthy() || !waits {
            break (opened, health);
        }
        tokio::time::sleep(PERIOD).await;
    };
    let certificates = health::certificates(&opened, &health).await;
    match arguments.output {
        ReportFormat::Json => {
            let mut document = health.to_json();
            document["certificates"] = to_json(&certificates);
            let text = serde_json::to_string_pretty(&document)
                .map_err(|error| CommandError::internal("the report cannot be written", error))?;
            context.output.result(&text)?;
        }
        ReportFormat::Text => {
            let ends = ends(&certificates, Timestamp::now());
            context.output.result(&report(&opened, &health, &ends))?;
        }
    }
    Ok(done(health.is_healthy()))
}

/// When certificates end, for programs.
fn to_json(certificates: &[CertificateEnd]) -> Json {
    let one = |certificate: &CertificateEnd| json!({ "address": certificate.address, "ends": certificate.ends.to_string() });
    certificates.iter().map(one).collect()
}

/// When certificates end, for people; empty without certificates.
fn ends(certificates: &[CertificateEnd], now: Timestamp) -> String {
    let Some(first) = certificates.first() else { return String::new() };
    let day = |time: Timestamp| time.strftime("%Y-%m-%d");
    let soon = now.checked_add(RENEWED).unwrap_or(now);
    let due = certificates.iter().filter(|certificate| certificate.ends < soon);
    let rows: Vec<Vec<String>> = due
        .map(|certificate| {
            let over = if certificate.ends <= now { "has ended" } else { "ends soon" };
            vec![certificate.address.clone(), day(certificate.ends).to_string(), over.to_owned()]
        })
        .collect();
    if rows.is_empty() {
        let count = certificates.len();
        return format!(
            "CERTIFICATES  {count}, of which the first ends on {}: {}\n",
            day(first.ends),
            first.address
        );
    }
    format!("{}`slipway apply` renews them.\n", table(&["CERTIFICATE", "ENDS", ""], &rows))
}

fn report(opened: &Opened, health: &Health, certificates: &str) -> String {
    let mut text = match &health.api {
        None => "API     answers\n".to_owned(),
        Some(reason) => format!("API     {reason}\n"),
    };
    if !health.nodes.is_empty() {
        text.push('\n');
        let rows: Vec<Vec<String>> = health
            .nodes
            .iter()
            .map(|node| {
                let error = node.error.clone().unwrap_or_default();
                vec![node.name.clone(), node.pool.clone(), node.phase.as_str().to_owned(), error]
            })
            .collect();
        text.push_str(&table(&["NODE", "POOL", "PHASE", "LAST ERROR"], &rows));
    }
    for node in health.nodes.iter().filter(|node| !node.console.is_empty()) {
        text.push_str(&format!("\nCONSOLE of {}\n", node.name));
        node.console.iter().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    if !health.pods.is_empty() {
        text.push('\n');
        let rows: Vec<Vec<String>> =
            health.pods.iter().map(|(name, reason)| vec![name.clone(), reason.clone()]).collect();
        text.push_str(&table(&["POD", "NOT READY BECAUSE"], &rows));
    }
    if !health.missing.is_empty() {
        text.push_str("\nMACHINES\n");
        health.missing.iter().for_each(|problem| text.push_str(&format!("{problem}\n")));
    }
    if !health.etcd.is_empty() {
        text.push_str("\nETCD\n");
        health.etcd.iter().for_each(|problem| text.push_str(&format!("{problem}\n")));
    }
    if !certificates.is_empty() {
        text.push_str(&format!("\n{certificates}"));
    }
    let verdict = if health.is_healthy() { "is healthy" } else { "is not healthy" };
    text.push_str(&format!("\n{} {verdict}.\n", opened.spec.cluster.name));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_that_end_soon_are_listed() {
        let now: Timestamp = "2026-11-27T12:00:00Z".parse().unwrap();
        let certificate = |address: &str, ends: &str| CertificateEnd {
            ends: ends.parse().unwrap(),
            address: format!("certificate.cp-0/{address}"),
        };
        let later = certificate("etcd-peer", "2027-11-27T12:00:00Z");
        let text = ends(std::slice::from_ref(&later), now);
        assert_eq!(
            text,
            "CERTIFICATES  1, of which the first ends on 2027-11-27: certificate.cp-0/etcd-peer\n"
        );
        let listed = json!([{ "address": "certificate.cp-0/etcd-peer", "ends": "2027-11-27T12:00:00Z" }]);
        assert_eq!(to_json(std::slice::from_ref(&later)), listed);
        let over = certificate("apiserver", "2026-11-27T11:00:00Z");
        let soon = certificate("etcd-server", "2026-12-20T12:00:00Z");
        let expected = "CERTIFICATE                   ENDS\n\
                        certificate.cp-0/apiserver    2026-11-27  has ended\n\
                        certificate.cp-0/etcd-server  2026-12-20  ends soon\n\
                        `slipway apply` renews them.\n";
        assert_eq!(ends(&[over, soon, later], now), expected);
        assert_eq!(ends(&[], now), "");
        assert_eq!(to_json(&[]), json!([]));
    }
}
