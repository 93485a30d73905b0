//! Whether the controllers that wrote the statuses live.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;
use slipway_reconciler::members::Members;
use slipway_state_store::{Backend, controllers};

use super::at;
use crate::error::CommandError;

/// The replicas of controllers, by the name of the controller.
pub(super) struct Life {
    controllers: BTreeMap<String, Members>,
    now: Timestamp,
}

impl Life {
    /// Reads the replicas of some controllers.
    ///
    /// # Errors
    /// When the state store cannot be read.
    pub async fn read<'a>(
        backend: &dyn Backend,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Result<Self, CommandError> {
        let mut controllers = BTreeMap::new();
        for name in names {
            if !name.is_empty() && !controllers.contains_key(name) {
                let members: Option<Members> =
                    controllers::read(backend, &controllers::members(name)?).await?;
                controllers.insert(name.clone(), members.unwrap_or_default());
            }
        }
        Ok(Self { controllers, now: Timestamp::now() })
    }

    /// What to say about a controller without a replica.
    pub fn silence(&self, controller: &str) -> Option<String> {
        let members = self.controllers.get(controller).filter(|members| !members.live(self.now))?;
        let last = members.last_sign().map(|last| format!(" (last sign {})", at(Some(last))));
        Some(format!(
            "no replica of the controller {controller} lives{}; what it reported may be out of date",
            last.unwrap_or_default()
        ))
    }

    /// The same for all controllers, one a line.
    pub fn silences(&self) -> String {
        let lines = self.controllers.keys().filter_map(|name| self.silence(name));
        lines.map(|line| format!("{line}\n")).collect()
    }

    /// The controllers, for programs.
    pub fn report(&self) -> Vec<serde_json::Value> {
        let one = |(name, members): (&String, &Members)| {
            json!({
                "name": name,
                "replicas": members.replicas.len(),
                "lives": members.live(self.now),
                "last_sign": members.last_sign(),
            })
        };
        self.controllers.iter().map(one).collect()
    }
}
