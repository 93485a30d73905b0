use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many nodes a pool has. A mapping with exactly one key: `size: { fixed: 3 }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Size {
    /// Always this many.
    Fixed(#[schemars(range(max = slipway_limits::count::NODES))] u32),
    /// Between two numbers. Where they differ an autoscaler owns the number in between, and Slipway leaves it alone.
    Bounds {
        /// At least this many.
        #[schemars(range(max = slipway_limits::count::NODES))]
        min: u32,
        /// At most this many.
        #[schemars(range(max = slipway_limits::count::NODES))]
        max: u32,
    },
}

impl Size {
    /// The fewest nodes.
    #[must_use]
    pub const fn min(self) -> u32 {
        match self {
            Self::Fixed(count) | Self::Bounds { min: count, .. } => count,
        }
    }

    /// The most nodes.
    #[must_use]
    pub const fn max(self) -> u32 {
        match self {
            Self::Fixed(count) | Self::Bounds { max: count, .. } => count,
        }
    }

    /// Whether an autoscaler owns the number of nodes.
    #[must_use]
    pub const fn is_autoscaled(self) -> bool {
        self.min() != self.max()
    }
}

impl Default for Size {
    fn default() -> Self {
        Self::Fixed(1)
    }
}

/// Machines that are kept ready, booted once and stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct WarmPool {
    /// The fewest machines kept.
    #[schemars(range(max = slipway_limits::count::NODES))]
    pub min_size: u32,
    /// The most machines kept; absent keeps as many as the pool may still grow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = slipway_limits::count::NODES))]
    pub max_size: Option<u32>,
    /// Whether a machine joins the warm pool only after it has prepared itself.
    pub lifecycle_hook: bool,
}
