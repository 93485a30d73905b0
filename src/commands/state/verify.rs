//! `slipway state verify`

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::json;
use slipway_engine::State;
use slipway_operations::recorded::unknown;
use slipway_secrets::{Envelope, Expected};
use slipway_state_store::verify::{Finding, Mend, Report, verify};
use slipway_state_store::{Backend, ClusterName, Error, Prefix, list_clusters};

use crate::cli::ReportFormat;
use crate::cli::state::VerifyArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Reads every object of clusters, and says what does not fit.
pub(crate) async fn run(context: &Context, arguments: &VerifyArguments) -> Result<ExitCode, CommandError> {
    let backend = context.backend()?;
    let clusters = named(&*backend, &arguments.clusters).await?;
    let (mut reports, mut text, mut sound) = (Vec::new(), String::new(), true);
    for cluster in clusters {
        let mut report = match verify(&*backend, &cluster).await {
            Err(Error::NoCluster { .. }) if arguments.clusters.is_empty() => continue,
            Err(Error::NoCluster { .. }) => {
                return Err(unknown(cluster.as_str(), &context.state_url()).into());
            }
            report => report?,
        };
        secrets(&*backend, &cluster, &mut report).await?;
        if report.is_sound()
            && let Err(error) = State::read(&*backend, cluster.as_str()).await
        {
            // The bytes are as they were written, and still say nothing that can be understood.
            let (key, problem) = (format!("{cluster}/head"), error.to_string());
            report.findings.push(Finding { key, problem, mend: Mend::Other });
        }
        sound &= report.is_sound();
        match arguments.output {
            ReportFormat::Text => text.push_str(&lines(&cluster, &report)),
            ReportFormat::Json => reports.push(json!({
                "cluster": cluster,
                "sound": report.is_sound(),
                "objects": report.objects,
                "bytes": report.bytes,
                "findings": report.findings,
            })),
        }
    }
    if arguments.output == ReportFormat::Json {
        text = super::json(&json!({ "sound": sound, "clusters": reports }))?;
    }
    context.output.result(&text)?;
    Ok(if sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The clusters that were named, or all of the store.
pub(super) async fn named(backend: &dyn Backend, names: &[String]) -> Result<Vec<ClusterName>, CommandError> {
    if names.is_empty() {
        return Ok(list_clusters(backend).await?);
    }
    Ok(names.iter().map(|name| ClusterName::new(name.as_str())).collect::<Result<_, _>>()?)
}

/// Checks the headers of what is encrypted; no key is needed for that.
async fn secrets(
    backend: &dyn Backend,
    cluster: &ClusterName,
    report: &mut Report,
) -> Result<(), CommandError> {
    let prefix = Prefix::new(&format!("{cluster}/secrets")).map_err(Error::from)?;
    for key in backend.list(&prefix).await.map_err(Error::from)? {
        // What cannot be read at all is told of already.
        let Ok(Some((bytes, _))) = backend.get(&key).await else { continue };
        if let Err(error) = Envelope::read(&Expected::at(key.as_str()), &bytes) {
            let problem = error.to_string();
            report.findings.push(Finding { key: key.to_string(), problem, mend: Mend::Other });
        }
    }
    Ok(())
}

fn lines(cluster: &ClusterName, report: &Report) -> String {
    let verdict = if report.is_sound() { "sound" } else { "damaged" };
    let mut text = format!("{cluster}: {verdict}, {} objects, {} bytes\n", report.objects, report.bytes);
    for finding in &report.findings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}: {}", finding.key, finding.problem);
        let _ = writeln!(text, "    {}", way_out(cluster, finding.mend));
    }
    text
}

fn way_out(cluster: &ClusterName, mend: Mend) -> String {
    match mend {
        Mend::Rebuild => format!(
            "`slipway state rebuild {cluster} -f …` rebuilds the state from the cloud; `slipway state import` puts an \
             exported one back"
        ),
        Mend::Past => {
            "only the past needs it; `slipway state gc` removes it when that is not kept any more".to_owned()
        }
        Mend::Anew => "run `slipway plan … --out state:` again, and have the plan approved again".to_owned(),
        Mend::Other => {
            "it needs a newer Slipway, the key that it was written for, or a copy from a backup of the store"
                .to_owned()
        }
        Mend::Collect => format!("nothing needs it; `slipway state gc {cluster}` removes what it knows"),
    }
}
