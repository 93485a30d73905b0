//! An account that owns files, and that has no login.

use async_trait::async_trait;
use serde_json::Value as Json;
use slipway_resource::{Attribute, ProviderError, ResourceType, Type, Value};

use super::form;
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::error::{invalid, permanent};
use crate::host::Host;
use crate::ledger::Found;
use crate::program;

/// A user without a password, a home and a shell, and a group of the same name. What is there already is used, and stays.
pub(crate) struct SystemAccount;

/// The file of users, and that of groups (passwd(5), group(5)).
const USERS: &str = "/etc/passwd";
const GROUPS: &str = "/etc/group";

/// Useradd accepts longer names on some systems only.
const LONGEST_NAME: usize = 32;

#[async_trait]
impl Kind for SystemAccount {
    fn resource_type(&self) -> ResourceType {
        form::resource_type(
            "A user without a login, and a group of the same name.",
            50,
            [("name", Attribute::required(Type::String).immutable().describe("The name of user and group."))],
        )
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        let name = desired.text("name")?;
        let is_plain = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
            && name.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'-')
            });
        if is_plain && name.len() <= LONGEST_NAME {
            Ok(name.to_owned())
        } else {
            Err(invalid(format!("`{name}` is not a name of an account")))
        }
    }

    async fn look(&self, work: &Work) -> Result<Found, ProviderError> {
        work.blocking(|work| {
            let disk = &work.host().disk;
            let is_there = has(disk, USERS, work.identity())? || has(disk, GROUPS, work.identity())?;
            Ok(if is_there { Found::Kept } else { Found::Nothing })
        })
        .await
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        let name = work.identity();
        if !exists(work, GROUPS).await? {
            run(work.host(), &[&["groupadd", "--system", name], &["addgroup", "-S", name]]).await?;
        }
        if !exists(work, USERS).await? {
            let shell = "/usr/sbin/nologin";
            let usual =
                ["useradd", "--system", "--gid", name, "--no-create-home", "--home-dir", "/", "--shell"];
            let busybox = ["adduser", "-S", "-D", "-H", "-h", "/", "-s", "/sbin/nologin", "-G", name, name];
            run(work.host(), &[&[&usual[..], &[shell, name]].concat(), &busybox]).await?;
        }
        Ok(Json::Null)
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        if work.stays() {
            return Ok(());
        }
        let name = work.identity();
        if exists(work, USERS).await? {
            run(work.host(), &[&["userdel", name], &["deluser", name]]).await?;
        }
        // Most systems delete the group with its user.
        if exists(work, GROUPS).await? {
            run(work.host(), &[&["groupdel", name], &["delgroup", name]]).await?;
        }
        Ok(())
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        Place::blocking(place, |place, host| {
            let name = place.identity.as_str();
            let is_there = has(&host.disk, USERS, name)? && has(&host.disk, GROUPS, name)?;
            Ok(is_there.then(|| Value::map([("name", name)])))
        })
        .await
    }
}

async fn exists(work: &Work, file: &'static str) -> Result<bool, ProviderError> {
    work.blocking(move |work| has(&work.host().disk, file, work.identity())).await
}

/// Whether a file of accounts has a name.
fn has(disk: &Disk, file: &str, name: &str) -> Result<bool, ProviderError> {
    let text = disk.read_text(file)?.unwrap_or_default();
    Ok(text.lines().any(|line| line.split(':').next() == Some(name)))
}

/// Runs the first of these programs that the machine has. On an image the program gets its folder.
async fn run(host: &Host, commands: &[&[&str]]) -> Result<(), ProviderError> {
    let installed =
        |command: &&&[&str]| command.first().is_some_and(|name| program::find(host, name).is_some());
    let names: Vec<&str> = commands.iter().filter_map(|command| command.first().copied()).collect();
    let Some([name, arguments @ ..]) = commands.iter().find(installed).copied() else {
        return Err(permanent(format!("this node has none of these programs: {}", names.join(", ")))
            .with_hint("install the package `passwd` or `shadow`, or create the account yourself"));
    };
    let root = host.disk.root();
    let folder = root.path().display().to_string();
    let mut all = Vec::new();
    if !root.is_machine() {
        all.extend(["--prefix", folder.as_str()]);
    }
    all.extend(arguments);
    let output = program::run(host, name, &all).await?;
    if output.success {
        return Ok(());
    }
    Err(permanent(format!("{name} {} fails: {}", all.join(" "), output.text)))
}
