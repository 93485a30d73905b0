//! Spans as OTLP has them (opentelemetry-proto 1, `ExportTraceServiceRequest`), in its mapping to JSON: ids are hexadecimal, and
//! integers of 64 bits are strings.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use slipway_engine::trace;

use super::layer::{Span, Value};

/// `SPAN_KIND_INTERNAL`.
const INTERNAL: u8 = 1;
/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// A request with spans of this process, which the attributes of the resource describe.
pub(super) fn request(resource: &[(String, String)], spans: &[Span]) -> Json {
    let attributes: Vec<Json> = resource.iter().map(|(key, value)| attribute(key, text(value))).collect();
    json!({
        "resourceSpans": [{
            "resource": { "attributes": attributes },
            "scopeSpans": [{
                "scope": { "name": "slipway", "version": env!("CARGO_PKG_VERSION") },
                "spans": spans.iter().map(span).collect::<Vec<Json>>(),
            }],
        }],
    })
}

fn span(span: &Span) -> Json {
    let attributes = span.fields.0.iter().map(|(name, value)| {
        let value = match value {
            Value::Text(value) => text(value),
            Value::Integer(value) => json!({ "intValue": value.to_string() }),
            Value::Flag(value) => json!({ "boolValue": value }),
        };
        // The name that OpenTelemetry has for it.
        let name = if *name == trace::ERROR { "error.type".to_owned() } else { format!("slipway.{name}") };
        attribute(&name, value)
    });
    let has_failed = span.fields.0.iter().any(|(name, value)| match value {
        Value::Integer(count) => *name == "failed_steps" && *count > 0,
        _ => *name == trace::ERROR,
    });
    let status = if has_failed { json!({ "code": ERROR }) } else { json!({}) };
    let mut written = json!({
        "traceId": format!("{:032x}", span.trace),
        "spanId": format!("{:016x}", span.id),
        "name": span.name,
        "kind": INTERNAL,
        "startTimeUnixNano": nanoseconds(span.begun),
        "endTimeUnixNano": nanoseconds(span.ended),
        "attributes": attributes.collect::<Vec<Json>>(),
        "status": status,
    });
    if let Some(parent) = span.parent {
        written["parentSpanId"] = format!("{parent:016x}").into();
    }
    written
}

fn attribute(key: &str, value: Json) -> Json {
    json!({ "key": key, "value": value })
}

fn text(value: &str) -> Json {
    json!({ "stringValue": value })
}

fn nanoseconds(time: SystemTime) -> String {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos().to_string()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::layer::Fields;
    use super::*;

    #[test]
    fn a_span_is_written_as_json_of_otlp() {
        let begun = UNIX_EPOCH + Duration::from_nanos(1_700_000_000_000_000_001);
        let fields = vec![
            ("cluster", Value::Text("dev".to_owned())),
            ("steps", Value::Integer(3)),
            ("error", Value::Text("transient".to_owned())),
        ];
        let span = Span {
            trace: 1,
            id: 2,
            parent: Some(3),
            name: "apply",
            begun,
            ended: begun + Duration::from_nanos(1),
            fields: Fields(fields),
        };
        let resource = [("service.name".to_owned(), "slipway".to_owned())];
        let written = request(&resource, &[span]);
        assert_eq!(
            written["resourceSpans"][0]["resource"]["attributes"],
            json!([{ "key": "service.name", "value": { "stringValue": "slipway" } }])
        );
        assert_eq!(
            written["resourceSpans"][0]["scopeSpans"][0]["spans"],
            json!([{
                "traceId": "00000000000000000000000000000001",
                "spanId": "0000000000000002",
                "parentSpanId": "0000000000000003",
                "name": "apply",
                "kind": 1,
                "startTimeUnixNano": "1700000000000000001",
                "endTimeUnixNano": "1700000000000000002",
                "attributes": [
                    { "key": "slipway.cluster", "value": { "stringValue": "dev" } },
                    { "key": "slipway.steps", "value": { "intValue": "3" } },
                    { "key": "error.type", "value": { "stringValue": "transient" } },
                ],
                "status": { "code": 2 },
            }])
        );
    }
}
