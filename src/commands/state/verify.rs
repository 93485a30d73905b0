//! `slipway state verify`

use std::fmt::Write as _;
use std::process::ExitCode;

use serde_json::json;
use slipway_engine::State;
use slipway_operations::recorded::unknown;
use slipway_secrets::fingerprint::is_older;
use slipway_secrets::store::FINGERPRINT_KEY;
use slipway_secrets::{Envelope, Expected, SealedBackend};
use slipway_state_store::verify::{Finding, Mend, Report, verify};
use slipway_state_store::{Backend, ClusterName, Error, Prefix, list_clusters};

use crate::cli::ReportFormat;
use crate::cli::state::VerifyArguments;
use crate::error::CommandError;
use crate::program::Context;

/// Reads every object of clusters, and says what does not fit.
pub(crate) async fn run(context: &Context, arguments: &VerifyArguments) -> Result<ExitCode, CommandError> {
    let backend = context.readable_backend()?;
    let clusters = named(&backend, &arguments.clusters).await?;
    let (mut reports, mut text, mut sound) = (Vec::new(), String::new(), true);
    for cluster in clusters {
        let mut report = match verify(&backend, &cluster).await {
            Err(Error::NoCluster { .. }) if arguments.clusters.is_empty() => continue,
            Err(Error::NoCluster { .. }) => {
                return Err(unknown(cluster.as_str(), &context.state_url()).into());
            }
            report => report?,
        };
        secrets(&backend, &cluster, &mut report).await?;
        if context.configuration.encryption.state {
            report.findings.extend(unencrypted(&backend, &cluster).await?);
        }
        let is_readable =
            |finding: &Finding| matches!(finding.mend, Mend::Encrypt | Mend::Anew | Mend::Collect);
        if report.findings.iter().all(is_readable) {
            report.findings.extend(understood(&backend, &cluster).await?);
        }
        sound &= report.is_sound();
        match arguments.output {
            ReportFormat::Text => text.push_str(&lines(&cluster, &report)),
            ReportFormat::Json => reports.push(json!({
                "cluster": cluster,
                "sound": report.is_sound(),
                "verdict": verdict(&report),
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

/// Problems of the records in a sound state. The bytes are as they were written, but may not be understood,
/// or may need a key that is lost.
async fn understood(backend: &dyn Backend, cluster: &ClusterName) -> Result<Option<Finding>, CommandError> {
    let state = match State::read(backend, cluster.as_str()).await {
        Ok(state) => state,
        Err(error) => {
            let (key, problem) = (format!("{cluster}/head"), error.to_string());
            return Ok(Some(Finding { key, problem, mend: Mend::Other }));
        }
    };
    let folder = format!("{cluster}/secrets/{FINGERPRINT_KEY}");
    let mut is_needed = false;
    for record in state.iter().flat_map(|state| state.snapshot.resources.values()) {
        record.applied.iter().for_each(|applied| {
            applied.for_each_secret(&mut |secret| {
                is_needed |= secret.keeper().is_none() && secret.fingerprint.as_deref().is_some_and(has_key);
            });
        });
    }
    if !is_needed
        || !backend.list(&Prefix::new(&folder).map_err(Error::from)?).await.map_err(Error::from)?.is_empty()
    {
        return Ok(None);
    }
    let problem = "the key of its fingerprints is missing: the next plan cannot tell whether secrets changed, and asks \
                   to confirm each by name";
    Ok(Some(Finding { key: folder, problem: problem.to_owned(), mend: Mend::Other }))
}

fn has_key(fingerprint: &str) -> bool {
    !is_older(fingerprint)
}

/// Objects that the configuration wants encrypted and that are not. They are not damaged.
async fn unencrypted(
    backend: &SealedBackend,
    cluster: &ClusterName,
) -> Result<Option<Finding>, CommandError> {
    let prefix = Prefix::new(cluster.as_str()).map_err(Error::from)?;
    let mut found = 0;
    for key in backend.list(&prefix).await.map_err(Error::from)? {
        // An object that cannot be read is damaged, which was reported already.
        if matches!(backend.is_clear(&key).await, Ok(true)) {
            found += 1;
        }
    }
    let objects = if found == 1 { "1 object is".to_owned() } else { format!("{found} objects are") };
    let problem = format!("{objects} not encrypted, and the configuration says that the state is");
    Ok((found > 0).then(|| Finding { key: cluster.to_string(), problem, mend: Mend::Encrypt }))
}

/// Checks the headers of what is encrypted; no key is needed for that.
async fn secrets(
    backend: &dyn Backend,
    cluster: &ClusterName,
    report: &mut Report,
) -> Result<(), CommandError> {
    let prefix = Prefix::new(&format!("{cluster}/secrets")).map_err(Error::from)?;
    for key in backend.list(&prefix).await.map_err(Error::from)? {
        // An object that cannot be read at all was reported already.
        let Ok(Some((bytes, _))) = backend.get(&key).await else { continue };
        if let Err(error) = Envelope::read(&Expected::at(key.as_str()), &bytes) {
            let problem = error.to_string();
            report.findings.push(Finding { key: key.to_string(), problem, mend: Mend::Other });
        }
    }
    Ok(())
}

fn lines(cluster: &ClusterName, report: &Report) -> String {
    let verdict = verdict(report);
    let mut text = format!("{cluster}: {verdict}, {} objects, {} bytes\n", report.objects, report.bytes);
    for finding in &report.findings {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {}: {}", finding.key, finding.problem);
        let _ = writeln!(text, "    {}", way_out(cluster, finding.mend));
    }
    text
}

/// The verdict on the state as a whole: a stored plan or approval is not a part of it.
fn verdict(report: &Report) -> String {
    let is_any = |mend: Mend| report.findings.iter().any(|finding| finding.mend == mend);
    if [Mend::Rebuild, Mend::Past, Mend::Other].into_iter().any(is_any) {
        return "damaged".to_owned();
    }
    let state = if is_any(Mend::Encrypt) { "not encrypted" } else { "sound" };
    match report.findings.iter().filter(|finding| finding.mend == Mend::Anew).count() {
        0 => state.to_owned(),
        1 => format!("the state is {state}, and 1 stored plan or approval cannot be read"),
        count => format!("the state is {state}, and {count} stored plans or approvals cannot be read"),
    }
}

fn way_out(cluster: &ClusterName, mend: Mend) -> String {
    match mend {
        Mend::Rebuild => format!(
            "`slipway state rebuild {cluster} -f …` rebuilds the state from the cloud; `slipway state import` puts an \
             exported one back"
        ),
        Mend::Past => {
            "the current state does not need it. To see the past again, copy it back from a backup of the store; `slipway state \
             gc` removes snapshots and segments that are not kept any more"
                .to_owned()
        }
        Mend::Anew => "run `slipway plan … --out state:` again, and have the plan approved again".to_owned(),
        Mend::Other => {
            "it needs a newer Slipway, the key that it was written for, or a copy from a backup of the store"
                .to_owned()
        }
        Mend::Encrypt => format!("`slipway state rekey {cluster}` encrypts what is stored"),
        Mend::Collect => format!("nothing needs it; `slipway state gc {cluster}` removes what it knows"),
    }
}
