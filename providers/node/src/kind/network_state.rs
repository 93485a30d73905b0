//! The leftovers of a node's network: interfaces, files, rules.

mod rules;

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use slipway_resource::{Attribute, ProviderError, ResourceType, Type, Value};

use super::form::{self, memorise, recall};
use super::{Kind, Place, Work};
use crate::attributes::Attributes;
use crate::error::{invalid, permanent};
use crate::ledger::Found;
use crate::program;

/// Interfaces, files and packet filter rules that the network of pods and kube-proxy make. Nothing is made here; deleting
/// takes away what has come since then.
pub(crate) struct NetworkState;

/// The objects that existed before.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Memory {
    interfaces: BTreeSet<String>,
    files: BTreeSet<String>,
    /// By table, as `iptables-save nat KUBE-SERVICES`.
    chains: BTreeSet<String>,
    tables: BTreeSet<String>,
}

#[async_trait]
impl Kind for NetworkState {
    fn resource_type(&self) -> ResourceType {
        let texts = |text: &str| Attribute::optional(Type::list(Type::String)).write_only().describe(text);
        form::resource_type(
            "Interfaces, files and rules that the network of pods leaves on a node. They are deleted with the node.",
            50,
            [
                ("name", Attribute::required(Type::String).immutable().describe("Name, such as pods.")),
                ("interfaces", texts("The interfaces that it makes, as cni0, flannel.1.")),
                ("files", texts("The files and folders that it makes, as /run/flannel.")),
                ("chains", texts("Prefixes of the names of its chains in iptables, such as KUBE-.")),
                ("tables", texts("Its tables in nftables, as `ip kube-proxy`.")),
            ],
        )
    }

    fn identity(&self, desired: Attributes<'_>) -> Result<String, ProviderError> {
        for path in desired.texts("files") {
            crate::root::check(&path)?;
        }
        for name in desired.texts("interfaces") {
            if name.is_empty() || name.starts_with('-') || name.len() > 15 || name.contains(['/', ' ']) {
                return Err(invalid(format!("interfaces: `{name}` is not a name of an interface")));
            }
        }
        desired.text("name").map(str::to_owned)
    }

    async fn look(&self, _: &Work) -> Result<Found, ProviderError> {
        Ok(Found::Nothing)
    }

    async fn foresee(&self, work: &Work) -> Result<Json, ProviderError> {
        match recall::<Memory>(work.place.memory()) {
            Some(memory) => memorise(&memory),
            None => memorise(&present(work, work.wanted()).await?),
        }
    }

    async fn make(&self, work: &Work) -> Result<Json, ProviderError> {
        Ok(work.place.memory().clone())
    }

    async fn remove(&self, work: &Work) -> Result<(), ProviderError> {
        let before: Memory = recall(work.place.memory()).unwrap_or_default();
        let now = present(work, work.place.wanted()).await?;
        for name in now.interfaces.difference(&before.interfaces) {
            work.host().disk.at("remove interface");
            let output = program::run(work.host(), "ip", &["link", "delete", "dev", name]).await?;
            // `ip` and `nft` have one exit code for all failures: only the message tells that the object is gone already.
            if !output.success && !output.text.contains("Cannot find device") {
                return Err(permanent(format!("interface {name} cannot be removed: {}", output.text)));
            }
        }
        for table in now.tables.difference(&before.tables) {
            work.host().disk.at("remove table");
            let arguments: Vec<&str> = ["delete", "table"].into_iter().chain(table.split(' ')).collect();
            let output = program::run(work.host(), "nft", &arguments).await?;
            if !output.success && !output.text.contains("No such file") {
                return Err(permanent(format!("table {table} cannot be removed: {}", output.text)));
            }
        }
        let prefixes = work.place.wanted().texts("chains");
        for family in rules::FAMILIES {
            rules::remove(work, family, &prefixes, &before.chains).await?;
        }
        let files: Vec<String> = now.files.difference(&before.files).cloned().collect();
        work.blocking(move |work| {
            let disk = &work.host().disk;
            for path in &files {
                let place = disk.root().resolve(path)?;
                if place.is_dir() && !place.is_symlink() {
                    crate::purge::folder(disk, path)?;
                } else {
                    disk.remove(path)?;
                }
            }
            Ok(())
        })
        .await
    }

    async fn read(&self, place: &Place) -> Result<Option<Value>, ProviderError> {
        // The type describes leftovers of other programs; on an adopted node, it counts as present without a
        // record.
        Ok(Some(Value::map([("name", place.identity.as_str())])))
    }
}

/// The existing ones among all named objects.
async fn present(work: &Work, wanted: Attributes<'_>) -> Result<Memory, ProviderError> {
    let disk = &work.host().disk;
    let mut memory = Memory::default();
    for path in wanted.texts("files") {
        if disk.status(&path)?.is_some() {
            memory.files.insert(path);
        }
    }
    if !disk.root().is_machine() {
        // An image has no network.
        return Ok(memory);
    }
    for name in wanted.texts("interfaces") {
        if disk.status(&format!("/sys/class/net/{name}"))?.is_some() {
            memory.interfaces.insert(name);
        }
    }
    let tables = wanted.texts("tables");
    if !tables.is_empty() && program::find(work.host(), "nft").is_some() {
        let output = program::run(work.host(), "nft", &["list", "tables"]).await?;
        let there = output.out.lines().filter_map(|line| line.strip_prefix("table ")).map(str::trim);
        memory.tables =
            there.filter(|table| tables.iter().any(|asked| asked == table)).map(str::to_owned).collect();
    }
    let prefixes = wanted.texts("chains");
    for family in rules::FAMILIES {
        memory.chains.extend(rules::chains(work, family, &prefixes).await?);
    }
    Ok(memory)
}
