//! The cloud's key service on a control plane: its provider opens the keys of the cluster with the identity of the machine.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use slipway_bootstrap::boot::NodeBootstrap;
use slipway_resource::provider::executable_name;
use slipway_resource::{ErrorClass, ProviderError, Session};
use slipway_secrets::service::{OpenSession, ServiceKeys};
use slipway_secrets::{Error, Identity, Keys, Recipient};

use crate::identity::Identifier;

/// The key service, whose program is started when the first key needs it.
pub(super) struct KeyService(Arc<Program>);

struct Program {
    provider: String,
    region: Option<String>,
    started: Mutex<Started>,
}

#[derive(Default)]
enum Started {
    /// It was not needed.
    #[default]
    No,
    /// It was needed, and is not on this machine.
    Missing,
    /// It runs.
    Running(Box<Identifier>),
}

impl KeyService {
    /// The key service of the cloud that a document names.
    pub fn new(document: &NodeBootstrap) -> Self {
        Self::of(document.provider(), document.region())
    }

    fn of(provider: &str, region: Option<&str>) -> Self {
        let (provider, region) = (provider.to_owned(), region.map(str::to_owned));
        Self(Arc::new(Program { provider, region, started: Mutex::default() }))
    }

    /// The keys of the machine, and those of the service after them.
    pub fn beside(&self, own: Arc<dyn Keys>) -> Arc<dyn Keys> {
        let service = ServiceKeys::new(&self.0.provider, Box::new(Opens(self.0.clone())));
        Arc::new(Both { own, service: Arc::new(service) })
    }

    /// Ends the program, and says whether it was needed and is missing.
    pub async fn end(&self) -> bool {
        match self.0.set(Started::No) {
            Started::No => false,
            Started::Missing => true,
            Started::Running(program) => {
                program.end().await;
                false
            }
        }
    }

    /// What a machine without the program waits for.
    pub fn waits(&self) -> String {
        let name = executable_name(&self.0.provider);
        format!("waits for the program {name}, which opens the keys of the cluster: it is not on the path")
    }
}

impl Program {
    /// Sets what is known of the program, and gives what was known before.
    fn set(&self, started: Started) -> Started {
        std::mem::replace(&mut *self.started.lock().unwrap_or_else(PoisonError::into_inner), started)
    }
}

struct Opens(Arc<Program>);

#[async_trait]
impl OpenSession for Opens {
    async fn open(&self) -> Result<Arc<dyn Session>, ProviderError> {
        let Program { provider, region, .. } = &*self.0;
        if Identifier::find(provider).is_none() {
            self.0.set(Started::Missing);
            let text = format!("{} is not on this machine", executable_name(provider));
            return Err(ProviderError::new(ErrorClass::NotFound, text));
        }
        let program = Identifier::start(provider, region.as_deref()).await;
        let program =
            program.map_err(|error| ProviderError::new(ErrorClass::Permanent, error.to_string()))?;
        let session = program.session().clone();
        self.0.set(Started::Running(Box::new(program)));
        Ok(session)
    }
}

/// Two sources of keys.
struct Both {
    own: Arc<dyn Keys>,
    service: Arc<ServiceKeys>,
}

#[async_trait]
impl Keys for Both {
    async fn recipients(&self) -> Result<Vec<Arc<dyn Recipient>>, Error> {
        self.own.recipients().await
    }

    async fn identities(&self) -> Result<Vec<Arc<dyn Identity>>, Error> {
        let mut keys = self.own.identities().await?;
        keys.push(self.service.clone());
        Ok(keys)
    }
}

#[cfg(test)]
mod tests {
    use slipway_provider_sim::Sim;
    use slipway_resource::provider::SessionRequest;
    use slipway_resource::{Provider as _, Value};
    use slipway_secrets::key::GivenKeys;
    use slipway_secrets::service::ServiceKey;
    use slipway_secrets::{Context, Expected, Keyring, age};

    use super::*;

    fn same(keys: &GivenKeys) -> GivenKeys {
        GivenKeys { recipients: keys.recipients.clone(), identities: keys.identities.clone() }
    }

    async fn sealed(also: &[Arc<dyn Recipient>], key: &GivenKeys) -> Vec<u8> {
        let context = Context { path: "p".to_owned(), cluster: "a".to_owned(), uid: None, generation: 1 };
        let operator = Keyring::new(Arc::new(same(key)));
        operator.seal_also(context, b"key", also).await.unwrap()
    }

    #[tokio::test]
    async fn a_machine_without_the_program_waits_for_it_only_where_it_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        let config = Value::map([("directory", folder.path().display().to_string())]);
        let request = SessionRequest { config, region: None, offline: false };
        let session = Sim.open_session(request).await.unwrap();
        let of_cloud: Arc<dyn Recipient> = Arc::new(ServiceKey::with_session("absent", "key/a", session));
        let own = GivenKeys::of_identity(age::Identity::generate().unwrap());
        let (with, without) = (sealed(&[of_cloud], &own).await, sealed(&[], &own).await);
        for (bytes, has_own, opens, is_missing) in
            [(&with, true, true, false), (&with, false, false, true), (&without, false, false, false)]
        {
            let service = KeyService::of("absent", None);
            let keys = if has_own { same(&own) } else { GivenKeys::default() };
            let keyring = Keyring::new(service.beside(Arc::new(keys)));
            let opened = keyring.open(&Expected::at("p"), bytes).await;
            assert_eq!(opened.is_ok(), opens, "{opened:?}");
            assert_eq!(service.end().await, is_missing, "{opened:?}");
            assert!(service.waits().contains("slipway-provider-absent"));
        }
    }
}
