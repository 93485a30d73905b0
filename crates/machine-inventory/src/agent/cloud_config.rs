//! Bootstrap data in the format `cloud-config`, as far as Cluster API's kubeadm provider writes it: `write_files`,
//! `bootcmd` and `runcmd`. Other modules of cloud-init are refused by name.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_yaml::Value;

use super::recipe::{File, Recipe, RecipeError, base64, mode, quoted};

/// The line that makes a template of the document.
const TEMPLATE: &str = "## template: jinja";
/// The permissions of a file without any.
const MODE: u32 = 0o644;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    path: String,
    #[serde(default)]
    content: String,
    #[serde(default)]
    encoding: String,
    #[serde(default)]
    owner: Option<String>,
    #[serde(default)]
    permissions: Option<String>,
    #[serde(default)]
    append: bool,
}

/// Reads a document. `names` are the values that a template may use.
///
/// # Errors
/// When it cannot be read, or uses another module of cloud-init.
pub fn read(text: &str, names: &BTreeMap<&str, String>) -> Result<Recipe, RecipeError> {
    let unreadable = |error: serde_yaml::Error| RecipeError::Unreadable(error.to_string());
    let text = if text.starts_with(TEMPLATE) { rendered(text, names)? } else { text.to_owned() };
    if !text.lines().take(2).any(|line| line.trim_end() == "#cloud-config") {
        return Err(RecipeError::Unreadable("it does not begin with #cloud-config".to_owned()));
    }
    let document: BTreeMap<String, Value> = serde_yaml::from_str(&text).map_err(unreadable)?;
    let (mut recipe, mut boot, mut run) = (Recipe::default(), String::new(), String::new());
    for (module, value) in document {
        // The templates of the provider leave lists out by leaving them blank.
        if value.is_null() {
            continue;
        }
        match module.as_str() {
            "write_files" => {
                let files: Vec<WrittenFile> = serde_yaml::from_value(value).map_err(unreadable)?;
                recipe.files = files.into_iter().map(file).collect::<Result<_, _>>()?;
            }
            "bootcmd" => boot = commands(&module, value)?,
            "runcmd" => run = commands(&module, value)?,
            _ => return Err(RecipeError::Unsupported(module)),
        }
    }
    recipe.script = format!("{boot}{run}");
    Ok(recipe)
}

/// The text with the values of its template. Only single names are known.
fn rendered(text: &str, names: &BTreeMap<&str, String>) -> Result<String, RecipeError> {
    let (mut done, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, after) = after
            .split_once("}}")
            .ok_or_else(|| RecipeError::Unreadable("a template expression has no end".to_owned()))?;
        let value = names.get(name.trim());
        let value = value.ok_or_else(|| RecipeError::Unsupported(format!("{{{{{name}}}}}")))?;
        done.push_str(before);
        done.push_str(value);
        rest = after;
    }
    done.push_str(rest);
    if done.contains("{%") {
        return Err(RecipeError::Unsupported("{% … %}".to_owned()));
    }
    Ok(done)
}

fn file(written: WrittenFile) -> Result<File, RecipeError> {
    if !written.path.starts_with('/') {
        return Err(RecipeError::Unreadable(format!("the path {} is not absolute", written.path)));
    }
    let content = match written.encoding.as_str() {
        "" | "text/plain" => written.content.into_bytes(),
        "b64" | "base64" => base64(&written.content)?,
        other => return Err(RecipeError::Unsupported(format!("encoding: {other}"))),
    };
    let mode = written.permissions.as_deref().map_or(Ok(MODE), mode)?;
    Ok(File { path: written.path, content, mode, owner: written.owner, append: written.append })
}

/// The lines of a script: a text is a command of the shell, a list is a program and its arguments. As with cloud-init, a
/// command that fails does not end the script.
fn commands(module: &str, value: Value) -> Result<String, RecipeError> {
    let bad = || RecipeError::Unreadable(format!("{module} is not a list of commands"));
    let Value::Sequence(list) = value else { return Err(bad()) };
    let mut script = String::new();
    for command in list {
        match command {
            Value::String(text) => script.push_str(&text),
            Value::Sequence(words) => {
                let words = words.iter().map(|word| word.as_str().map(quoted).ok_or_else(bad));
                script.push_str(&words.collect::<Result<Vec<_>, _>>()?.join(" "));
            }
            _ => return Err(bad()),
        }
        script.push('\n');
    }
    Ok(script)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Recipe, RecipeError> {
        read(text, &BTreeMap::from([("ds.meta_data.local_hostname", "host-1".to_owned())]))
    }

    #[test]
    fn the_data_of_the_kubeadm_provider_is_read() {
        let recipe = of(r#"## template: jinja
#cloud-config

write_files:
-   path: /etc/kubernetes/pki/ca.crt
    encoding: "base64"
    owner: root:root
    permissions: '0640'
    content: |
      Y2VydGlm
      aWNhdGU=
-   path: /run/kubeadm/kubeadm.yaml
    owner: root:root
    permissions: '0640'
    content: |
      ---
      nodeRegistration: {name: '{{ ds.meta_data.local_hostname }}'}
bootcmd:
  - "modprobe br_netfilter"
runcmd:
  - "swapoff -a"
  - ["echo", "it's", "done"]
  - 'kubeadm init --config /run/kubeadm/kubeadm.yaml  && echo success > /run/cluster-api/bootstrap-success.complete'
ntp:
"#)
        .unwrap();
        assert_eq!(recipe.files[0].content, b"certificate");
        assert_eq!((recipe.files[0].mode, recipe.files[0].owner.as_deref()), (0o640, Some("root:root")));
        assert_eq!(recipe.files[1].content, b"---\nnodeRegistration: {name: 'host-1'}\n");
        assert_eq!(
            recipe.script,
            "modprobe br_netfilter\nswapoff -a\n'echo' 'it'\\''s' 'done'\nkubeadm init --config /run/kubeadm/kubeadm.yaml  \
             && echo success > /run/cluster-api/bootstrap-success.complete\n"
        );
    }

    #[test]
    fn what_the_agent_does_not_do_is_refused() {
        let refused = |text: &str| of(&format!("#cloud-config\n{text}")).unwrap_err();
        let unsupported = |what: &str| RecipeError::Unsupported(what.to_owned());
        assert_eq!(refused("users: [{name: a}]"), unsupported("users"));
        assert_eq!(refused("ntp: {enabled: true}"), unsupported("ntp"));
        assert_eq!(
            refused("write_files: [{path: /a, encoding: gzip, content: ''}]"),
            unsupported("encoding: gzip")
        );
        assert!(matches!(refused("write_files: [{path: a, content: ''}]"), RecipeError::Unreadable(_)));
        assert!(matches!(
            refused("write_files: [{path: /a, permissions: '0999'}]"),
            RecipeError::Unreadable(_)
        ));
        assert!(matches!(refused("runcmd: reboot"), RecipeError::Unreadable(_)));
        assert!(matches!(of("#!/bin/sh\n").unwrap_err(), RecipeError::Unreadable(_)));
        let template =
            |text: &str| of(&format!("## template: jinja\n#cloud-config\nruncmd: [\"{text}\"]")).unwrap_err();
        assert_eq!(template("{{ ds.other }}"), unsupported("{{ ds.other }}"));
        assert_eq!(template("{% if a %}"), unsupported("{% … %}"));
    }
}
