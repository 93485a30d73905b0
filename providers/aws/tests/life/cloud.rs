//! moto with a window: its objects without AWS' own APIs, reads that lag behind, and the objects at an
//! earlier moment.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use serde::Deserialize;
use slipway_testkit::{Moto, http};

#[path = "../support/mended.rs"]
mod mended;

const WINDOW: &str = concat!(include_str!("cloud.py"), "\n\n", include_str!("copies.py"));

/// An object in moto.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
pub struct Object {
    pub kind: String,
    pub id: String,
    /// The address that its tags give it, or its name.
    pub name: String,
    /// Account and region.
    pub place: String,
}

/// A mended moto with a window.
pub struct Cloud {
    moto: Moto,
}

impl Cloud {
    pub fn start() -> Result<Self> {
        Ok(Self { moto: Moto::start_mended(&format!("{}\n{WINDOW}", mended::MENDED))? })
    }

    /// A cloud that stores and shows fewer attributes than AWS does.
    pub fn forgetful() -> Result<Self> {
        let tokens =
            concat!(include_str!("../support/mended/wrap.py"), include_str!("../support/mended/tokens.py"));
        Ok(Self { moto: Moto::start_mended(&format!("{tokens}\n{WINDOW}"))? })
    }

    pub fn moto(&self) -> &Moto {
        &self.moto
    }

    /// Sends a call to an API with forms, in the region of the clusters and not through the proxy, as other people and tools do.
    pub fn ask(&self, service: &str, form: &str) -> Result<String> {
        let scope = format!(
            "AWS4-HMAC-SHA256 Credential=testing/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=0"
        );
        let headers =
            [("Authorization", scope.as_str()), ("Content-Type", "application/x-www-form-urlencoded")];
        let answer = http::request("POST", self.moto.port(), "/", &headers, form.as_bytes())?;
        let text = String::from_utf8(answer.body)?;
        ensure!(answer.status == 200, "{form}: {text}");
        Ok(text)
    }

    fn tell(&self, path: &str) -> Result<Vec<u8>> {
        let answer = http::request("POST", self.moto.port(), path, &[], b"")?;
        ensure!(answer.status == 200, "{path}: {} {}", answer.status, self.moto.log());
        Ok(answer.body)
    }

    /// Everything that exists, in order.
    pub fn objects(&self) -> Result<Vec<Object>> {
        let mut objects: Vec<Object> = serde_json::from_slice(&self.tell("/lab/inventory")?)?;
        objects.sort();
        Ok(objects)
    }

    /// Takes all marks of ownership away, as if another tool had made everything.
    pub fn forget_owners(&self) -> Result<()> {
        self.tell("/lab/forget").map(drop)
    }

    /// From now on reads show what was there so many seconds ago.
    pub fn lag(&self, seconds: u32) -> Result<()> {
        self.tell(&format!("/lab/lag?seconds={seconds}")).map(drop)
    }

    /// From now on groups launch no instance in a zone; with `None`, they launch what they lack.
    pub fn is_without(&self, zone: Option<&str>) -> Result<()> {
        let query = zone.map(|zone| format!("?zone={zone}")).unwrap_or_default();
        self.tell(&format!("/lab/gone{query}")).map(drop)
    }

    /// Keeps everything as it is now.
    pub fn keep(&self) -> Result<()> {
        self.tell("/lab/keep").map(drop)
    }

    /// Restores all objects as they were kept; may be called several times.
    pub fn restore(&self) -> Result<()> {
        self.tell("/lab/restore").map(drop)
    }

    /// Forgets everything, also what was kept.
    pub fn reset(&self) -> Result<()> {
        self.tell("/moto-api/reset")?;
        self.lag(0)
    }
}

/// The objects beyond `before`, without the names that the cloud assigns: to compare two clouds.
///
/// # Errors
/// When a unique address or name exists twice, or an object from before is gone.
pub fn shape(before: &[Object], objects: &[Object]) -> Result<Vec<String>> {
    let gone: Vec<&Object> = before.iter().filter(|object| !objects.contains(object)).collect();
    ensure!(gone.is_empty(), "gone: {gone:?}");
    let new: Vec<&Object> = objects.iter().filter(|object| !before.contains(object)).collect();
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    // Interfaces and volumes of instances have the names of their instances, or none.
    let named = new.iter().filter(|object| object.name.starts_with("aws_"));
    for object in named {
        *counts.entry((&object.kind, &object.name)).or_default() += 1;
    }
    let doubled: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
    ensure!(doubled.is_empty(), "there twice: {doubled:?}");
    let ids: BTreeMap<&str, &str> =
        objects.iter().filter(|o| !o.name.is_empty()).map(|o| (o.id.as_str(), o.name.as_str())).collect();
    let mut lines: Vec<String> = new
        .into_iter()
        .filter(|object| object.kind != "interface" && object.kind != "instance")
        .map(|object| {
            if object.name.is_empty() || object.kind == "instance" {
                // An object without a name is named by its parents.
                let words = object.id.split(' ').map(|word| ids.get(word).copied().unwrap_or(generic(word)));
                format!("{} {} {}", object.kind, words.collect::<Vec<_>>().join(" "), object.name)
            } else {
                format!("{} {}", object.kind, object.name)
            }
        })
        .collect();
    lines.sort();
    Ok(lines)
}

/// An id that the cloud has made up says nothing.
fn generic(word: &str) -> &str {
    let made_up = word
        .split_once('-')
        .is_some_and(|(_, rest)| rest.len() >= 8 && rest.bytes().all(|b| b.is_ascii_hexdigit()));
    if made_up { word.split('-').next().unwrap_or_default() } else { word }
}

/// How many instances run in each group.
pub fn machines(objects: &[Object]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for object in objects.iter().filter(|object| object.kind == "instance") {
        let group = object.name.split(' ').next().unwrap_or_default();
        *counts.entry(group.to_owned()).or_default() += 1;
    }
    counts
}
