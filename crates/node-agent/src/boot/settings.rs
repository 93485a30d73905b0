//! The settings of the machine's pool that its document does not have: read from the cluster, kept on the disk.
//!
//! While the machine changes from one text to another, the previous one is kept beside it.

use std::path::{Path, PathBuf};

use serde_json::Value as Json;
use slipway_bootstrap::boot::{NodeSettings, SETTINGS, settings_digest};
use slipway_limits::replace::{self, Readers};
use slipway_resource::SecretText;

use super::Stop;
use crate::api::{Api, Credentials, Trust};
use crate::code;
use crate::error::Error;
use crate::facts::below;
use crate::spec::Joined;

/// The settings with which the machine has to run.
const CURRENT: &str = "/var/lib/slipway/boot/settings.json";
/// The settings with which it ran before, while it changes.
const PREVIOUS: &str = "/var/lib/slipway/boot/settings.previous.json";

/// The settings of a machine, on its disk.
#[derive(Clone, Debug)]
pub struct Kept {
    root: PathBuf,
}

impl Kept {
    /// Those of the machine with this root of its files.
    pub fn of(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// The text of the settings; `None` before the machine has some.
    pub fn current(&self) -> Result<Option<String>, Error> {
        self.read(CURRENT)
    }

    /// The text of the previous settings, while the machine changes.
    pub fn previous(&self) -> Result<Option<String>, Error> {
        self.read(PREVIOUS)
    }

    /// The settings of a change that has not ended, as after a kill; `None` when there is none.
    pub fn unfinished(&self) -> Result<Option<String>, Error> {
        match self.previous()? {
            Some(_) => self.current(),
            None => Ok(None),
        }
    }

    /// Keeps the first settings of the machine.
    pub fn begin_with(&self, text: &str) -> Result<(), Error> {
        self.write(CURRENT, text)
    }

    /// Begins a change. The previous settings of an interrupted change stay: the machine ran well with them.
    pub fn change_to(&self, text: &str) -> Result<(), Error> {
        if self.previous()?.is_none()
            && let Some(current) = self.current()?
        {
            self.write(PREVIOUS, &current)?;
        }
        self.write(CURRENT, text)
    }

    /// Goes back to the previous settings. The change goes on until [`Kept::is_done`].
    pub fn go_back(&self) -> Result<(), Error> {
        match self.previous()? {
            Some(previous) => self.write(CURRENT, &previous),
            None => Ok(()),
        }
    }

    /// Ends a change: the machine runs well with the settings.
    pub fn is_done(&self) -> Result<(), Error> {
        let path = below(&self.root, PREVIOUS);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::file("the settings", &path, &error))
            }
            _ => Ok(()),
        }
    }

    fn read(&self, path: &str) -> Result<Option<String>, Error> {
        let path = below(&self.root, path);
        match slipway_limits::file::read_text(&path, slipway_limits::size::SPEC) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::file("the settings", &path, &error)),
        }
    }

    fn write(&self, path: &str, text: &str) -> Result<(), Error> {
        let path = below(&self.root, path);
        let write = || {
            std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            replace::write(&path, text.as_bytes(), Readers::Owner)
        };
        write().map_err(|error| Error::file("the settings", &path, &error))
    }
}

/// Reads the settings of a text.
pub fn read(text: &str) -> Result<NodeSettings, Error> {
    NodeSettings::read(text).map_err(|error| {
        Error::new(code::POOL_SETTINGS, "the settings of the pool cannot be used").cause(error.to_string())
    })
}

/// The path of the ConfigMap with the settings.
pub fn path(name: &str) -> String {
    format!("/api/v1/namespaces/kube-system/configmaps/{name}")
}

/// The text of a ConfigMap under a key that has a digest; with `None`, the text that new machines get.
pub fn text_of(map: &Json, key: &str, digest: Option<&str>) -> Option<String> {
    let text = map.get("data")?.get(key)?.as_str()?;
    digest.is_none_or(|digest| settings_digest(text) == digest).then(|| text.to_owned())
}

/// The settings of a machine that is no node yet, from the cluster, with the credential of its node.
pub(super) async fn fetch(root: &Path, name: &str, joined: &Joined) -> Result<String, Stop> {
    let api = api(root, joined)?;
    let what = format!("the settings of its pool: the ConfigMap {name} in kube-system");
    match api.find(&path(name)).await {
        Ok(Some(map)) => text_of(&map, SETTINGS, None).ok_or_else(|| {
            Error::new(code::POOL_SETTINGS, format!("the ConfigMap {name} has no key `{SETTINGS}`")).into()
        }),
        Ok(None) => Err(Stop::Waits(format!("waits for {what} does not exist yet"))),
        // The permission comes with the object.
        Err(error) if error.status() == Some(403) || error.may_pass() => {
            Err(Stop::Waits(format!("waits for {what} cannot be read yet: {error}")))
        }
        Err(error) => Err(Error::from(error).into()),
    }
}

/// The API as the node of this machine, before and after its kubelet has credentials.
fn api(root: &Path, joined: &Joined) -> Result<Api, Stop> {
    let kubelet = below(root, "/etc/kubernetes/kubelet.conf");
    if kubelet.exists() {
        return Ok(Api::of_file(root, &kubelet).map_err(Error::from)?);
    }
    let Some(file) = &joined.client_certificate else {
        let text = "a machine that joins with a token cannot read the settings of its pool";
        return Err(Stop::Refused(Error::new(code::POOL_SETTINGS, text).hint(
            "remove the file of the credential, so that the machine asks for the credential of its node",
        )));
    };
    let path = below(root, file);
    let pem = slipway_limits::file::read_text(&path, slipway_limits::size::KEY_FILE)
        .map_err(|error| Error::file("the credential of the node", &path, &error))?;
    // The file has the certificate, and the key after it.
    let (certificate, key) = pem.split_at(pem.rfind("-----BEGIN ").unwrap_or_default());
    let credentials =
        Credentials::Certificate { certificate: certificate.to_owned(), key: SecretText::new(key) };
    let api = Api::new(&joined.server, &Trust::Authorities(joined.authority.clone()), &credentials);
    Ok(api.map_err(Error::from)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_settings_with_which_a_machine_ran_well_survive_interrupted_changes() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Kept::of(folder.path());
        assert_eq!(kept.current().unwrap(), None);
        kept.begin_with("one").unwrap();
        assert_eq!(kept.unfinished().unwrap(), None);
        kept.change_to("two").unwrap();
        assert_eq!(kept.unfinished().unwrap().as_deref(), Some("two"));
        kept.change_to("three").unwrap();
        assert_eq!(kept.current().unwrap().as_deref(), Some("three"));
        assert_eq!(kept.previous().unwrap().as_deref(), Some("one"));
        kept.go_back().unwrap();
        assert_eq!(kept.current().unwrap().as_deref(), Some("one"));
        assert_eq!(kept.unfinished().unwrap().as_deref(), Some("one"), "the way back has not ended either");
        kept.is_done().unwrap();
        kept.is_done().unwrap();
        assert_eq!(kept.unfinished().unwrap(), None);
        assert_eq!(kept.previous().unwrap(), None);
    }

    #[test]
    fn a_text_is_taken_only_with_its_digest() {
        let map = json!({"data": {SETTINGS: "one", "next": "two"}});
        assert_eq!(text_of(&map, SETTINGS, None).as_deref(), Some("one"));
        assert_eq!(text_of(&map, "next", Some(&settings_digest("two"))).as_deref(), Some("two"));
        assert_eq!(text_of(&map, "next", Some(&settings_digest("one"))), None);
    }
}
