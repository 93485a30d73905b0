//! The record on a machine of the cluster to which it belongs. Slipway's own nodes have the same record, so that a
//! machine belongs to one cluster, whether Cluster API or Slipway manages it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use serde::{Deserialize, Serialize};
use slipway_limits::{file, size};

use super::AgentError;

/// The text in the place of the name of a cluster, which the agent does not know.
const CLUSTER: &str = "Cluster API";
/// How often a claim is tried while the record appears and disappears.
const ATTEMPTS: usize = 3;

/// To whom a machine belongs.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owner {
    uid: String,
    cluster: String,
}

impl Owner {
    /// The owner of a host with this name in a registration.
    pub(super) fn of(registration: &str, host: &str) -> Self {
        Self { uid: format!("{registration}/hosts/{host}"), cluster: CLUSTER.to_owned() }
    }

    /// Checks that the machine belongs to nobody else.
    ///
    /// # Errors
    /// [`AgentError::Taken`] if it does, and others if the record cannot be read.
    pub(super) fn check(&self, path: &Path) -> Result<(), AgentError> {
        read(path)?.map_or(Ok(()), |known| self.compare(known, path))
    }

    /// Records that the machine belongs to this owner.
    ///
    /// # Errors
    /// [`AgentError::Taken`] if it belongs to another one, and others if the record cannot be read or written.
    pub(super) fn claim(&self, path: &Path) -> Result<(), AgentError> {
        for _ in 0..ATTEMPTS {
            if let Some(known) = read(path)? {
                return self.compare(known, path);
            }
            match self.write_new(path) {
                // Somebody else was faster.
                Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other.map_err(|cause| system(path, "written", cause)),
            }
        }
        Err(AgentError::Failed(format!("{} appears and disappears: another program uses it", path.display())))
    }

    /// Removes the record if it is of this owner.
    ///
    /// # Errors
    /// If the record cannot be read or removed.
    pub(super) fn release(&self, path: &Path) -> Result<(), AgentError> {
        if read(path)?.is_some_and(|known| known == *self) {
            fs::remove_file(path).map_err(|cause| system(path, "removed", cause))?;
        }
        Ok(())
    }

    fn compare(&self, known: Self, path: &Path) -> Result<(), AgentError> {
        if known == *self {
            return Ok(());
        }
        let Self { uid, cluster } = known;
        Err(AgentError::Taken { cluster, uid, path: path.display().to_string() })
    }

    /// Creates the record. It appears with all of its content, and replaces no other one.
    fn write_new(&self, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder)?;
        let draft = folder.join(".owner-of-cluster-api");
        let mut opened =
            OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
        opened.write_all(&serde_json::to_vec(self)?)?;
        opened.sync_all()?;
        let linked = fs::hard_link(&draft, path);
        fs::remove_file(&draft)?;
        linked?;
        fs::File::open(folder)?.sync_all()
    }
}

fn read(path: &Path) -> Result<Option<Owner>, AgentError> {
    let text = match file::read_text(path, size::MESSAGE) {
        Ok(text) => text,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(system(path, "read", cause)),
    };
    serde_json::from_str(&text).map(Some).map_err(|error| {
        AgentError::Failed(format!("{} does not say to whom the machine belongs: {error}", path.display()))
    })
}

fn system(path: &Path, what: &str, cause: io::Error) -> AgentError {
    AgentError::System { what: format!("{} cannot be {what}", path.display()), cause }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_belongs_to_one_owner_until_it_is_released() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("slipway/owner");
        let (one, other) = (Owner::of("https://a/racks/1", "h"), Owner::of("https://a/racks/2", "h"));
        one.check(&path).unwrap();
        one.claim(&path).unwrap();
        one.claim(&path).unwrap();
        let error = other.claim(&path).unwrap_err();
        assert!(matches!(error, AgentError::Taken { .. }), "{error}");
        assert!(error.to_string().contains("Cluster API (https://a/racks/1/hosts/h)"), "{error}");
        other.release(&path).unwrap();
        one.check(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path().join("slipway")).unwrap().count(), 1, "no draft is left");
        one.release(&path).unwrap();
        one.release(&path).unwrap();
        other.claim(&path).unwrap();
    }

    #[test]
    fn the_record_of_a_node_of_slipway_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("owner");
        fs::write(&path, r#"{"uid":"0b5cf4de","cluster":"demo"}"#).unwrap();
        let own = Owner::of("https://a/racks/1", "h");
        let error = own.claim(&path).unwrap_err();
        assert!(error.to_string().contains("the cluster demo (0b5cf4de)"), "{error}");
        own.release(&path).unwrap();
        assert!(path.exists());
        // Nobody can tell whose a machine with a damaged record is.
        fs::write(&path, "{").unwrap();
        assert!(matches!(own.claim(&path), Err(AgentError::Failed(_))));
    }
}
