//! Snapshots of etcd: taken by each control plane itself, sealed, kept in a folder or a bucket, and read back.

mod database;
mod manifest;
mod repository;
mod retention;
mod seal;
mod serve;
mod settings;
mod take;

pub use serve::{fetch_etcd_snapshot, serve_etcd_backups};

#[cfg(test)]
pub(crate) use database::tests::snapshot as snapshot_for_tests;
pub(crate) use database::{check, copy, members, position};
pub(crate) use manifest::Manifest;
pub(crate) use repository::{Listed, MANIFEST, Origin, Repository};
pub(crate) use seal::Seal;
pub(crate) use serve::Attempt;
pub(crate) use settings::Settings;
pub(crate) use take::{status, take};
