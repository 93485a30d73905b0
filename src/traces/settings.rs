//! The variables of OpenTelemetry that turn traces on (OpenTelemetry specification 1, "SDK environment variables" and "OTLP exporter").

use std::str::Utf8Error;

use http::{HeaderMap, HeaderName, HeaderValue};
use reqwest::Url;

/// Where traces are sent, and with what.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The URL to which spans are posted.
    pub url: Url,
    /// Further headers, such as those with a token. They are sensitive.
    pub headers: HeaderMap,
    /// What is known about this process.
    pub resource: Vec<(String, String)>,
}

impl Settings {
    /// The settings in the environment of this process; `None` if traces are off.
    ///
    /// # Errors
    /// The variable that cannot be used, and why.
    pub fn from_process() -> Result<Option<Self>, String> {
        Self::from(|name| std::env::var(name).ok())
    }

    /// The settings in variables. One that is empty counts as one that is not set.
    ///
    /// # Errors
    /// The variable that cannot be used, and why. It never has the value of a header.
    fn from(variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>, String> {
        let set = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let for_traces = |name: &str| {
            let (own, common) =
                (format!("OTEL_EXPORTER_OTLP_TRACES_{name}"), format!("OTEL_EXPORTER_OTLP_{name}"));
            set(&own).map(|value| (own, value)).or_else(|| set(&common).map(|value| (common, value)))
        };
        let Some((name, endpoint)) = for_traces("ENDPOINT") else { return Ok(None) };
        let is_off = set("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if is_off || set("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none") {
            return Ok(None);
        }
        // Receivers of `http/protobuf` take JSON at the same URL; the type of the content tells them.
        if let Some((name, protocol)) = for_traces("PROTOCOL").filter(|(_, value)| value == "grpc") {
            return Err(format!("{name} is `{protocol}`, and only `http/json` is supported"));
        }
        let url = url(&endpoint, name == "OTEL_EXPORTER_OTLP_ENDPOINT")
            .map_err(|reason| format!("{name} {reason}"))?;
        let headers = match for_traces("HEADERS") {
            Some((name, text)) => {
                headers(&text).ok_or_else(|| format!("{name} has no form `KEY=VALUE,…` of headers"))?
            }
            None => HeaderMap::new(),
        };
        let text = set("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default();
        let named = pairs(&text).ok_or("OTEL_RESOURCE_ATTRIBUTES has no form `KEY=VALUE,…`")?;
        let service = set("OTEL_SERVICE_NAME");
        let own = service.or_else(|| {
            let found = named.iter().find(|(key, _)| key == "service.name");
            found.map(|(_, value)| value.clone())
        });
        let mut resource = vec![
            ("service.name".to_owned(), own.unwrap_or_else(|| "slipway".to_owned())),
            ("service.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ];
        resource
            .extend(named.into_iter().filter(|(key, _)| key != "service.name" && key != "service.version"));
        Ok(Some(Self { url, headers, resource }))
    }
}

/// The URL for traces of an endpoint. One for all signals has the path `/v1/traces` below its own.
fn url(endpoint: &str, is_common: bool) -> Result<Url, String> {
    let mut url = Url::parse(endpoint.trim()).map_err(|error| format!("is not a URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("does not begin with http:// or https:// and a host".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("has credentials; they belong into OTEL_EXPORTER_OTLP_HEADERS".to_owned());
    }
    if is_common {
        let path = format!("{}/v1/traces", url.path().trim_end_matches('/'));
        url.set_path(&path);
    }
    Ok(url)
}

fn headers(text: &str) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    for (key, value) in pairs(text)? {
        let mut value = HeaderValue::try_from(value).ok()?;
        value.set_sensitive(true);
        headers.append(HeaderName::try_from(key).ok()?, value);
    }
    Some(headers)
}

/// Pairs in the form of W3C Baggage: `key=value,key2=value2`, in which values have bytes as `%20`.
fn pairs(text: &str) -> Option<Vec<(String, String)>> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        let key = key.trim();
        let value = decoded(value.trim()).ok()?;
        (!key.is_empty()).then(|| (key.to_owned(), value))
    };
    parts.map(pair).collect()
}

fn decoded(text: &str) -> Result<String, Utf8Error> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits =
            after.get(..2).filter(|_| *first == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match byte.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    std::str::from_utf8(&bytes).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<Settings>, String> {
        let find =
            |name: &str| variables.iter().find(|(own, _)| *own == name).map(|(_, value)| (*value).to_owned());
        Settings::from(find)
    }

    const COMMON: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");

    #[test]
    fn an_endpoint_turns_traces_on() {
        let url =
            |variables: &[(&str, &str)]| of(variables).unwrap().map(|settings| settings.url.to_string());
        assert_eq!(url(&[]), None);
        assert_eq!(url(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
        assert_eq!(url(&[COMMON]).as_deref(), Some("http://collector:4318/v1/traces"));
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example.com/in");
        assert_eq!(url(&[COMMON, own]).as_deref(), Some("https://traces.example.com/in"));
        assert_eq!(url(&[COMMON, ("OTEL_SDK_DISABLED", "true")]), None);
        assert_eq!(url(&[COMMON, ("OTEL_TRACES_EXPORTER", "none")]), None);
    }

    #[test]
    fn headers_and_attributes_are_read() {
        let settings = of(&[
            COMMON,
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Bearer%20hunter2, X-Tenant=a=b"),
            ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=prod,service.name=ignored"),
            ("OTEL_SERVICE_NAME", "fleet"),
        ]);
        let settings = settings.unwrap().unwrap();
        assert_eq!(settings.headers["authorization"], "Bearer hunter2");
        assert_eq!(settings.headers["x-tenant"], "a=b");
        assert!(!format!("{settings:?}").contains("hunter2"));
        let resource: Vec<(&str, &str)> =
            settings.resource.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        let version = ("service.version", env!("CARGO_PKG_VERSION"));
        assert_eq!(resource, [("service.name", "fleet"), version, ("deployment.environment", "prod")]);
    }

    #[test]
    fn what_cannot_be_used_is_named_without_values_of_headers() {
        for (name, value) in [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://user:hunter2@collector"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "hunter2"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=hunter2"),
            ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=hunter2%0a"),
        ] {
            let refused = of(&[COMMON, (name, value)]).unwrap_err();
            assert!(refused.starts_with(name) && !refused.contains("hunter2"), "{refused}");
        }
    }
}
