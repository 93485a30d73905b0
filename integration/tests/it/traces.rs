//! Traces of the program, sent to a receiver of OTLP.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_integration::place::{Ended, Place};
use slipway_testkit::wait::until;

use crate::controller::Running;
use crate::{APPLY, PLAN, PROGRAM, SMALL};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// The attributes that spans may have. None of them has a value of a spec, of an object or of a secret.
const ATTRIBUTES: [&str; 8] = [
    "error.type",
    "slipway.call",
    "slipway.cluster",
    "slipway.failed_steps",
    "slipway.provider",
    "slipway.reason",
    "slipway.step",
    "slipway.steps",
];

const CONTROLLER: &str = r#"
data = "controller-data"
listen = "127.0.0.1:0"
poll = "100ms"
[[source]]
name = "local"
folder = "."
paths = ["clusters/*"]
interval = "200ms"
trust = { file-roots = [".slipway/sim"] }
[[source.cluster]]
name = "line"
apply = "always"
"#;

/// A receiver of OTLP. It ends with the process.
struct Receiver {
    url: String,
    /// The heads and the bodies of requests.
    requests: Arc<Mutex<Vec<(String, Json)>>>,
}

impl Receiver {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let url = format!("http://{}", listener.local_addr()?);
        let requests: Arc<Mutex<Vec<(String, Json)>>> = Arc::default();
        let received = requests.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                // A request that cannot be read is missed by the test.
                let _ = receive(&received, stream);
            }
        });
        Ok(Self { url, requests })
    }

    fn requests(&self) -> Vec<(String, Json)> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All spans that were received.
    fn spans(&self) -> Vec<Json> {
        let mut spans = Vec::new();
        for (_, body) in self.requests() {
            spans.extend(
                body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().cloned().unwrap_or_default(),
            );
        }
        spans
    }
}

fn receive(requests: &Mutex<Vec<(String, Json)>>, mut stream: TcpStream) -> Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        ensure!(reader.read_line(&mut head)? > 0, "the head of the request is cut");
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).context("a length")?;
    let mut body = vec![0; length.parse()?];
    reader.read_exact(&mut body)?;
    let body = serde_json::from_slice(&body)?;
    requests.lock().unwrap_or_else(PoisonError::into_inner).push((head, body));
    stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")?;
    Ok(())
}

fn named<'a>(spans: &'a [Json], name: &str) -> Vec<&'a Json> {
    spans.iter().filter(|span| span["name"] == name).collect()
}

/// The value of an attribute of a span, as a text.
fn attribute<'a>(span: &'a Json, key: &str) -> Option<&'a str> {
    let found = span["attributes"].as_array()?.iter().find(|attribute| attribute["key"] == key)?;
    found["value"]["stringValue"].as_str().or_else(|| found["value"]["intValue"].as_str())
}

#[test]
fn an_apply_sends_spans_without_values() -> Result<()> {
    let receiver = Receiver::start()?;
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    place.run(PLAN)?;
    ensure!(receiver.requests().is_empty(), "traces are off without the variables");

    let apply = |headers: &str| {
        let mut command = place.command(APPLY);
        command.env(ENDPOINT, &receiver.url).env("OTEL_EXPORTER_OTLP_HEADERS", headers);
        Ended::of(command.output()?)?.wanted(0, "slipway apply")
    };
    apply("authorization=Bearer%20hunter2")?;
    for (head, body) in receiver.requests() {
        ensure!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        ensure!(head.contains("authorization: Bearer hunter2\r\n"), "{head}");
        ensure!(head.contains("content-type: application/json\r\n"), "{head}");
        ensure!(!body.to_string().contains("hunter2"), "{body}");
        let resource = &body["resourceSpans"][0]["resource"];
        ensure!(attribute(resource, "service.name") == Some("slipway"), "{resource}");
    }

    let spans = receiver.spans();
    let keys = spans.iter().filter_map(|span| span["attributes"].as_array()).flatten();
    let keys: BTreeSet<&str> = keys.filter_map(|attribute| attribute["key"].as_str()).collect();
    let unknown: Vec<&&str> = keys.iter().filter(|key| !ATTRIBUTES.contains(key)).collect();
    ensure!(unknown.is_empty(), "{unknown:?}");

    ensure!(!named(&spans, "plan").is_empty(), "{spans:?}");
    let [run] = named(&spans, "apply")[..] else { anyhow::bail!("one run: {spans:?}") };
    ensure!(attribute(run, "slipway.cluster") == Some("line"), "{run}");
    let steps = named(&spans, "step");
    ensure!(attribute(run, "slipway.steps") == Some(steps.len().to_string().as_str()), "{run}");
    ensure!(!steps.is_empty() && steps.iter().all(|step| step["parentSpanId"] == run["spanId"]), "{steps:?}");
    ensure!(steps.iter().all(|step| step["traceId"] == run["traceId"]), "{steps:?}");
    let calls = named(&spans, "provider call");
    let is_of_step = |call: &&Json| {
        attribute(call, "slipway.call") == Some("apply a step")
            && steps.iter().any(|step| step["spanId"] == call["parentSpanId"])
    };
    ensure!(calls.iter().any(is_of_step), "{calls:?}");
    let plans = named(&spans, "plan");
    let is_of_plan = |call: &&Json| plans.iter().any(|plan| plan["spanId"] == call["parentSpanId"]);
    ensure!(calls.iter().any(is_of_plan), "{calls:?}");
    let is_over = |span: &Json| {
        let nanoseconds = |key: &str| span[key].as_str().and_then(|text| text.parse::<u64>().ok());
        nanoseconds("startTimeUnixNano") <= nanoseconds("endTimeUnixNano")
    };
    ensure!(spans.iter().all(is_over), "{spans:?}");

    let said = apply("hunter2")?;
    ensure!(said.err.contains("traces are off: OTEL_EXPORTER_OTLP_HEADERS"), "{}", said.err);
    ensure!(!said.err.contains("hunter2"), "{}", said.err);
    Ok(())
}

#[test]
fn a_receiver_that_does_not_answer_fails_no_command() -> Result<()> {
    let place = Place::new(PROGRAM)?;
    place.write("spec.yaml", SMALL)?;
    // Nobody listens on the port after this.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = place.command(APPLY);
    command.env(ENDPOINT, format!("http://127.0.0.1:{port}"));
    let said = Ended::of(command.output()?)?.wanted(0, "slipway apply")?;
    ensure!(said.err.contains("traces cannot be sent"), "{}", said.err);
    Ok(())
}

#[test]
fn a_look_of_a_controller_is_a_trace_with_its_run() -> Result<()> {
    let receiver = Receiver::start()?;
    let place = Place::new(PROGRAM)?;
    place.write("clusters/line/spec.yaml", SMALL)?;
    place.write("controller.toml", CONTROLLER)?;
    let _running = Running::start(&place, &[(ENDPOINT, receiver.url.clone())])?;
    until("the look and its run were received", || {
        let spans = receiver.spans();
        let passes = named(&spans, "pass");
        let runs = named(&spans, "apply");
        let is_of_pass = |run: &&Json| {
            passes
                .iter()
                .any(|pass| pass["spanId"] == run["parentSpanId"] && pass["traceId"] == run["traceId"])
        };
        let reasons: Vec<&str> = passes.iter().filter_map(|pass| attribute(pass, "slipway.reason")).collect();
        Ok((runs.iter().any(is_of_pass) && reasons.contains(&"InSync")).then_some(()))
    })
}
