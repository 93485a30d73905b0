//! Bootstrap data in the format `ignition`, versions 2.x and 3.x, as far as Cluster API's kubeadm provider writes it: files
//! and units of systemd. Other parts are refused by name.

use serde::Deserialize;
use serde_json::Value;

use super::recipe::{File, Recipe, RecipeError, base64, quoted};

/// The folder of the units.
const UNITS: &str = "/etc/systemd/system";
/// The permissions of a file without any.
const MODE: u32 = 0o644;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(rename = "ignition")]
    header: Header,
    #[serde(default)]
    storage: Storage,
    #[serde(default)]
    systemd: Systemd,
    #[serde(default)]
    passwd: Value,
    #[serde(default)]
    networkd: Value,
}

#[derive(Deserialize)]
struct Header {
    version: String,
    #[serde(default)]
    config: Value,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Storage {
    #[serde(default)]
    files: Vec<WrittenFile>,
    #[serde(default)]
    disks: Value,
    #[serde(default)]
    raid: Value,
    #[serde(default)]
    filesystems: Value,
    #[serde(default)]
    directories: Value,
    #[serde(default)]
    links: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    path: String,
    #[serde(default)]
    contents: Contents,
    #[serde(default)]
    mode: Option<u32>,
    #[serde(default)]
    user: Account,
    #[serde(default)]
    group: Account,
    /// Version 2 names the file system; `root` is the only one without `filesystems`.
    #[serde(default, rename = "filesystem")]
    _file_system: Option<String>,
    #[serde(default, rename = "overwrite")]
    _overwrite: Option<bool>,
    #[serde(default)]
    append: Value,
}

#[derive(Default, Deserialize)]
struct Contents {
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    compression: Option<String>,
}

#[derive(Default, Deserialize)]
struct Account {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    id: Option<u32>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Systemd {
    #[serde(default)]
    units: Vec<Unit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Unit {
    name: String,
    #[serde(default)]
    enabled: Option<bool>,
    #[serde(default)]
    contents: Option<String>,
    #[serde(default)]
    mask: Option<bool>,
    #[serde(default)]
    dropins: Value,
}

/// Reads a document.
///
/// # Errors
/// When it cannot be read, or has parts that the agent does not carry out.
pub fn read(text: &str) -> Result<Recipe, RecipeError> {
    let document: Document =
        serde_json::from_str(text).map_err(|error| RecipeError::Unreadable(error.to_string()))?;
    if !["2.", "3."].iter().any(|major| document.header.version.starts_with(major)) {
        return Err(RecipeError::Unsupported(format!("ignition.version: {}", document.header.version)));
    }
    let storage = document.storage;
    let parts = [
        ("ignition.config", &document.header.config),
        ("passwd", &document.passwd),
        ("networkd", &document.networkd),
        ("storage.disks", &storage.disks),
        ("storage.raid", &storage.raid),
        ("storage.filesystems", &storage.filesystems),
        ("storage.directories", &storage.directories),
        ("storage.links", &storage.links),
    ];
    if let Some((part, _)) = parts.iter().find(|(_, value)| !is_blank(value)) {
        return Err(RecipeError::Unsupported((*part).to_owned()));
    }
    let mut recipe = Recipe::default();
    for file in storage.files {
        recipe.files.push(written(file)?);
    }
    let mut enabled = Vec::new();
    for unit in document.systemd.units {
        if unit.mask == Some(true) || !is_blank(&unit.dropins) {
            return Err(RecipeError::Unsupported(format!("mask or dropins of unit {}", unit.name)));
        }
        if let Some(contents) = unit.contents {
            let path = format!("{UNITS}/{}", unit.name);
            recipe.files.push(File {
                path,
                content: contents.into_bytes(),
                mode: MODE,
                owner: None,
                append: false,
            });
        }
        if unit.enabled == Some(true) {
            enabled.push(unit.name);
        }
    }
    if !enabled.is_empty() {
        recipe.script.push_str("systemctl daemon-reload\n");
        for unit in enabled {
            recipe.script.push_str(&format!("systemctl enable --now {}\n", quoted(&unit)));
        }
    }
    Ok(recipe)
}

/// Whether a part asks for nothing: it is absent, or all that it has is.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(fields) => fields.values().all(is_blank),
        _ => false,
    }
}

fn written(file: WrittenFile) -> Result<File, RecipeError> {
    if !file.path.starts_with('/') {
        return Err(RecipeError::Unreadable(format!("the path {} is not absolute", file.path)));
    }
    if file.contents.compression.as_deref().is_some_and(|kind| !kind.is_empty()) {
        return Err(RecipeError::Unsupported(format!("compression of {}", file.path)));
    }
    let append = match &file.append {
        Value::Bool(append) => *append,
        value if is_blank(value) => false,
        _ => return Err(RecipeError::Unsupported(format!("append of {}", file.path))),
    };
    let content =
        file.contents.source.as_deref().map_or(Ok(Vec::new()), |source| data(&file.path, source))?;
    let account = |account: Account| account.name.or_else(|| account.id.map(|id| id.to_string()));
    let owner = match (account(file.user), account(file.group)) {
        (None, None) => None,
        (user, group) => Some(format!("{}:{}", user.unwrap_or_default(), group.unwrap_or_default())),
    };
    Ok(File { path: file.path, content, mode: file.mode.unwrap_or(MODE) & 0o7777, owner, append })
}

/// The content of a `data` URL (RFC 2397).
fn data(path: &str, source: &str) -> Result<Vec<u8>, RecipeError> {
    let unsupported = || RecipeError::Unsupported(format!("source of {path}, which is not a data URL"));
    let (kind, content) =
        source.strip_prefix("data:").and_then(|rest| rest.split_once(',')).ok_or_else(unsupported)?;
    let bytes = decoded(content).ok_or_else(|| RecipeError::Unreadable(format!("the data URL of {path}")))?;
    if !kind.ends_with(";base64") {
        return Ok(bytes);
    }
    base64(&String::from_utf8_lossy(&bytes))
}

/// The bytes of a text with percent signs; `None` if two hexadecimal digits are missing after one.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        if *first != b'%' {
            bytes.push(*first);
            rest = after;
            continue;
        }
        let digits = std::str::from_utf8(after.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &after[2..];
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_data_of_the_kubeadm_provider_is_read() {
        let recipe = read(
            &json!({
                "ignition": {"config": {}, "security": {"tls": {}}, "timeouts": {}, "version": "2.3.0"},
                "networkd": {}, "passwd": {},
                "storage": {"files": [
                    {"filesystem": "root", "path": "/etc/kubeadm.sh", "mode": 448,
                     "contents": {"source": "data:,%23!%2Fbin%2Fbash%0Aset%20-e%0A", "verification": {}}},
                    {"filesystem": "root", "path": "/etc/ca.crt", "mode": 416, "user": {"name": "root"}, "group": {"name": "root"},
                     "contents": {"source": "data:;base64,Y2VydA=="}}]},
                "systemd": {"units": [{"name": "kubeadm.service", "enabled": true, "contents": "[Unit]\n"}]},
            })
            .to_string(),
        )
        .unwrap();
        assert_eq!(recipe.files[0].content, b"#!/bin/bash\nset -e\n");
        assert_eq!(recipe.files[0].mode, 0o700);
        assert_eq!(
            (recipe.files[1].content.as_slice(), recipe.files[1].owner.as_deref()),
            (b"cert".as_slice(), Some("root:root"))
        );
        assert_eq!(recipe.files[2].path, "/etc/systemd/system/kubeadm.service");
        assert_eq!(recipe.script, "systemctl daemon-reload\nsystemctl enable --now 'kubeadm.service'\n");
    }

    #[test]
    fn what_the_agent_does_not_do_is_refused() {
        let refused = |mut part: Value| {
            part["ignition"]["version"] = part["ignition"]["version"].as_str().unwrap_or("3.4.0").into();
            read(&part.to_string()).unwrap_err()
        };
        let unsupported = |what: &str| RecipeError::Unsupported(what.to_owned());
        assert_eq!(refused(json!({"passwd": {"users": [{"name": "a"}]}})), unsupported("passwd"));
        assert_eq!(
            refused(json!({"storage": {"disks": [{"device": "/dev/a"}]}})),
            unsupported("storage.disks")
        );
        assert_eq!(refused(json!({"ignition": {"version": "1.0"}})), unsupported("ignition.version: 1.0"));
        let file =
            |contents: Value| refused(json!({"storage": {"files": [{"path": "/a", "contents": contents}]}}));
        assert_eq!(
            file(json!({"source": "https://a/b"})),
            unsupported("source of /a, which is not a data URL")
        );
        assert_eq!(
            file(json!({"source": "data:,a", "compression": "gzip"})),
            unsupported("compression of /a")
        );
        assert!(matches!(file(json!({"source": "data:,%4"})), RecipeError::Unreadable(_)));
        assert!(matches!(refused(json!({"storage": {"tables": []}})), RecipeError::Unreadable(_)));
    }
}
