//! Auto-scaling groups, the hooks at the doors of their instances, and instances without a group.

mod changes;
mod gates;
mod group;
mod hook;
mod instance;
mod mixed;
mod profile;
mod requirements;

pub(super) use group::Group;
pub(super) use hook::LifecycleHook;
pub(super) use instance::Instance;
