//! The bootstrap of a cloud machine: from its bootstrap document to its resources.
//!
//! [`NodeBootstrap`] is the document that the machine's user data stores on its disk. It has the settings of
//! one pool and no secret. The user data of workers may have a [`DocumentReference`] in its place. With facts about the machine itself ([`ThisMachine`]) and about its cluster
//! ([`Part`]) it expands into the resources that a listed host gets. Pure: the same input gives the same
//! resources. Where the document says so, an object in the cluster has further settings ([`NodeSettings`]), which change
//! without another document.

mod cluster;
mod document;
mod effects;
mod expansion;
mod labels;
mod pools;
mod programs;
mod reference;
mod settings;

pub use document::{DocumentError, ETCD, NodeBootstrap};
pub use effects::{NOT_CARRIED_OUT, OTHER_ARCHITECTURE};
pub use expansion::{ETCD_DATA, ETCD_MOUNT, Part, ThisMachine, key_files};
pub use pools::{POOLS, role_key, template_key};
pub use programs::{Layout, ProgramFile, ProgramName, Programs};
pub use reference::{Bootstrap, DOCUMENT, DocumentReference, REFERENCE_KIND, document_name, document_text};
pub use settings::{
    NEXT_SETTINGS, NodeSettings, SETTINGS, SETTINGS_KIND, SETTINGS_OF, SETTINGS_REPORT, SETTINGS_VERSION,
    SettingsError, SettingsReport, WANTED_SETTINGS, changed_settings, needs_drain, settings_digest,
    settings_name,
};

#[cfg(test)]
mod tests;
