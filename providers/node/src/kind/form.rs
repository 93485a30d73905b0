//! Common parts of the types: the shape of a type, modes and owners of files.

use serde_json::Value as Json;
use slipway_bootstrap::material::FINGERPRINT;
use slipway_resource::provider::Planned;
use slipway_resource::schema::{Durations, Irreplaceable, OwnershipKind, attributes};
use slipway_resource::{Attribute, Form, Path, ProviderError, ResourceType, Type, Value};

use crate::attributes::Attributes;
use crate::disk::{Access, Disk, Status};
use crate::error::invalid;

/// The pace limit of everything that a node does.
pub(crate) const RATE_CLASS: &str = "node";

/// A type with these attributes.
pub(crate) fn resource_type<const N: usize>(
    description: &str,
    typical_ms: u64,
    all: [(&str, Attribute); N],
) -> ResourceType {
    ResourceType {
        attributes: attributes(all),
        durations: Durations { create_ms: typical_ms, update_ms: typical_ms, delete_ms: typical_ms },
        ..ResourceType::new(description, OwnershipKind::Name, RATE_CLASS)
    }
}

/// The rule for types with irreplaceable contents, which are recognised by their fingerprint.
pub(crate) fn irreplaceable() -> Irreplaceable {
    Irreplaceable { fingerprint: FINGERPRINT.to_owned(), refusal: String::new() }
}

/// The hint for a file that blocks an object: it is kept under another name.
pub(crate) fn aside(path: &str) -> String {
    format!("bring one that fits, or keep it aside with `mv {path} {path}.kept`")
}

/// The path that identifies an object.
pub(crate) fn path() -> Attribute {
    Attribute::required(Type::String).immutable().describe("Its path: absolute, below the root.")
}

/// The mode of a file, with its default.
pub(crate) fn mode(default: &str) -> Attribute {
    Attribute::optional(Type::String)
        .forms([Form::Octal])
        .default_to(default)
        .describe("Its mode in octal digits, as 0644.")
}

/// Lets the values of some attributes stay on an object that exists, whatever is desired.
pub(crate) fn keep(kind: &mut ResourceType, names: &[&str]) {
    for name in names {
        if let Some(attribute) = kind.attributes.get_mut(*name) {
            attribute.forms.push(Form::Kept);
        }
    }
}

/// The owner of a file.
pub(crate) fn owner() -> Attribute {
    Attribute::optional_computed(Type::String).describe("The user that it belongs to, by name or number.")
}

/// The group of a file.
pub(crate) fn group() -> Attribute {
    Attribute::optional_computed(Type::String).describe("The group that it belongs to, by name or number.")
}

/// A path, when it has the right form.
pub(crate) fn checked_path<'a>(desired: Attributes<'a>, name: &str) -> Result<&'a str, ProviderError> {
    let path = desired.text(name)?;
    crate::root::check(path).map(|()| path)
}

/// Checks a planned path, unless it is unknown.
pub(crate) fn plan_path(planned: &Planned, name: &str) -> Result<(), ProviderError> {
    match planned.normalised.get(name) {
        Some(Value::String(path)) => crate::root::check(path),
        _ => Ok(()),
    }
}

/// Brings a planned mode into its one form.
pub(crate) fn plan_mode(planned: &mut Planned, name: &str) -> Result<(), ProviderError> {
    if let Some(Value::String(text)) = planned.normalised.get(name) {
        let mode = parse_mode(text)?;
        planned.normalised.set(&Path::key(name), mode_text(mode).into());
    }
    Ok(())
}

/// The number of a mode.
pub(crate) fn parse_mode(text: &str) -> Result<u32, ProviderError> {
    let is_octal = !text.is_empty() && text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let mode = is_octal.then(|| u32::from_str_radix(text, 8).ok()).flatten();
    mode.filter(|mode| *mode <= 0o7777).ok_or_else(|| invalid(format!("`{text}` is not a mode as 0644")))
}

/// A mode in its one form.
pub(crate) fn mode_text(mode: u32) -> String {
    format!("{mode:04o}")
}

/// The desired access to a file, from its attributes.
pub(crate) fn access(
    disk: &Disk,
    desired: Attributes<'_>,
    mode_name: &str,
    otherwise: u32,
) -> Result<Access, ProviderError> {
    let mode = desired.optional_text(mode_name)?.map(parse_mode).transpose()?.unwrap_or(otherwise);
    let owner = desired.optional_text("owner")?.map(|name| number_of(disk, "/etc/passwd", name));
    let group = desired.optional_text("group")?.map(|name| number_of(disk, "/etc/group", name));
    Ok(Access { mode, owner: owner.transpose()?, group: group.transpose()? })
}

/// The number of a user or group.
fn number_of(disk: &Disk, file: &str, name: &str) -> Result<u32, ProviderError> {
    if let Ok(number) = name.parse() {
        return Ok(number);
    }
    if name == "root" {
        return Ok(0);
    }
    let known = disk.read_text(file)?.unwrap_or_default();
    let mut lines = known.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let number =
        lines.find(|fields| fields.first() == Some(&name)).and_then(|fields| fields.get(2)?.parse().ok());
    number.ok_or_else(|| invalid(format!("{file} has no {name}")))
}

/// The name of a user or group: the requested name, if it has this number.
fn name_of(disk: &Disk, file: &str, number: u32, asked: Option<&str>) -> String {
    if let Some(asked) = asked
        && number_of(disk, file, asked).is_ok_and(|wanted| wanted == number)
    {
        return asked.to_owned();
    }
    if number == 0 {
        return "root".to_owned();
    }
    let known = disk.read_text(file).ok().flatten().unwrap_or_default();
    let digits = number.to_string();
    let mut lines = known.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let found = lines.find(|fields| fields.get(2) == Some(&digits.as_str()));
    found.and_then(|fields| fields.first().map(|name| (*name).to_owned())).unwrap_or(digits)
}

/// Mode and owner of an existing file, as attributes.
pub(crate) fn read_access(disk: &Disk, status: &Status, wanted: Attributes<'_>, into: &mut Value) {
    let asked = |name: &str| wanted.0.get(name).and_then(Value::as_str);
    into.set(&Path::key("mode"), mode_text(status.mode()).into());
    into.set(&Path::key("owner"), name_of(disk, "/etc/passwd", status.owner(), asked("owner")).into());
    into.set(&Path::key("group"), name_of(disk, "/etc/group", status.group(), asked("group")).into());
}

/// The record of a type, read from its JSON; `None` when it has another form.
pub(crate) fn recall<T: serde::de::DeserializeOwned>(memory: &Json) -> Option<T> {
    serde_json::from_value(memory.clone()).ok()
}

/// The record of a type, as JSON.
pub(crate) fn memorise<T: serde::Serialize>(memory: &T) -> Result<Json, ProviderError> {
    serde_json::to_value(memory).map_err(|error| invalid(format!("cannot be remembered: {error}")))
}
