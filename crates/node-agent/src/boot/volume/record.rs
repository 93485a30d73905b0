//! The record of the volume that this machine has.

use std::path::Path;

use serde::{Deserialize, Serialize};
use slipway_limits::replace::{self, Readers};
use slipway_resource::Value;
use slipway_resource::provider::operation;

use crate::code;
use crate::error::Error;
use crate::facts::below;

/// The file of the record.
const PATH: &str = "/var/lib/slipway/boot/volume.json";

/// The volume of a member of etcd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Record {
    /// The name of the member.
    pub member: String,
    /// The cloud's name of the volume.
    pub volume: String,
    /// The serial number of its device.
    #[serde(default)]
    pub serial: String,
    /// Paths under which its device may be found.
    #[serde(default)]
    pub devices: Vec<String>,
    /// Whether this machine found the volume blank, and has begun to format it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_formatting: bool,
    /// The address at which the member was on the machine before; other members may know it only by this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub former: Option<String>,
}

impl Record {
    /// The volume that a provider has attached.
    pub fn of_answer(attributes: &Value) -> Option<Self> {
        let text = |name: &str| {
            let text = attributes.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let devices = attributes.get(operation::DEVICES).and_then(Value::as_list).unwrap_or_default();
        Some(Self {
            member: text(operation::MEMBER)?,
            volume: text(operation::VOLUME)?,
            serial: text(operation::SERIAL).unwrap_or_default(),
            devices: devices.iter().filter_map(|path| path.as_str().map(str::to_owned)).collect(),
            is_formatting: false,
            former: None,
        })
    }

    /// The record of this machine; `None` when it has no volume.
    pub fn read(root: &Path) -> Result<Option<Self>, Error> {
        let path = below(root, PATH);
        match slipway_limits::file::read_text(&path, slipway_limits::size::CONFIGURATION) {
            Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| {
                Error::new(code::VOLUME, format!("{} is damaged", path.display())).cause(error.to_string())
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("the record of the volume", &path, &error)),
        }
    }

    /// Writes the record.
    pub fn write(&self, root: &Path) -> Result<(), Error> {
        let path = below(root, PATH);
        let write = || {
            let text = serde_json::to_vec(self).map_err(std::io::Error::other)?;
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            replace::write(&path, &text, Readers::AsUsual)
        };
        write().map_err(|error| Error::file("the record of the volume", &path, &error))
    }
}
