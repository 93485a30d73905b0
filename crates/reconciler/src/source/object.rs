//! The place that a `Source` object of Kubernetes names, as a source.

use std::path::{Path, PathBuf};
use std::time::Duration;

use slipway_controller::connect;
use slipway_controller::kube::{self, Api, Client};
use slipway_limits::size;
use slipway_resource::with_causes;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::git::Repository;
use super::oci::Artifact;
use crate::configuration::{Location, ObjectSettings};
use crate::error::Error;
use crate::objects::{Source as Object, SourceSpec};

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(30);

/// An object, and the place that it named last.
pub(super) struct Source {
    settings: ObjectSettings,
    /// The data folder of the place.
    data: PathBuf,
    /// The client of the API server, if the last call succeeded.
    client: Option<Client>,
    located: Option<(SourceSpec, Located)>,
    /// The generation of the object that was read last.
    pub generation: Option<i64>,
}

/// The place that an object names.
#[derive(Debug)]
pub(super) enum Located {
    Git(Box<Repository>),
    Artifact(Box<Artifact>),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Source").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Source {
    pub fn new(settings: &ObjectSettings, data: &Path) -> Self {
        Self {
            settings: settings.clone(),
            data: data.to_owned(),
            client: None,
            located: None,
            generation: None,
        }
    }

    /// The object, for people.
    pub fn title(&self) -> String {
        self.settings.title()
    }

    /// The place that the object names now.
    pub async fn locate(&mut self) -> Result<&mut Located, Error> {
        let object = self.get().await?;
        self.generation = object.metadata.generation;
        let refused =
            |reason: &str| Error::ObjectRefused { object: self.settings.title(), reason: shown(reason) };
        if object.spec.suspend {
            return Err(refused("it is suspended"));
        }
        let kept = self.located.take().filter(|(spec, _)| *spec == object.spec);
        let located = match kept {
            Some((_, located)) => located,
            None => match self.settings.locate(&object.spec).map_err(|reason| refused(&reason))? {
                Location::Git(git) => Located::Git(Box::new(Repository::new(&git, &self.data))),
                Location::Oci(oci) => Located::Artifact(Box::new(Artifact::new(&oci, &self.data))),
            },
        };
        Ok(&mut self.located.insert((object.spec, located)).1)
    }

    async fn get(&mut self) -> Result<Object, Error> {
        let (settings, kept) = (self.settings.clone(), self.client.take());
        let given_up = CancellationToken::new();
        let _ends_with_this = given_up.clone().drop_guard();
        let runtime = Handle::current();
        // A credential plugin of a kubeconfig blocks the thread that starts it, and this one renews leases.
        let call = move || runtime.block_on(given_up.run_until_cancelled(fetch(&settings, kept)));
        let answer = tokio::task::spawn_blocking(call).await.ok().flatten();
        let lost = || unavailable(&self.settings, "its API was not asked");
        let (client, object) = answer.ok_or_else(lost)??;
        self.client = Some(client);
        Ok(object)
    }
}

async fn fetch(settings: &ObjectSettings, kept: Option<Client>) -> Result<(Client, Object), Error> {
    let failed = |reason: &str| unavailable(settings, reason);
    let client = match kept {
        Some(client) => client,
        None => {
            let connected = connect(settings.kubeconfig.as_deref()).await;
            connected.map_err(|error| failed(&with_causes(&error)))?
        }
    };
    let objects: Api<Object> = Api::namespaced(client.clone(), &settings.namespace);
    match timeout(ANSWER, objects.get(&settings.name)).await {
        Ok(Ok(object)) => Ok((client, object)),
        // Without the kind there is another reason in the answer.
        Ok(Err(kube::Error::Api(status))) if status.code == 404 && status.reason == "NotFound" => {
            Err(Error::NoReference {
                what: format!("the {}", settings.title()),
                url: "the cluster of the controller's objects".to_owned(),
            })
        }
        Ok(Err(kube::Error::Api(status))) => Err(failed(&status.message)),
        Ok(Err(error)) => Err(failed(&with_causes(&error))),
        Err(_) => Err(failed(&format!("the API server does not answer within {ANSWER:?}"))),
    }
}

/// The object cannot be read. Texts of others may be of any length, and may contain control characters.
fn unavailable(settings: &ObjectSettings, reason: &str) -> Error {
    Error::Object { object: settings.title(), reason: shown(reason) }
}

fn shown(text: &str) -> String {
    slipway_limits::text::visible(&slipway_limits::text::shorten(text, size::MESSAGE)).into_owned()
}
