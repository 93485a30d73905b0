//! Auto-scaling groups, and the hooks at the doors of their instances.

mod changes;
mod gates;
mod group;
mod hook;
mod mixed;
mod nodes;
mod profile;
mod requirements;

pub(super) use group::Group;
pub(super) use hook::LifecycleHook;
