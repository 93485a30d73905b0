//! Clusters as documents with every default explicit.

use std::fmt::Write as _;

use serde_json::Value as Json;

use crate::{
    Loaded,
    model::Cluster,
    reader::{item_path, join},
    source::{FieldSources, Origin},
    v1alpha1, yaml,
};

mod brief;
mod defaults;
mod reduced;
mod written;

pub use brief::brief_yaml;
pub use defaults::are_defaults;
pub use written::written_yaml;

/// All loaded clusters as documents of the newest version, whatever their format was, with every default
/// explicit.
///
/// A value that the documents do not set ends in `# default`. Loading the text gives the same clusters again.
///
/// # Errors
/// A value that YAML cannot express, which the model has not.
pub fn full_yaml(loaded: &Loaded) -> Result<String, Error> {
    let nothing = FieldSources::default();
    let mut text = String::new();
    for cluster in &loaded.clusters {
        let sources = loaded.sources.cluster(&cluster.name).unwrap_or(&nothing);
        let full = v1alpha1::full_documents(cluster)?;
        documents(cluster, &full, &mut Printer { sources, remark: "default", text: &mut text })?;
    }
    Ok(text)
}

/// The documents of a cluster, the cluster itself, then its pools and hosts.
fn documents(cluster: &Cluster, documents: &[Json], printer: &mut Printer<'_>) -> Result<(), Error> {
    for (index, document) in documents.iter().enumerate() {
        let prefix = part_prefix(cluster, index);
        if !printer.text.is_empty() {
            printer.text.push_str("---\n");
        }
        for name in ["apiVersion", "kind"] {
            let value = printer.scalar(&document[name], 0)?;
            printer.line(0, name, &value, None);
        }
        for part in ["metadata", "spec"] {
            if in_order(&document[part]).is_empty() {
                printer.line(0, part, "{}", None);
                continue;
            }
            printer.line(0, part, "", None);
            printer.fields(&document[part], &prefix, 1)?;
        }
    }
    Ok(())
}

/// The path of the part of a cluster that a document of it describes; empty for the cluster itself.
fn part_prefix(cluster: &Cluster, document: usize) -> String {
    let pools = cluster.pools.iter().map(|pool| format!("pools[{}]", pool.name));
    let hosts = cluster.hosts.iter().map(|host| format!("hosts[{}]", host.name));
    document.checked_sub(1).and_then(|index| pools.chain(hosts).nth(index)).unwrap_or_default()
}

/// A cluster that cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The model cannot be expressed as JSON.
    #[error("the cluster cannot be expressed as documents")]
    Json(#[from] serde_json::Error),
    /// A value cannot be expressed as YAML.
    #[error("a value cannot be expressed as YAML")]
    Yaml(#[from] serde_yaml::Error),
}

struct Printer<'a> {
    sources: &'a FieldSources,
    /// The remark after values that the documents do not set.
    remark: &'static str,
    text: &'a mut String,
}

impl Printer<'_> {
    /// The fields of a mapping, `name` first.
    fn fields(&mut self, value: &Json, path: &str, depth: usize) -> Result<(), Error> {
        for (name, value) in in_order(value) {
            let path = join(path, name);
            self.value(&key(name)?, value, &path, depth)?;
        }
        Ok(())
    }

    fn value(&mut self, name: &str, value: &Json, path: &str, depth: usize) -> Result<(), Error> {
        match value {
            Json::Object(_) if !in_order(value).is_empty() => {
                self.line(depth, name, "", None);
                self.fields(value, path, depth + 1)
            }
            Json::Array(items) if !items.is_empty() => {
                self.line(depth, name, "", None);
                self.items(items, path, depth)
            }
            _ => {
                let text = self.scalar(value, depth)?;
                self.line(depth, name, &text, Some(path));
                Ok(())
            }
        }
    }

    fn items(&mut self, items: &[Json], path: &str, depth: usize) -> Result<(), Error> {
        let names: Vec<&str> =
            items.iter().map(|item| item.get("name").and_then(Json::as_str).unwrap_or_default()).collect();
        for (index, item) in items.iter().enumerate() {
            let path = item_path(path, &names, index);
            match item {
                Json::Object(_) if !in_order(item).is_empty() => {
                    // The first field is on the line of the hyphen, which replaces a part of its indentation.
                    let start = self.text.len();
                    self.fields(item, &path, depth + 1)?;
                    let hyphen = start + depth * 2;
                    self.text.replace_range(hyphen..=hyphen, "-");
                }
                _ => {
                    let text = self.scalar(item, depth)?;
                    let mark = self.mark(Some(&path));
                    let _ = writeln!(self.text, "{}- {text}{mark}", "  ".repeat(depth));
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, depth: usize, name: &str, value: &str, path: Option<&str>) {
        let space = if value.is_empty() { "" } else { " " };
        let mark = self.mark(path);
        let indent = "  ".repeat(depth);
        match value.split_once('\n') {
            // The mark of a block of text follows its indicator.
            Some((first, rest)) => {
                let _ = writeln!(self.text, "{indent}{name}: {first}{mark}\n{rest}");
            }
            None => {
                let _ = writeln!(self.text, "{indent}{name}:{space}{value}{mark}");
            }
        }
    }

    fn mark(&self, path: Option<&str>) -> String {
        match path.map(|path| self.sources.origin(path)) {
            Some(Origin::Default) if !path.is_some_and(is_opaque) => format!(" # {}", self.remark),
            _ => String::new(),
        }
    }

    /// A value on one line, or a block of text that is indented below `depth`.
    fn scalar(&self, value: &Json, depth: usize) -> Result<String, Error> {
        if value.is_object() {
            // Nothing in it has a value.
            return Ok("{}".to_owned());
        }
        let text = yaml::to_string(value)?;
        let text = text.trim_end_matches('\n');
        let Some((first, rest)) = text.split_once('\n') else {
            return Ok(text.to_owned());
        };
        if !first.starts_with(['|', '>']) || first.contains('+') || first.contains(char::is_numeric) {
            return Ok(value.to_string());
        }
        let indent = "  ".repeat(depth);
        let lines: Vec<String> = rest
            .lines()
            .map(|line| if line.is_empty() { String::new() } else { format!("{indent}{line}") })
            .collect();
        Ok(format!("{first}\n{}", lines.join("\n")))
    }
}

/// Whether a field is one of settings that only another program reads, such as a provider or an add-on: only
/// that program has defaults for it.
fn is_opaque(path: &str) -> bool {
    ["provider.config.", ".config.", "providerConfig."].iter().any(|part| path.contains(part))
}

fn key(name: &str) -> Result<String, Error> {
    Ok(yaml::to_string(&name)?.trim_end().to_owned())
}

/// The fields of a mapping in order, `name` first, those without a value left out.
fn in_order(value: &Json) -> Vec<(&String, &Json)> {
    let mut fields: Vec<(&String, &Json)> =
        value.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null()).collect();
    fields.sort_by_key(|(name, _)| (*name != "name", *name));
    fields
}

#[cfg(test)]
mod tests;
