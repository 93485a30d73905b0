//! `slipway support-bundle`

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use futures_util::{StreamExt as _, stream};
use serde_json::Value as Json;
use slipway_operations::{health, state};
use slipway_spec::model::Host;
use tempfile::TempDir;

use super::logs;
use crate::cli::clusters::SupportBundleArguments;
use crate::commands::kubeconfig::open;
use crate::error::CommandError;
use crate::program::Context;

/// How many lines of each log.
const LINES: usize = 500;

/// How many logs are fetched at a time.
const AT_ONCE: usize = 16;

/// The components whose logs are read on each node.
const COMPONENTS: [&str; 5] =
    ["kubelet", "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"];

/// Kinds of objects whose lists help, none of which holds secrets.
const LISTS: [(&str, &str); 4] = [
    ("nodes", "/api/v1/nodes"),
    ("pods", "/api/v1/pods"),
    ("events", "/api/v1/events"),
    ("certificate-requests", "/apis/certificates.k8s.io/v1/certificatesigningrequests"),
];

/// Collects information for remote support, without secrets.
pub(crate) async fn run(
    context: &Context,
    arguments: &SupportBundleArguments,
) -> Result<ExitCode, CommandError> {
    let opened = open(context, &arguments.cluster).await?;
    let name = opened.spec.cluster.name.clone();
    let folder = arguments.out.clone().unwrap_or_else(|| PathBuf::from(format!("{name}-support")));
    let bundle = Bundle::new(&folder).map_err(|error| CommandError::file("the folder", &folder, &error))?;
    bundle.text("slipway.txt", &format!("slipway {}\n", env!("CARGO_PKG_VERSION")))?;
    let mut spec = state::to_json(&opened.spec.cluster)?;
    redact(&mut spec);
    bundle.json("spec.json", &spec)?;
    let health = health::look(&opened).await?;
    bundle.json("health.json", &health.to_json())?;
    if let Some(state) = &opened.state {
        let records = state.snapshot.resources.iter();
        let lines: String =
            records.map(|(address, record)| format!("{address}\t{}\n", record.identity)).collect();
        bundle.text("resources.txt", &lines)?;
        let failed = state.replayed.failed.iter();
        let lines: String = failed.map(|(address, message)| format!("{address}\t{message}\n")).collect();
        bundle.text("failed-steps.txt", &lines)?;
    }
    if let Ok(api) = health::api(&opened.access()).await? {
        for (file, path) in LISTS {
            let body = match api.get(path).await {
                Ok(mut body) => {
                    redact(&mut body);
                    body
                }
                Err(error) => Json::String(error.message),
            };
            bundle.json(&format!("{file}.json"), &body)?;
        }
    }
    let hosts = opened.spec.cluster.all_hosts();
    let logs = hosts.iter().flat_map(|host| COMPONENTS.map(|component| (host, component)));
    let read = async |(host, component): (&Host, &str)| {
        // A worker has no API server. If a log cannot be read, the error is written in its place.
        let text = logs::read(host, context.policy.networks(), (component, LINES)).await;
        let text = text.unwrap_or_else(|error| format!("{}\n", error.message()));
        (format!("{}-{component}.log", host.name), text)
    };
    let mut read = stream::iter(logs).map(read).buffered(AT_ONCE);
    while let Some((file, text)) = read.next().await {
        bundle.text(&file, &text)?;
    }
    bundle.done(&folder).map_err(|error| CommandError::file("the folder", &folder, &error))?;
    context.output.message(&format!(
        "{} has what helps, without secrets; look through it before you give it away.",
        folder.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// A folder that is written beside the requested one, and renamed to it when it is complete.
struct Bundle {
    draft: TempDir,
}

impl Bundle {
    fn new(folder: &Path) -> io::Result<Self> {
        if folder.try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut draft = tempfile::Builder::new();
        let draft = draft.prefix(".slipway-support-").tempdir_in(parent.unwrap_or(Path::new(".")));
        Ok(Self { draft: draft? })
    }

    fn done(self, folder: &Path) -> io::Result<()> {
        std::fs::rename(self.draft.path(), folder)?;
        // The folder has its final name now and must not be removed.
        let _ = self.draft.keep();
        Ok(())
    }

    fn text(&self, name: &str, text: &str) -> Result<(), CommandError> {
        let path = self.draft.path().join(name);
        let text: String = text.lines().map(|line| cleaned(line) + "\n").collect();
        std::fs::write(&path, text).map_err(|error| CommandError::file("the file", &path, &error))
    }

    fn json(&self, name: &str, value: &Json) -> Result<(), CommandError> {
        let text = serde_json::to_string_pretty(value)
            .map_err(|error| CommandError::internal("a report cannot be written", &error))?;
        self.text(name, &text)
    }
}

/// Parts of field names whose texts are left out. The last is a whole object as one text, as kubectl stores
/// it.
const HIDDEN: [&str; 5] = ["token", "password", "secretkey", "privatekey", "last-applied-configuration"];

/// Removes values that objects and specs should not contain: those of environment variables, and those of
/// fields that are named like secrets.
fn redact(value: &mut Json) {
    match value {
        Json::Object(fields) => {
            let is_variable = fields.contains_key("name") && fields.contains_key("value");
            for (name, value) in fields.iter_mut() {
                let lower = name.to_lowercase();
                let secret = HIDDEN.iter().any(|word| lower.contains(word));
                if value.is_string() && (secret || (is_variable && name == "value")) {
                    *value = "(left out)".into();
                } else {
                    redact(value);
                }
            }
        }
        Json::Array(items) => items.iter_mut().for_each(redact),
        _ => {}
    }
}

/// A line without bootstrap tokens, bearer tokens and keys.
fn cleaned(line: &str) -> String {
    if line.contains("PRIVATE KEY") {
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
    fn a_folder_is_whole_or_not_there() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("bundle");
        let entries = |folder: &Path| -> Vec<String> {
            let entries = std::fs::read_dir(folder).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        let half = Bundle::new(&folder).unwrap();
        half.text("one.txt", "1").unwrap();
        drop(half);
        assert!(entries(parent.path()).is_empty());
        let whole = Bundle::new(&folder).unwrap();
        whole.text("one.txt", "1").unwrap();
        whole.done(&folder).unwrap();
        assert_eq!(
            (entries(parent.path()), entries(&folder)),
            (vec!["bundle".into()], vec!["one.txt".into()])
        );
        assert_eq!(Bundle::new(&folder).err().unwrap().kind(), io::ErrorKind::AlreadyExists);
    }

    #[test]
    fn secrets_are_left_out() {
        assert_eq!(cleaned("token \"abcdef.0123456789abcdef\" is old"), "token \"(left out)\" is old");
        assert_eq!(cleaned("-----BEGIN EC PRIVATE KEY-----"), "(a private key was left out)");
        assert_eq!(cleaned("Authorization: Bearer eyJhbGciOi.x.y"), "Authorization: Bearer (left out)");
        assert_eq!(cleaned("server.go:123] started"), "server.go:123] started");
        let mut pod = serde_json::json!({"kubectl.kubernetes.io/last-applied-configuration": "{\"env\": 1}"});
        redact(&mut pod);
        assert_eq!(
            pod,
            serde_json::json!({"kubectl.kubernetes.io/last-applied-configuration": "(left out)"})
        );
        let mut spec = serde_json::json!({"env": [{"name": "A", "value": "x"}], "token": "t", "name": "n"});
        redact(&mut spec);
        assert_eq!(
            spec,
            serde_json::json!({"env": [{"name": "A", "value": "(left out)"}], "token": "(left out)", "name": "n"})
        );
    }
}
