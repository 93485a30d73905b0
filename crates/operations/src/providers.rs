//! Finds a cluster's provider and opens a session with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use slipway_engine::{WaitHandler, Watch};
use slipway_generated_secrets::{GeneratedSecrets, Vault};
use slipway_plan::{ProviderHandle, ProviderPin, Providers};
use slipway_protocol::{Installed, LockFile, Running};
use slipway_provider_hosts::Hosts;
use slipway_provider_kubernetes::{Kubernetes, TokenAccess};
use slipway_provider_sim::Sim;
use slipway_resource::provider::{Capabilities, SessionRequest, Terms};
use slipway_resource::{Digest, Provider, Schema, Value, validate};
use slipway_spec::source::Location;
use slipway_trust::{ProviderKind, TrustedProvider};

use crate::composition;
use crate::diagnose;
use crate::environment::Environment;
use crate::error::Error;
use crate::observe;
use crate::spec::ClusterSpec;
use crate::trust::{self, Grounds, Vouched};

/// Name of the provider that is built in.
pub const EMBEDDED: &str = "sim";

/// Name of the provider for machines that exist already, linked in unless the lock file pins an executable.
const HOSTS: &str = "hosts";

/// Names of the providers that are part of the program and that a spec or a command can name.
pub const BUILT_IN: [&str; 3] = [EMBEDDED, HOSTS, KUBERNETES];

/// Name of the provider of objects inside clusters.
pub const KUBERNETES: &str = "kubernetes";

/// A cluster whose provider is needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// The cluster.
    pub spec: &'a ClusterSpec,
    /// The policy for names in the spec.
    pub grounds: &'a Grounds,
    /// Without a cloud.
    pub offline: bool,
}

/// Opens the provider of a cluster.
///
/// A provider that slipway.lock pins runs as its own process; otherwise the simulated cloud is built in. The
/// lock file and the search path of the caller decide which executable runs, never a spec. Returns the access
/// to the nodes of a cluster that Slipway did not make, if the settings name its API.
pub(crate) async fn open(
    environment: &Environment,
    Asked { spec, grounds, offline }: Asked<'_>,
    core_settings: impl FnOnce(Capabilities, &Schema) -> Result<BTreeMap<String, serde_json::Value>, Error>,
    place: &dyn Fn(&str) -> Option<Location>,
) -> Result<(Providers, Option<TokenAccess>), Error> {
    let (name, region) = (spec.cluster.provider.name.as_str(), spec.cluster.region.clone());
    let kind = kind(environment, name, offline);
    let granted = grounds.policy.provider(name, kind, offline).map_err(|refusal| {
        Error::Specs(vec![diagnose::refusal(&refusal, place("provider.name").as_ref())])
    })?;
    let found =
        if offline { find_offline(environment, &granted).await } else { find(environment, &granted).await };
    let provider = found.map_err(|error| match error {
        Error::Protocol(error @ slipway_protocol::Error::NotFound { .. }) => {
            not_found(environment, &granted, &error, place("provider.name").as_ref())
        }
        other => other,
    })?;
    let mut config = spec.cluster.provider.config.clone();
    let schema = provider.schema().await?;
    let vouched = Vouched { by_caller: &spec.from_caller, recorded: spec.recorded };
    // Unknown fields are refused when the session is opened.
    let from_caller = trust::check_settings(grounds, name, &schema, &config, vouched, place)?;
    let networks = grounds.policy.networks().to_vec();
    let nodes = composition::cluster_api(&schema, &config, (&from_caller, &networks));
    let terms = Terms { read_only: grounds.policy.is_read_only(), from_caller, networks };
    let from_core = core_settings(provider.info().await?.capabilities, &schema)?;
    if !from_core.is_empty() {
        if !config.is_object() {
            config = serde_json::Value::Object(serde_json::Map::new());
        }
        if let Some(fields) = config.as_object_mut() {
            // Settings of the user take precedence.
            for (field, value) in from_core {
                fields.entry(field).or_insert(value);
            }
        }
    }
    let request = SessionRequest { config: Value::from_json(&config), region, offline };
    let mut providers = Providers::default();
    add_at(observe::waits(&environment.observer), &mut providers, name, &*provider, (request, terms), place)
        .await?;
    if let Some(Err((field, problem))) = nodes.as_ref().map(TokenAccess::check) {
        let setting = nodes.map(|nodes| nodes.setting).unwrap_or_default();
        let field = format!("{setting}.{field}");
        return Err(diagnose::configuration(
            name,
            vec![(format!("{field}: {problem}"), place(&field), None)],
        ));
    }
    Ok((providers, nodes))
}

/// Opens a session with a provider beside those that are open.
///
/// # Errors
/// As the provider says.
pub async fn add(
    waits: WaitHandler,
    providers: &mut Providers,
    name: &str,
    provider: &dyn Provider,
    request: SessionRequest,
) -> Result<(), Error> {
    add_at(waits, providers, name, provider, (request, Terms::default()), &|_| None).await
}

async fn add_at(
    waits: WaitHandler,
    providers: &mut Providers,
    name: &str,
    provider: &dyn Provider,
    (request, terms): (SessionRequest, Terms),
    place: &dyn Fn(&str) -> Option<Location>,
) -> Result<(), Error> {
    let info = provider.info().await?;
    let schema = provider.schema().await?;
    let config = request.config.clone();
    check_config(name, provider, &schema, &config, place).await?;
    let watch = Watch { waits, ..Watch::default() };
    let session = slipway_engine::open_session_on(name, provider, (request, terms), watch).await?;
    let pin = ProviderPin {
        version: info.version.clone(),
        schema_digest: Digest::of(&*schema)
            .map_err(|error| Error::internal("the provider's schema cannot be written", error))?,
        scope: session.scope().clone(),
        config,
    };
    providers.insert(name, ProviderHandle { session, schema, info, pin });
    Ok(())
}

/// The provider of a name. Its process, if it has one, ends with the command.
pub(crate) async fn find(
    environment: &Environment,
    granted: &TrustedProvider,
) -> Result<Arc<dyn Provider>, Error> {
    let name = granted.name();
    let lock = lock_file(granted)?;
    if lock.get(name).is_none()
        && let Some(provider) = linked(name)
    {
        return Ok(provider);
    }
    let running = Running::locked(name, &environment.search_path, &lock).await?;
    let provider = running.provider();
    environment.processes.keep(running);
    Ok(provider)
}

/// A provider of a spec that nothing has: the place of its name, and the name that was probably meant or all that exist.
fn not_found(
    environment: &Environment,
    granted: &TrustedProvider,
    error: &slipway_protocol::Error,
    place: Option<&Location>,
) -> Error {
    if let slipway_protocol::Error::NotFound { undescribed: Some(_), .. } = error {
        // Its executable is there, so no other provider was meant.
        return diagnose::provider_not_found(error, error.hint().unwrap_or_default(), place);
    }
    let (installed, _) = environment.search_path.list();
    let locked = lock_file(granted).unwrap_or_else(|_| LockFile::empty());
    let mut names: Vec<&str> = vec![EMBEDDED, HOSTS];
    names.extend(installed.iter().map(Installed::name));
    names.extend(locked.providers().iter().map(|locked| locked.name.as_str()));
    names.sort_unstable();
    names.dedup();
    names.retain(|name| *name != granted.name());
    let instead = match slipway_spec::diagnostic::closest(granted.name(), names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`? Otherwise"),
        None => format!("the providers here are {};", names.join(", ")),
    };
    let install = error.hint().map(|hint| format!(" {hint}")).unwrap_or_default();
    diagnose::provider_not_found(error, format!("{instead}{install}"), place)
}

/// The lock file that pins a provider; empty if the policy names none.
fn lock_file(granted: &TrustedProvider) -> Result<LockFile, Error> {
    Ok(match granted.lock_file() {
        Some(path) => LockFile::read(path)?,
        None => LockFile::empty(),
    })
}

/// Where a provider is. The folder of the program is searched only for an offline plan: an untrusted spec can name any
/// provider.
fn kind(environment: &Environment, name: &str, offline: bool) -> ProviderKind {
    let is_beside = || environment.search_path.find_own(name).is_ok_and(|own| own.is_some());
    match name {
        EMBEDDED => ProviderKind::Embedded,
        _ if linked(name).is_some() => ProviderKind::Linked,
        _ if offline && is_beside() => ProviderKind::Beside,
        _ => ProviderKind::Process,
    }
}

/// The provider of a name that the caller's own command or state says.
///
/// # Errors
/// When the policy does not grant it, or when it cannot be started.
pub async fn find_named(environment: &Environment, name: &str) -> Result<Arc<dyn Provider>, Error> {
    find(environment, &environment.policy.provider(name, kind(environment, name, false), false)?).await
}

/// The providers that are part of the program.
fn linked(name: &str) -> Option<Arc<dyn Provider>> {
    Some(match name {
        EMBEDDED => Arc::new(Sim),
        HOSTS => Arc::new(Hosts::new()),
        KUBERNETES => Arc::new(Kubernetes::configured()),
        slipway_generated_secrets::NAME => Arc::new(GeneratedSecrets::new(Arc::new(Vault::nowhere("")))),
        _ => return None,
    })
}

/// Finds a provider by its name for a session without a cloud.
///
/// A provider beside the running executable is trusted like the executable: it plans offline without being
/// pinned.
async fn find_offline(
    environment: &Environment,
    granted: &TrustedProvider,
) -> Result<Arc<dyn Provider>, Error> {
    let name = granted.name();
    let lock = lock_file(granted)?;
    if lock.get(name).is_none()
        && linked(name).is_none()
        && let Some(installed) = environment.search_path.find_own(name)?
    {
        let Some(executable) = installed.offline_executable() else {
            return Err(not_built(&installed));
        };
        let running = Running::launch(&installed.launch(executable)).await?;
        let provider = running.provider();
        environment.processes.keep(running);
        return Ok(provider);
    }
    find(environment, granted).await
}

/// Refuses to plan offline with what a source tree can build and has not built yet.
fn not_built(installed: &Installed) -> Error {
    let path = installed.offline.as_deref().unwrap_or(&installed.executable).to_owned();
    Error::NotBuilt { provider: installed.name().to_owned(), path }
}

async fn check_config(
    name: &str,
    provider: &dyn Provider,
    schema: &slipway_resource::Schema,
    config: &Value,
    place: &dyn Fn(&str) -> Option<Location>,
) -> Result<(), Error> {
    let empty = Value::map::<String, Value>([]);
    let checked = if config.is_null() { &empty } else { config };
    let mut problems: Vec<_> = validate::misfits(&schema.config, checked)
        .into_iter()
        .map(|misfit| {
            let meant = misfit.suggestion.as_ref().map(|meant| format!("did you mean `{meant}`?"));
            let place = place(&format!("provider.config.{}", misfit.path));
            (format!("provider.config.{misfit}"), place, meant)
        })
        .collect();
    if problems.is_empty() {
        let found = provider.validate_config(checked).await?;
        problems.extend(found.into_iter().map(|problem| (problem, place("provider.config"), None)));
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(diagnose::configuration(name, problems))
}
