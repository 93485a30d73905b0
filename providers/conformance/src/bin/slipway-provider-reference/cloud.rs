//! The cloud: one file, read and written whole.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use slipway_resource::{Address, ErrorClass, ProviderError, Value};

use crate::traffic::{Balancer, PodRoute};

/// All objects of one directory.
#[derive(Clone)]
pub struct Cloud {
    file: PathBuf,
    /// Lets one change run at a time, over all sessions of the process.
    turn: Arc<Mutex<()>>,
}

/// The content of the file.
#[derive(Default, Serialize, Deserialize)]
pub struct Objects {
    /// How many were ever made.
    made: u64,
    /// The objects by identity.
    pub by_identity: BTreeMap<String, Object>,
    /// The load balancers of Services by cluster and name.
    #[serde(default)]
    pub balancers: BTreeMap<String, Balancer>,
    /// The routes to pods.
    #[serde(default)]
    pub routes: Vec<PodRoute>,
}

/// One object with its tags.
#[derive(Clone, Serialize, Deserialize)]
pub struct Object {
    pub kind: String,
    pub tags: Option<Tags>,
    pub token: String,
    pub attributes: Value,
    /// When the object is ready, in milliseconds since 1970.
    pub up_at_ms: u64,
}

/// The ownership of an object.
#[derive(Clone, Serialize, Deserialize)]
pub struct Tags {
    pub uid: String,
    pub cluster: String,
    pub address: Address,
}

impl Cloud {
    pub fn new(directory: &Path, turn: Arc<Mutex<()>>) -> Self {
        Self { file: directory.join("cloud.json"), turn }
    }

    /// Looks at the objects.
    pub fn look<T>(&self, look: impl FnOnce(&Objects) -> T) -> Result<T, ProviderError> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let objects = self.load()?;
        drop(turn);
        Ok(look(&objects))
    }

    /// Changes the objects, whole or not at all.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut Objects) -> Result<T, ProviderError>,
    ) -> Result<T, ProviderError> {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let mut objects = self.load()?;
        let outcome = change(&mut objects)?;
        let text = serde_json::to_string(&objects).map_err(|error| broken(&error))?;
        let draft = self.file.with_extension("draft");
        std::fs::write(&draft, text).map_err(|error| broken(&error))?;
        std::fs::rename(&draft, &self.file).map_err(|error| broken(&error))?;
        drop(turn);
        Ok(outcome)
    }

    /// Notes something beside the objects, for the defect of writing while it only looks.
    pub fn note(&self, text: &str) -> Result<(), ProviderError> {
        let file = self.file.with_extension("notes");
        std::fs::write(file, text).map_err(|error| broken(&error))
    }

    fn load(&self) -> Result<Objects, ProviderError> {
        match std::fs::read(&self.file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| broken(&error)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Objects::default()),
            Err(error) => Err(broken(&error)),
        }
    }
}

impl Objects {
    /// Adds an object and names it.
    pub fn add(&mut self, object: Object) -> String {
        self.made += 1;
        let identity = format!("{}-{:06}", object.kind, self.made);
        self.by_identity.insert(identity.clone(), object);
        identity
    }

    /// The object that a token made.
    pub fn of_token(&self, token: &str) -> Option<(&String, &Object)> {
        self.by_identity.iter().find(|(_, object)| object.token == token)
    }
}

fn broken(error: &dyn std::error::Error) -> ProviderError {
    ProviderError::new(ErrorClass::Permanent, format!("the cloud's file: {error}"))
}

/// Milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
