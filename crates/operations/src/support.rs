//! What helps to find a problem of a cluster from afar, without its secrets.

use serde_json::Value as Json;

use crate::error::Error;
use crate::opened::Opened;
use crate::{health, state};

/// Kinds of objects whose lists help, none of which holds secrets.
const LISTS: [(&str, &str); 4] = [
    ("nodes", "/api/v1/nodes"),
    ("pods", "/api/v1/pods"),
    ("events", "/api/v1/events"),
    ("certificate-requests", "/apis/certificates.k8s.io/v1/certificatesigningrequests"),
];

/// The marks of the first and the last line of a private key.
const PRIVATE_KEY: &str = "PRIVATE KEY";
const BEGIN: &str = "-----BEGIN ";
const END: &str = "-----END ";

/// How many lines after the first one of a private key are left out at most, if the last one is missing.
const LINES: usize = 128;

/// A text about a cluster, without secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The name of the file for it.
    pub file: String,
    /// The text.
    pub text: String,
}

impl Report {
    /// A text, of which each line is left without secrets.
    #[must_use]
    pub fn new(file: impl Into<String>, text: &str) -> Self {
        let mut rest = 0;
        let mut clean = String::with_capacity(text.len());
        for line in text.lines() {
            let is_edge = line.contains(PRIVATE_KEY);
            if !is_edge && rest > 0 {
                rest -= 1;
                continue;
            }
            let begins = line.rfind(BEGIN) > line.rfind(END);
            rest = if is_edge && begins { LINES } else { 0 };
            clean.push_str(&cleaned(line));
            clean.push('\n');
        }
        Self { file: file.into(), text: clean }
    }

    fn json(file: impl Into<String>, value: &Json) -> Result<Self, Error> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| Error::internal("a report cannot be written", error))?;
        Ok(Self::new(file, &text))
    }
}

/// The spec, the health, the recorded resources and failed steps of a cluster, and lists of its objects.
///
/// # Errors
/// When the health of the cluster cannot be looked at. A list that cannot be read has the error in its place.
pub async fn reports(opened: &Opened) -> Result<Vec<Report>, Error> {
    let mut spec = state::to_json(&opened.spec.cluster)?;
    redact(&mut spec);
    let mut reports = vec![Report::json("spec.json", &spec)?];
    let health = health::look(opened).await?;
    reports.push(Report::json("health.json", &health.to_json())?);
    if let Some(state) = &opened.state {
        let records = state.snapshot.resources.iter();
        let lines: String =
            records.map(|(address, record)| format!("{address}\t{}\n", record.identity)).collect();
        reports.push(Report::new("resources.txt", &lines));
        let failed = state.replayed.failed.iter();
        let lines: String = failed.map(|(address, message)| format!("{address}\t{message}\n")).collect();
        reports.push(Report::new("failed-steps.txt", &lines));
    }
    if let Ok(api) = health::api(&opened.access()).await? {
        for (name, path) in LISTS {
            let body = match api.get(path).await {
                Ok(mut body) => {
                    redact(&mut body);
                    body
                }
                Err(error) => Json::String(error.message),
            };
            reports.push(Report::json(format!("{name}.json"), &body)?);
        }
    }
    Ok(reports)
}

/// The text in place of a value that was left out.
const LEFT_OUT: &str = "(left out)";

/// Parts of field names whose texts are left out. The last is a whole object as one text, as kubectl stores
/// it.
const HIDDEN: [&str; 6] =
    ["token", "password", "secretkey", "accesskey", "privatekey", "last-applied-configuration"];

/// The field of a file or unit on nodes that has its whole text.
const CONTENT: &str = "content";

/// The lists of arguments of containers and probes.
const ARGUMENTS: [&str; 2] = ["args", "command"];

/// Whether the name of a field, a flag or a variable is that of a secret.
fn is_hidden(name: &str) -> bool {
    let lower = name.to_lowercase();
    let joined = lower.replace(['-', '_'], "");
    HIDDEN.iter().any(|word| lower.contains(word) || joined.contains(word))
}

/// Removes values that objects and specs should not contain: those of environment variables, those of fields and flags that are named
/// like secrets, and the texts of files and units.
fn redact(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            let is_variable = fields.contains_key("name") && fields.contains_key("value");
            for (name, value) in fields.iter_mut() {
                let is_secret = is_hidden(name) || is_variable && name == "value" || name == CONTENT;
                match value {
                    Json::String(_) if is_secret => *value = LEFT_OUT.into(),
                    Json::Array(items) if ARGUMENTS.contains(&name.as_str()) => redact_arguments(items),
                    _ => redact(value),
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

/// Removes the values of flags that are named like secrets, as `--password=x` and `--password x`.
fn redact_arguments(arguments: &mut [Json]) {
    let mut is_value = false;
    for argument in arguments {
        let Some(text) = argument.as_str() else {
            redact(argument);
            continue;
        };
        let flag = text.split_once('=').map(|(flag, _)| flag.to_owned());
        // A script in one argument may have anything in it.
        let is_script = text.contains(char::is_whitespace) && is_hidden(text);
        let next_is_value = flag.is_none() && text.starts_with('-') && is_hidden(text);
        if is_value && !text.starts_with('-') || is_script {
            *argument = LEFT_OUT.into();
        } else if let Some(flag) = flag.filter(|flag| is_hidden(flag)) {
            *argument = format!("{flag}={LEFT_OUT}").into();
        }
        is_value = next_is_value;
    }
}

/// A line without bootstrap tokens, bearer tokens and keys.
fn cleaned(line: &str) -> String {
    if line.contains(PRIVATE_KEY) {
        return "(a private key was left out)".to_owned();
    }
    let clean = |word: &str| {
        let bare = word.trim_matches(|letter: char| !letter.is_ascii_alphanumeric());
        if is_bootstrap_token(bare) || bare.starts_with("eyJ") {
            word.replace(bare, "(left out)")
        } else {
            word.to_owned()
        }
    };
    line.split(' ').map(clean).collect::<Vec<_>>().join(" ")
}

fn is_bootstrap_token(word: &str) -> bool {
    let lower = |text: &str| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    word.split_once('.')
        .is_some_and(|(id, secret)| id.len() == 6 && secret.len() == 16 && lower(id) && lower(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_left_out() {
        assert_eq!(cleaned("token \"abcdef.0123456789abcdef\" is old"), "token \"(left out)\" is old");
        assert_eq!(cleaned("-----BEGIN EC PRIVATE KEY-----"), "(a private key was left out)");
        assert_eq!(cleaned("Authorization: Bearer eyJhbGciOi.x.y"), "Authorization: Bearer (left out)");
        assert_eq!(cleaned("server.go:123] started"), "server.go:123] started");
        let key = "a\n12:00 -----BEGIN EC PRIVATE KEY-----\n12:00 c2VjcmV0\n12:00 -----END EC PRIVATE KEY-----\nb\n";
        let left_out = "(a private key was left out)\n";
        assert_eq!(Report::new("a.log", key).text, format!("a\n{left_out}{left_out}b\n"));
        let in_one = "a: \"-----BEGIN PRIVATE KEY-----\\nc2VjcmV0\\n-----END PRIVATE KEY-----\"\nb\n";
        assert_eq!(Report::new("a.json", in_one).text, format!("{left_out}b\n"));
        let mut pod = serde_json::json!({"kubectl.kubernetes.io/last-applied-configuration": "{\"env\": 1}"});
        redact(&mut pod);
        assert_eq!(
            pod,
            serde_json::json!({"kubectl.kubernetes.io/last-applied-configuration": "(left out)"})
        );
        let mut account = serde_json::json!({"secretAccessKey": "s"});
        redact(&mut account);
        assert_eq!(account, serde_json::json!({"secretAccessKey": "(left out)"}));
        let mut container = serde_json::json!({
            "args": ["--token", "t", "--v=2", "--db-password=p", "serve", "--token", "--port=1"],
            "command": ["sh", "-c", "login --password x"],
        });
        redact(&mut container);
        assert_eq!(
            container,
            serde_json::json!({
                "args": ["--token", "(left out)", "--v=2", "--db-password=(left out)", "serve", "--token", "--port=1"],
                "command": ["sh", "-c", "(left out)"],
            })
        );
        let mut files =
            serde_json::json!({"nodeFiles": [{"path": "/etc/a", "content": "s", "mode": "0600"}]});
        redact(&mut files);
        assert_eq!(
            files,
            serde_json::json!({"nodeFiles": [{"path": "/etc/a", "content": "(left out)", "mode": "0600"}]})
        );
        let mut spec = serde_json::json!({"env": [{"name": "A", "value": "x"}], "token": "t", "name": "n"});
        redact(&mut spec);
        assert_eq!(
            spec,
            serde_json::json!({"env": [{"name": "A", "value": "(left out)"}], "token": "(left out)", "name": "n"})
        );
    }
}
