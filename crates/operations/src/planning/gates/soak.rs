//! Gates of the soak, in which a control plane emulates the version before: its API servers have the new version, and answer.

use futures_util::future::join_all;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;
use slipway_bootstrap::configuration::LocalEndpoint;
use slipway_spec::model;
use slipway_spec::value::Duration;

use super::{Gate, label, of_objects, of_spec, reader_at, text, unreadable};
use crate::access::ClusterAccess;
use crate::reversible::Release;

/// The metric with which an API server counts the requests that it has answered since it was started.
const ANSWERED: &str = "apiserver_request_total{";

/// The number of requests that may fail with an error of the server, whatever the number of all requests is: an API server that has just
/// been started answers some requests before it is ready.
const FEW: f64 = 100.0;

/// The share of all requests that may fail with an error of the server.
const SHARE: f64 = 0.01;

/// Whether this process can open the keys with which it asks the API servers. Sends nothing to the cluster.
pub(in crate::planning) async fn has_credentials(access: &ClusterAccess) -> bool {
    match access.endpoints().first() {
        Some(endpoint) => reader_at(access, endpoint).await.is_ok(),
        None => false,
    }
}

/// A look at the API servers of a cluster.
pub(in crate::planning) struct Look {
    /// The gates that do not hold.
    pub(in crate::planning) gates: Vec<Gate>,
    /// Whether any API server answered. If none did, this process may have no way to the cluster.
    pub(in crate::planning) is_reached: bool,
}

/// Asks all API servers, and reads the cluster as before an upgrade, also for the gates of the spec.
pub(in crate::planning) async fn look_at_all(
    access: &ClusterAccess,
    release: &Release,
    of_the_spec: &[model::Gate],
) -> Look {
    let (objects, servers, conditions) =
        tokio::join!(of_objects(access), look(access, release), of_spec::look(access, of_the_spec));
    let mut gates = objects.unwrap_or_else(|reason| vec![unreadable("ClusterState", &reason)]);
    gates.extend(servers.gates);
    gates.extend(conditions);
    Look { gates, is_reached: servers.is_reached }
}

/// The gate of a soak that is not over. `since` is the time since which the control plane emulates the version before; `None` if that is
/// not known.
pub(in crate::planning) fn time(soak: Duration, since: Option<Timestamp>, now: Timestamp) -> Option<Gate> {
    let message = match since {
        Some(since) => {
            let end = SignedDuration::try_from(soak.get()).ok().and_then(|soak| since.checked_add(soak).ok());
            if end.is_some_and(|end| end <= now) {
                return None;
            }
            let end = end.map_or_else(|| "later".to_owned(), |end| format!("at {end:.0}"));
            format!(
                "the control plane emulates the version before since {since:.0}, and its soak of {soak} ends {end}"
            )
        }
        None => format!(
            "the history of the state does not say since when the control plane emulates the version before, and its soak takes {soak}"
        ),
    };
    Some(Gate { name: "Soak".to_owned(), message, hint: "finalise the upgrade after that" })
}

/// Asks all API servers.
pub(in crate::planning) async fn look(access: &ClusterAccess, release: &Release) -> Look {
    let servers = access.endpoints().iter().map(|endpoint| at_server(access, endpoint, release));
    let servers = join_all(servers).await;
    let is_reached = servers.iter().any(|server| server.is_reached);
    Look { gates: servers.into_iter().flat_map(|server| server.gates).collect(), is_reached }
}

/// A look at one API server. It is reached if it reports its version, whatever it says about its requests.
async fn at_server(access: &ClusterAccess, endpoint: &LocalEndpoint, release: &Release) -> Look {
    let host = &endpoint.host;
    let silent = |is_reached: bool, reason: String| {
        let message = format!("the API server at {host} does not answer: {reason}");
        Look { gates: vec![api_server(host, message)], is_reached }
    };
    let reader = match reader_at(access, endpoint).await {
        Ok(reader) => reader,
        Err(reason) => return silent(false, reason),
    };
    let version = match reader.get("/version").await {
        Ok(version) => version,
        Err(error) => return silent(false, error.message),
    };
    match reader.text("/metrics").await {
        Ok(metrics) => {
            let gates = other_version(host, &version, release).into_iter().chain(failing(host, &metrics));
            Look { gates: gates.collect(), is_reached: true }
        }
        Err(error) => silent(true, error.message),
    }
}

fn api_server(host: &str, message: String) -> Gate {
    Gate {
        name: format!("ApiServer--{host}"),
        message,
        hint: "`slipway validate` says what is wrong with the cluster",
    }
}

/// The gate of an API server that has another version than the spec, or emulates another one. Old releases do not report the version
/// that they emulate.
fn other_version(host: &str, seen: &Json, release: &Release) -> Option<Gate> {
    let emulated = release.emulated.as_ref().unwrap_or(&release.version);
    let wanted = (format!("v{}", release.version), emulated.minor.to_string());
    let found = (text(seen, "/gitVersion"), text(seen, "/emulationMinor"));
    let is_other = found.0 != wanted.0 || !found.1.is_empty() && found.1 != wanted.1;
    is_other.then(|| {
        let emulates = match found.1.as_str() {
            "" => String::new(),
            minor => format!(" that emulates 1.{minor}"),
        };
        let message = format!(
            "the API server at {host} reports {}{emulates}, and not {} that emulates 1.{}",
            found.0, wanted.0, wanted.1
        );
        api_server(host, message)
    })
}

/// The gate of an API server at which too many requests fail.
fn failing(host: &str, metrics: &str) -> Option<Gate> {
    let (failed, all) = answered(metrics);
    (failed > FEW && failed > all * SHARE).then(|| Gate {
        name: format!("ErrorRate--{host}"),
        message: format!(
            "{failed:.0} of {all:.0} requests at the API server of {host} failed with an error of the server since it was started"
        ),
        hint: "the metric `apiserver_request_total` with `code` 5xx says which requests, and the log of the API server why",
    })
}

/// The number of requests that failed with an error of the server, and of all requests.
fn answered(metrics: &str) -> (f64, f64) {
    let samples = metrics.lines().filter_map(|line| line.strip_prefix(ANSWERED)?.split_once("} "));
    let counted = samples.filter_map(|(labels, count)| {
        let count: f64 = count.trim().parse().ok()?;
        Some((label(labels, "code")?.starts_with('5'), count))
    });
    counted.fold((0.0, 0.0), |(failed, all), (is_failure, count)| {
        (if is_failure { failed + count } else { failed }, all + count)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn release() -> Release {
        Release { version: "1.34.4".parse().unwrap(), emulated: Some("1.33.13".parse().unwrap()) }
    }

    #[test]
    fn an_api_server_reports_its_version_and_the_one_that_it_emulates() {
        let gate = |version: &str, emulated: &str| {
            let seen = json!({ "gitVersion": version, "emulationMajor": "1", "emulationMinor": emulated });
            other_version("10.0.0.1", &seen, &release())
        };
        assert_eq!(gate("v1.34.4", "33"), None);
        for (version, emulated) in [("v1.33.13", "33"), ("v1.34.4", "34")] {
            let gate = gate(version, emulated).unwrap();
            assert_eq!(gate.name, "ApiServer--10.0.0.1");
            assert!(
                gate.message.contains(&format!("reports {version} that emulates 1.{emulated},")),
                "{gate:?}"
            );
        }
        let silent = |version: &str| other_version("a", &json!({ "gitVersion": version }), &release());
        assert_eq!(silent("v1.34.4"), None);
        assert!(silent("v1.33.13").unwrap().message.contains("reports v1.33.13, and not v1.34.4"));
        let last = other_version(
            "a",
            &json!({ "gitVersion": "v1.34.4", "emulationMinor": "34" }),
            &Release { emulated: None, ..release() },
        );
        assert_eq!(last, None);
    }

    #[test]
    fn a_soak_holds_until_its_end() {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let soak = Duration::from_hours(24);
        let since = at("2026-11-27T10:00:00Z");
        let gate = time(soak, Some(since), at("2026-11-28T09:59:59Z")).unwrap();
        assert_eq!(gate.name, "Soak");
        assert!(gate.message.contains("its soak of 1d ends at 2026-11-28T10:00:00Z"), "{gate:?}");
        assert_eq!(time(soak, Some(since), at("2026-11-28T10:00:00Z")), None);
        assert!(time(soak, None, since).unwrap().message.contains("does not say"));
    }

    #[test]
    fn many_errors_of_the_server_and_a_large_share_of_them_are_a_gate() {
        let metrics = |failed: u32, others: u32| {
            format!(
                "# TYPE apiserver_request_total counter\n\
                 apiserver_request_total{{code=\"200\",component=\"apiserver\",verb=\"LIST\",version=\"v1\"}} {others}\n\
                 apiserver_request_total{{code=\"503\",component=\"apiserver\",verb=\"GET\",version=\"v1\"}} {failed}\n\
                 apiserver_request_terminations_total{{code=\"500\"}} 9000\n"
            )
        };
        assert_eq!(answered(&metrics(7, 993)), (7.0, 1000.0));
        let is_gate = |failed, others| failing("a", &metrics(failed, others)).is_some();
        assert!(!is_gate(90, 10), "an API server that has just been started");
        assert!(!is_gate(200, 1_000_000), "a small share");
        assert!(is_gate(200, 10_000));
        // Large numbers have an exponent.
        let large = "apiserver_request_total{code=\"500\",verb=\"GET\"} 1.5e+06\n";
        assert_eq!(failing("a", large).unwrap().name, "ErrorRate--a");
    }
}
