//! Configurations of Terraform, read by a parser of its language and held against what clusters of kOps are known to
//! consist of: the cases of `SLIPWAY_CASES`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use hcl::{Body, Expression, Structure};
use serde_json::{Map, Value as Json};

use crate::offline::{place, run};

/// Blocks of Terraform itself.
const META: &[&str] = &["depends_on", "lifecycle"];

/// The attributes that make up a rule of a security group.
const RULE: &[&str] = &[
    "security_group_id",
    "type",
    "protocol",
    "from_port",
    "to_port",
    "cidr_blocks",
    "ipv6_cidr_blocks",
    "prefix_list_ids",
    "source_security_group_id",
];

fn cases() -> Result<Vec<PathBuf>> {
    let mut cases = Vec::new();
    let Some(folder) = std::env::var_os("SLIPWAY_CASES").map(PathBuf::from) else {
        return Ok(cases);
    };
    for entry in std::fs::read_dir(&folder).with_context(|| folder.display().to_string())? {
        cases.push(entry?.path());
    }
    ensure!(!cases.is_empty(), "no cases in {}", folder.display());
    cases.retain(|case| case.join("expected.json").is_file());
    cases.sort();
    Ok(cases)
}

#[test]
fn every_case_is_a_configuration_of_terraform() -> Result<()> {
    let place = place()?;
    for case in cases()? {
        let spec = case.join("spec.yaml").display().to_string();
        let ended = run(&place, &["export", "terraform", "-f", &spec, "--offline"], &[])?;
        ensure!(ended.code == Some(0), "{}: {}", case.display(), ended.err);
        let body = hcl::parse(&ended.out).with_context(|| case.display().to_string())?;
        is_formatted(&ended.out).with_context(|| case.display().to_string())?;
        let expected = serde_json::from_slice(&std::fs::read(case.join("expected.json"))?)?;
        is_as_expected(&body, &expected).with_context(|| case.display().to_string())?;
    }
    Ok(())
}

/// Whether `terraform fmt` leaves a configuration as it is, where there is a Terraform.
pub(crate) fn is_formatted(text: &str) -> Result<()> {
    let mut command = Command::new("terraform");
    command.args(["fmt", "-"]).env_remove("TF_CLI_CONFIG_FILE").env("CHECKPOINT_DISABLE", "1");
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = piped.spawn() else { return Ok(()) };
    let mut input = child.stdin.take().context("standard input")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || input.write_all(text.as_bytes()));
        child.wait_with_output()
    })?;
    let (formatted, problems) = (String::from_utf8(output.stdout)?, String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "{problems}");
    let differs = formatted.lines().zip(text.lines()).find(|(theirs, ours)| theirs != ours);
    ensure!(formatted == text, "terraform fmt changes it: {differs:?}");
    Ok(())
}

fn is_as_expected(body: &Body, expected: &Json) -> Result<()> {
    let found = resources(body);
    let mut wanted = BTreeMap::new();
    for resource in expected.as_array().context("no list of resources")? {
        let text = |name: &str| resource[name].as_str().unwrap_or_default();
        wanted.insert(key(text("type"), text("name"), &resource["attributes"]), &resource["attributes"]);
    }
    let (have, want): (BTreeSet<&String>, BTreeSet<&String>) =
        (found.keys().collect(), wanted.keys().collect());
    let (extra, missing): (Vec<_>, Vec<_>) =
        (have.difference(&want).collect(), want.difference(&have).collect());
    ensure!(extra.is_empty() && missing.is_empty(), "too much {extra:#?}, missing {missing:#?}");
    let mut differences: Vec<(String, String)> = Vec::new();
    for (address, attributes) in &wanted {
        differ(&found[address], attributes, &mut Vec::new(), &mut |path| {
            differences.push((address.clone(), path))
        });
    }
    ensure!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

/// The key of a resource: its address, and for a rule of a security group the allowed traffic.
fn key(kind: &str, name: &str, attributes: &Json) -> String {
    if kind != "aws_security_group_rule" {
        return without_fingerprint(&format!("{kind}.{name}"));
    }
    let said = RULE.iter().filter(|name| !attributes[**name].is_null());
    let told = said.map(|name| format!("{name}={}", plain(&attributes[*name])));
    format!("{kind} {}", told.collect::<Vec<_>>().join(" "))
}

/// The resources of a configuration by address, in the form in which the cases have them.
fn resources(body: &Body) -> BTreeMap<String, Json> {
    let blocks = body.blocks().filter(|block| block.identifier() == "resource");
    let named = blocks.filter_map(|block| match block.labels() {
        [kind, name] => {
            let attributes = fields(block.body());
            Some((key(kind.as_str(), name.as_str(), &attributes), attributes))
        }
        _ => None,
    });
    named.collect()
}

/// Attributes, and blocks as lists of objects.
fn fields(body: &Body) -> Json {
    let mut fields = Map::new();
    for structure in body.iter() {
        match structure {
            Structure::Attribute(attribute) if !META.contains(&attribute.key()) => {
                fields.insert(attribute.key().to_owned(), value(attribute.expr()));
            }
            Structure::Block(block) if !META.contains(&block.identifier()) => {
                let list = fields.entry(block.identifier()).or_insert_with(|| Json::Array(Vec::new()));
                list.as_array_mut().into_iter().for_each(|list| list.push(self::fields(block.body())));
            }
            _ => {}
        }
    }
    Json::Object(fields)
}

/// A value in the form of the cases: values that only the account knows are null.
fn value(expression: &Expression) -> Json {
    match expression {
        Expression::Traversal(_) | Expression::Variable(_) => {
            let text = hcl::format::to_string(expression).unwrap_or_default();
            let root = text.split('.').next().unwrap_or_default();
            if ["var", "data"].contains(&root) { Json::Null } else { Json::String(format!("${{{text}}}")) }
        }
        Expression::TemplateExpr(template) => match template.as_ref() {
            hcl::expr::TemplateExpr::QuotedString(text) => Json::String(text.clone()),
            hcl::expr::TemplateExpr::Heredoc(heredoc) => Json::String(heredoc.template.clone()),
        },
        Expression::Array(items) => items.iter().map(value).collect(),
        Expression::Object(entries) => {
            entries.iter().map(|(key, item)| (key.to_string(), value(item))).collect::<Map<_, _>>().into()
        }
        Expression::String(text) => Json::String(text.clone()),
        Expression::Number(number) => number.as_i64().map_or_else(|| Json::from(number.as_f64()), Json::from),
        Expression::Bool(flag) => Json::Bool(*flag),
        _ => Json::Null,
    }
}

/// Tells the path of everything that is expected and is not there.
fn differ(found: &Json, wanted: &Json, path: &mut Vec<String>, tell: &mut dyn FnMut(String)) {
    match (found, wanted) {
        // Only the account knows it.
        (Json::Null, _) if path.len() > 1 || !matches!(wanted, Json::Object(_)) => {}
        (Json::Object(found), Json::Object(wanted)) => {
            for (name, wanted) in wanted {
                path.push(name.clone());
                match found.get(name) {
                    Some(found) => differ(found, wanted, path, tell),
                    None => tell(path.join(".")),
                }
                path.pop();
            }
        }
        // Lists of plain values are sets to the provider of Terraform.
        (Json::Array(found), Json::Array(wanted)) if !wanted.iter().any(Json::is_object) => {
            let sorted =
                |items: &[Json]| items.iter().map(|item| plain(item).to_string()).collect::<BTreeSet<_>>();
            if sorted(found) != sorted(wanted) {
                tell(format!("{} is {found:?}, not {wanted:?}", path.join(".")));
            }
        }
        (Json::Array(found), Json::Array(wanted)) if found.len() == wanted.len() => {
            for (index, wanted) in wanted.iter().enumerate() {
                path.push(index.to_string());
                differ(&found[index], wanted, path, tell);
                path.pop();
            }
        }
        // Policies and patterns are texts with JSON in them; another test compares what they grant.
        (Json::String(text), Json::Object(_)) if serde_json::from_str::<Json>(text).is_ok() => {}
        (_, Json::String(wanted)) if wanted == "__user_data_set__" => {}
        (found, wanted) if plain(found) == plain(wanted) => {}
        _ => tell(format!("{} is {found}, not {wanted}", path.join("."))),
    }
}

/// A number or a truth value as a text: the language converts them.
fn plain(value: &Json) -> Json {
    match value {
        Json::Number(number) => Json::String(number.to_string()),
        Json::Bool(flag) => Json::String(flag.to_string()),
        Json::String(text) => Json::String(without_fingerprint(text.trim())),
        other => other.clone(),
    }
}

/// kOps leaves the colons of a key's fingerprint out of its address, where Slipway writes underscores.
fn without_fingerprint(text: &str) -> String {
    match text.split_once("aws_key_pair.") {
        Some((before, after)) => format!("{before}aws_key_pair.{}", after.replace('_', "")),
        None => text.to_owned(),
    }
}
