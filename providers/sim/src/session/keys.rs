//! The key service of the simulated cloud: keys that never leave it.
//!
//! Every key with a name of the form `key/<name>` exists. Its bytes are generated at its first use, and
//! stored in the cloud's folder, which represents the inside of the service.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;

use aws_lc_rs::aead::{AES_256_GCM, Aad, NONCE_LEN, Nonce, RandomizedNonceKey};
use slipway_limits::file::{open_plain, read_plain};
use slipway_limits::size;
use slipway_resource::ProviderError;
use slipway_resource::provider::{UnwrapKeyRequest, WrapKeyRequest};
use zeroize::Zeroizing;

use super::SimSession;
use crate::error::{invalid, not_found, permanent};
use crate::fault::Call;

const KEY: usize = 32;

/// The folder of keys in the cloud's directory, and the first part of their names.
pub(crate) const FOLDER: &str = "key";

impl SimSession {
    pub(super) async fn wrap(&self, request: WrapKeyRequest) -> Result<Vec<u8>, ProviderError> {
        self.begin(Call { method: "wrapKey", type_name: "", name: "" }, "network").await?;
        let key = self.service_key(&request.key)?;
        let mut bytes = request.plain.to_vec();
        let nonce = key
            .seal_in_place_append_tag(Aad::from(request.scope.as_bytes()), &mut bytes)
            .map_err(|_| permanent("the key service cannot wrap"))?;
        Ok([nonce.as_ref(), bytes.as_slice()].concat())
    }

    pub(super) async fn unwrap(
        &self,
        request: UnwrapKeyRequest,
    ) -> Result<Zeroizing<Vec<u8>>, ProviderError> {
        self.begin(Call { method: "unwrapKey", type_name: "", name: "" }, "network").await?;
        let key = self.service_key(&request.key)?;
        let refused =
            || invalid(format!("this is not what {} has wrapped for {}", request.key, request.scope));
        let (nonce, sealed) = request.wrapped.split_at_checked(NONCE_LEN).ok_or_else(refused)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).map_err(|_| refused())?;
        let mut bytes = Zeroizing::new(sealed.to_vec());
        let aad = Aad::from(request.scope.as_bytes());
        let length = key.open_in_place(nonce, aad, &mut bytes).map_err(|_| refused())?.len();
        bytes.truncate(length);
        Ok(bytes)
    }

    fn service_key(&self, name: &str) -> Result<RandomizedNonceKey, ProviderError> {
        let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        let is_key = name
            .strip_prefix(FOLDER)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|rest| !rest.is_empty() && rest.chars().all(plain));
        if !is_key {
            return Err(not_found(format!("there is no key {name}")).with_hint("a key is named key/<name>"));
        }
        let bytes = self.key_bytes(name).map_err(|error| permanent(format!("the key service: {error}")))?;
        RandomizedNonceKey::new(&AES_256_GCM, &bytes).map_err(|_| permanent("the key service is broken"))
    }

    fn key_bytes(&self, name: &str) -> io::Result<Zeroizing<Vec<u8>>> {
        let path = self.config.directory.join(name);
        if let Ok(bytes) = read_plain(&path, size::KEY_FILE) {
            return Ok(Zeroizing::new(bytes));
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut fresh = Zeroizing::new(vec![0; KEY]);
        aws_lc_rs::rand::fill(&mut fresh).map_err(io::Error::other)?;
        // The file appears complete or not at all: it is written under another name and then linked. Another
        // process may be first.
        let beside = path.with_extension(format!("{}.new", std::process::id()));
        let mut file =
            open_plain(&beside, OpenOptions::new().write(true).create(true).truncate(true).mode(0o600))?;
        file.write_all(&fresh)?;
        file.sync_all()?;
        let linked = fs::hard_link(&beside, &path);
        fs::remove_file(&beside)?;
        match linked {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => read_plain(&path, size::KEY_FILE).map(Zeroizing::new),
        }
    }
}
