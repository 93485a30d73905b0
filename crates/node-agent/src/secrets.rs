//! The texts of secrets on a machine: of the options and documents of this call, and those that the machine keeps.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use slipway_engine::{SecretError, SecretSource};
use slipway_limits::replace::{self, Readers};
use slipway_resource::{Secret, SecretText};

/// The prefix of the source of a secret that the machine keeps in a file.
pub const KEPT: &str = "machine:";

/// Secrets by where they come from.
#[derive(Debug, Default)]
pub struct NodeSecrets {
    texts: BTreeMap<String, SecretText>,
    folder: PathBuf,
}

impl NodeSecrets {
    /// The secrets of a machine with this root.
    pub fn new(root: &Path) -> Self {
        Self { texts: BTreeMap::new(), folder: super::facts::below(root, "/var/lib/slipway/secrets") }
    }

    /// Learns the text of a secret, where it has one.
    pub fn learn(&mut self, secret: &Secret) {
        if let Some(text) = &secret.text {
            self.texts.insert(secret.source.clone(), text.clone());
        }
    }

    /// The text of a secret, where it is known here.
    pub fn text_of(&self, secret: &Secret) -> Option<SecretText> {
        secret.text.clone().or_else(|| self.text(&secret.source).ok())
    }

    /// A secret that the machine keeps under a name: as it is kept, or made now and kept when [`NodeSecrets::store`] is called.
    pub fn remembered<E>(
        &mut self,
        name: &str,
        make: impl FnOnce() -> Result<String, E>,
    ) -> Result<Secret, E> {
        let source = format!("{KEPT}{name}");
        let text = match std::fs::read_to_string(self.folder.join(name)) {
            Ok(text) => SecretText::new(text.trim_end()),
            Err(_) => match self.texts.get(&source) {
                Some(text) => text.clone(),
                None => SecretText::new(make()?),
            },
        };
        self.texts.insert(source.clone(), text.clone());
        Ok(Secret { text: Some(text), ..Secret::new(source) })
    }

    /// A secret that was given, to be kept under a name when [`NodeSecrets::store`] is called.
    pub fn keep(&mut self, name: &str, text: &SecretText) -> Secret {
        let source = format!("{KEPT}{name}");
        self.texts.insert(source.clone(), text.clone());
        Secret { text: Some(text.clone()), ..Secret::new(source) }
    }

    /// Writes what the machine keeps, readable for root alone.
    pub fn store(&self) -> std::io::Result<()> {
        use std::os::unix::fs::DirBuilderExt as _;
        for (source, text) in &self.texts {
            let Some(name) = source.strip_prefix(KEPT) else { continue };
            let path = self.folder.join(name);
            if std::fs::read_to_string(&path).is_ok_and(|kept| kept == text.expose()) {
                continue;
            }
            std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
            replace::write(&path, text.expose().as_bytes(), Readers::Owner)?;
        }
        Ok(())
    }
}

impl SecretSource for NodeSecrets {
    fn text(&self, source: &str) -> Result<SecretText, SecretError> {
        let fail = |message: String| SecretError { source_name: source.to_owned(), message };
        if let Some(text) = self.texts.get(source) {
            return Ok(text.clone());
        }
        match source.split_once(':') {
            Some(("machine", name)) => std::fs::read_to_string(self.folder.join(name))
                .map(|text| SecretText::new(text.trim_end()))
                .map_err(|error| fail(error.to_string())),
            _ => Err(fail("it was given to an earlier call only; give it again".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_keeps_stays_the_same() {
        let root = tempfile::tempdir().unwrap();
        let mut secrets = NodeSecrets::new(root.path());
        let made = secrets.remembered("token", || Ok::<_, String>("one".to_owned())).unwrap();
        assert!(!root.path().join("var").exists(), "nothing is written before it is needed");
        secrets.store().unwrap();
        let mut again = NodeSecrets::new(root.path());
        let kept = again.remembered("token", || Ok::<_, String>("two".to_owned())).unwrap();
        assert_eq!(kept.text.unwrap().expose(), "one");
        assert_eq!(again.text(&made.source).unwrap().expose(), "one");
        assert!(again.text("option:token").is_err());
        use std::os::unix::fs::PermissionsExt as _;
        let file = root.path().join("var/lib/slipway/secrets/token");
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
