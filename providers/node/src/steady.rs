//! Whether a service runs well for some time after a change, and not just for a moment.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value as Json;
use slipway_bootstrap::kubeconfig::Kubeconfig;
use slipway_resource::{Attribute, ProviderError, Type};
use tokio::time::Instant;

use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::http::{Client, Trust};
use crate::kind::Work;
use crate::supervise::{self, State};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(5);
/// The pause between two looks.
const PAUSE: Duration = Duration::from_millis(250);
/// How often a wait is reported.
const TELL: Duration = Duration::from_secs(10);
/// How many processes a service may have had before it counts as one that does not stay: it ended and was started again twice.
const PROCESSES: usize = 3;
/// How long nothing may run before that counts as such, too: a process that ends at once is never seen.
const ABSENT: Duration = Duration::from_secs(45);
/// How many lines of a log are reported, and how long a line may be.
const LINES: usize = 3;
const LONGEST_LINE: usize = 400;

/// The attributes that say when a changed service runs well.
pub(crate) fn attributes() -> [(&'static str, Attribute); 4] {
    let optional = |kind, text: &str| Attribute::optional(kind).write_only().describe(text);
    [
        (
            "steady_url",
            optional(
                Type::String,
                "The URL that has to answer with 200 after a change, and to go on answering. When it does not, what the \
                 service read before the change is put back.",
            ),
        ),
        (
            "steady_node",
            optional(
                Type::String,
                "The node that has to be Ready after a change, if it was before: the kubelet's own.",
            ),
        ),
        ("steady_kubeconfig_path", optional(Type::String, "The kubeconfig by which the node is looked at.")),
        ("steady_seconds", optional(Type::Integer, "For how many seconds that has to hold; else 5.")),
    ]
}

/// When a changed service runs well.
#[derive(Clone)]
pub(crate) struct Steady {
    url: Option<String>,
    node: Option<(String, String)>,
    /// The version that the node has to report.
    version: Option<String>,
    hold: Duration,
    timeout: Duration,
}

impl Steady {
    pub(crate) fn of(wanted: Attributes<'_>) -> Result<Self, ProviderError> {
        let text = |name: &str| wanted.optional_text(name).map(|text| text.map(str::to_owned));
        Ok(Self {
            url: text("steady_url")?,
            node: text("steady_node")?.zip(text("steady_kubeconfig_path")?),
            version: text("program_version")?,
            hold: wanted.seconds("steady_seconds", 5),
            timeout: wanted.seconds("ready_timeout_seconds", 240),
        })
    }

    /// The same for what was there before a change, whatever its version.
    pub(crate) fn of_any_version(&self) -> Self {
        Self { version: None, ..self.clone() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.url.is_none()
    }

    /// Whether its node is Ready now; not where that cannot be asked.
    pub(crate) async fn is_node_ready(&self, disk: &Disk) -> bool {
        match &self.node {
            Some((name, kubeconfig)) => node(disk, name, kubeconfig, None, None).await.is_ok(),
            None => false,
        }
    }

    /// Waits until the service, which was started at a moment, runs well for a while; with `node`, its node too. Returns why it
    /// does not.
    ///
    /// # Errors
    /// When the step was stopped, or its own time is over.
    pub(crate) async fn hold(
        &self,
        work: &Work,
        started: Timestamp,
        node: bool,
    ) -> Result<Result<(), String>, ProviderError> {
        let begun = Instant::now();
        let supervisor = supervise::of(work.host());
        let tells = supervisor.tells_processes(work.host());
        let (mut good_since, mut same) = (None::<Instant>, None::<u32>);
        let mut processes = BTreeSet::new();
        let mut seen_at = begun;
        let mut reported = begun;
        loop {
            let state = supervisor.state(work.host(), work.identity()).await?;
            processes.extend(state.as_ref().and_then(|state| state.pid));
            let is_seen = |state: &State| state.pid.is_some() || (state.running && !tells);
            if state.as_ref().is_some_and(is_seen) {
                seen_at = Instant::now();
            }
            if processes.len() >= PROCESSES || seen_at.elapsed() > ABSENT {
                return Ok(Err("it ends again and again".to_owned()));
            }
            // It must be the same process all the time: a restarted one begins again.
            let pid = state.as_ref().and_then(|state| state.pid);
            if tells && pid != same {
                (same, good_since) = (pid, None);
            }
            let looked = match state.is_some_and(|state| is_seen(&state)) {
                true => self.look(&work.host().disk, started, node).await,
                false => Err("it does not run".to_owned()),
            };
            let why = match looked {
                Ok(()) => {
                    let since = *good_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.hold {
                        return Ok(Ok(()));
                    }
                    String::new()
                }
                Err(why) => {
                    good_since = None;
                    why
                }
            };
            if !why.is_empty() && (reported == begun || reported.elapsed() >= TELL) {
                work.tell(format!("waits until it runs well: {why}"));
                reported = Instant::now();
            }
            if begun.elapsed() >= self.timeout {
                let seconds = self.timeout.as_secs();
                return Ok(Err(format!("it did not run well within {seconds} s: {why}")));
            }
            work.pause(PAUSE).await?;
        }
    }

    async fn look(&self, disk: &Disk, started: Timestamp, with_node: bool) -> Result<(), String> {
        if let Some(url) = &self.url {
            let trust = Trust { authorities: None, client: None };
            let client = Client::new(&trust, ANSWER).map_err(|error| error.to_string())?;
            match client.get(url).await {
                Ok(answer) if (200..300).contains(&answer.status) => {}
                Ok(answer) => return Err(format!("{url} answers {}", answer.status)),
                Err(error) => return Err(format!("{url}: {error}")),
            }
        }
        match &self.node {
            Some((name, kubeconfig)) if with_node => {
                node(disk, name, kubeconfig, Some(started), self.version.as_deref()).await
            }
            _ => Ok(()),
        }
    }
}

/// Whether a node is Ready, reports a version, and has sent a status since a moment. The API keeps an old
/// status of a node whose kubelet was just stopped.
async fn node(
    disk: &Disk,
    name: &str,
    kubeconfig: &str,
    since: Option<Timestamp>,
    version: Option<&str>,
) -> Result<(), String> {
    let read = |path: &str| -> Result<Vec<u8>, String> {
        disk.read(path).map_err(|error| error.message)?.ok_or_else(|| format!("{path} is not there"))
    };
    let text = read(kubeconfig)?;
    let document = Kubeconfig::parse(&String::from_utf8_lossy(&text))
        .map_err(|error| format!("{kubeconfig}: {error}"))?;
    let cluster = document.cluster().map_err(|error| format!("{kubeconfig}: {error}"))?;
    let client = match document.client_files() {
        Some((certificate, key)) => Some((read(&certificate)?, read(&key)?)),
        None => None,
    };
    let authorities = match (cluster.authority, cluster.authority_path) {
        (Some(pem), _) => pem.into_bytes(),
        (None, Some(path)) => read(&path)?,
        (None, None) => return Err(format!("{kubeconfig} names no CA")),
    };
    let trust = Trust { authorities: Some(authorities), client };
    let client = Client::new(&trust, ANSWER).map_err(|error| error.to_string())?;
    let server = cluster.server.trim_end_matches('/');
    let get = async |path: String| -> Result<Json, String> {
        let answer = client.get(&format!("{server}{path}")).await.map_err(|error| error.to_string())?;
        match answer.status {
            200 => serde_json::from_slice(&answer.body).map_err(|error| error.to_string()),
            status => Err(format!("the API answers {status} for the node {name}")),
        }
    };
    if let Some(since) = since {
        let lease =
            get(format!("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}")).await?;
        let renewed = lease.pointer("/spec/renewTime").and_then(Json::as_str);
        let renewed = renewed.and_then(|time| time.parse::<Timestamp>().ok());
        if renewed.is_none_or(|renewed| renewed < since) {
            return Err(format!("the node {name} has not been heard of since the change"));
        }
    }
    let found = get(format!("/api/v1/nodes/{name}")).await?;
    is_ready(&found).map_err(|why| format!("the node {name} is not Ready: {why}"))?;
    reports(&found, version).map_err(|why| format!("the node {name} {why}"))
}

/// Whether a node reports the version of its kubelet that it should have.
fn reports(node: &Json, version: Option<&str>) -> Result<(), String> {
    let found = node.pointer("/status/nodeInfo/kubeletVersion").and_then(Json::as_str).unwrap_or_default();
    match version {
        Some(wanted) if found.trim_start_matches('v') != wanted => {
            Err(format!("reports the kubelet version `{found}` instead of v{wanted}"))
        }
        _ => Ok(()),
    }
}

fn is_ready(node: &Json) -> Result<(), String> {
    let conditions = node.pointer("/status/conditions").and_then(Json::as_array);
    let ready = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    let Some(ready) = ready else { return Err("it does not say".to_owned()) };
    match ready["status"].as_str() {
        Some("True") => Ok(()),
        _ => Err(ready["message"].as_str().unwrap_or("the condition Ready gives no reason").to_owned()),
    }
}

/// The lines of a log for the message about a failure: the last errors, otherwise the last lines.
pub(crate) fn last_errors(lines: &[String]) -> String {
    let is_error = |line: &&String| {
        let mut letters = line.chars();
        let is_klog = matches!(letters.next(), Some('E' | 'F'))
            && letters.next().is_some_and(|letter| letter.is_ascii_digit());
        is_klog
            || ["Error: ", "panic: ", "fatal error: "].iter().any(|head| line.starts_with(head))
            || line.contains("level=error")
            || line.contains("level=fatal")
    };
    let mut reported: Vec<&String> = lines.iter().rev().filter(is_error).collect();
    if reported.is_empty() {
        reported = lines.iter().rev().filter(|line| !line.trim().is_empty()).collect();
    }
    let mut texts: Vec<String> = Vec::new();
    for line in reported {
        let text = without_head(line);
        if !texts.contains(&text) {
            texts.push(text);
        }
        if texts.len() == LINES {
            break;
        }
    }
    texts.reverse();
    texts.join("; ")
}

/// A line without the time and place that klog has in front, and without what a terminal would obey.
fn without_head(line: &str) -> String {
    let text = match line.split_once("] ") {
        Some((head, text)) if head.len() < 80 && head.starts_with(['E', 'F']) => text,
        _ => line,
    };
    text.chars().filter(|letter| !letter.is_control()).take(LONGEST_LINE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_errors_of_a_log_are_told_once() {
        let error = "E1123 02:15:06.123456      12 run.go:72] \"command failed\" err=\"unrecognized feature gate: NoSuchGate\"";
        let lines: Vec<String> =
            ["I1123 02:15:06.1 12 server.go:1] starting", error, "kubelet.service: ended with 1", error]
                .map(str::to_owned)
                .into();
        assert_eq!(last_errors(&lines), "\"command failed\" err=\"unrecognized feature gate: NoSuchGate\"");
        // As a program in Go ends: first the message, then the stack.
        let panic =
            ["panic: unrecognized feature gate: NoSuchGate", "", "goroutine 1 [running]:", "main.main()"];
        assert_eq!(last_errors(&panic.map(str::to_owned)), "panic: unrecognized feature gate: NoSuchGate");
        let plain = ["one".to_owned(), "two\u{1b}[31m".to_owned(), String::new()];
        assert_eq!(last_errors(&plain), "one; two[31m");
    }

    #[test]
    fn a_node_is_ready_when_it_says_so() {
        let node = |status: &str| {
            serde_json::json!({"status": {"conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "Ready", "status": status, "message": "the runtime is down"},
            ]}})
        };
        assert_eq!(is_ready(&node("True")), Ok(()));
        assert_eq!(is_ready(&node("Unknown")), Err("the runtime is down".to_owned()));
        assert!(is_ready(&serde_json::json!({})).is_err());
    }

    #[test]
    fn a_node_has_to_report_the_version_that_is_asked_for() {
        let node = serde_json::json!({"status": {"nodeInfo": {"kubeletVersion": "v1.34.4"}}});
        assert_eq!(reports(&node, None), Ok(()));
        assert_eq!(reports(&node, Some("1.34.4")), Ok(()));
        assert!(reports(&node, Some("1.34.5")).unwrap_err().contains("`v1.34.4` instead of v1.34.5"));
        assert!(reports(&serde_json::json!({}), Some("1.34.5")).is_err());
    }
}
