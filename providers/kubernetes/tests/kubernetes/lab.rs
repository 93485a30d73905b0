//! A real API server, the provider, the planner and the engine, put together as the program does it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;
use slipway_engine::{
    Backoff, EventHandler, NoSecrets, Report, Run, SecretSource, State, StopSignal, observe, recover,
};
use slipway_plan::{Inputs, Mode, Options, Plan, ProviderHandle, ProviderPin, Providers};
use slipway_provider_kubernetes::{FileAccess, Kubernetes};
use slipway_resource::provider::SessionRequest;
use slipway_resource::{Address, Desired, Digest, Provider as _, Value};
use slipway_state_store::{Acquire, Backend, ClusterName, Holder, Identity, MemoryBackend, SystemClock};
use slipway_testkit::control_plane::{ControlPlane, Options as PlaneOptions};

/// A policy that writes down every request once.
const AUDIT: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived, ResponseStarted]\nrules: [{level: Metadata}]\n";

/// An API server of its own.
pub struct Api {
    plane: ControlPlane,
    folder: tempfile::TempDir,
}

impl Api {
    pub fn start(controllers: bool) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let policy = folder.path().join("policy.yaml");
        std::fs::write(&policy, AUDIT)?;
        let api_arguments = vec![
            format!("--audit-policy-file={}", policy.display()),
            format!("--audit-log-path={}", folder.path().join("audit.log").display()),
        ];
        let options = PlaneOptions { controllers, api_arguments, ..PlaneOptions::default() };
        let plane = ControlPlane::start(&options)?;
        Ok(Self { plane, folder })
    }

    pub fn kubeconfig(&self) -> PathBuf {
        self.plane.kubeconfig()
    }

    /// The URL of the server, and the certificate of its authority.
    pub fn server(&self) -> (String, PathBuf) {
        (self.plane.server(), self.plane.certificates().join("ca.crt"))
    }

    /// How many requests a client of this name has made so far: `slipway` or `kubectl`.
    pub fn requests(&self, client: &str) -> Result<Vec<String>> {
        let log = std::fs::read_to_string(self.folder.path().join("audit.log"))?;
        let mut found = Vec::new();
        for line in log.lines() {
            let event: Json = serde_json::from_str(line)?;
            if event["userAgent"].as_str().unwrap_or_default().starts_with(client) {
                found.push(format!(
                    "{} {}",
                    event["verb"].as_str().unwrap_or_default(),
                    event["requestURI"].as_str().unwrap_or_default()
                ));
            }
        }
        Ok(found)
    }

    /// The output of kubectl.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let output = self.plane.kubectl(arguments)?;
        ensure!(
            output.status.success(),
            "kubectl {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The output of kubectl with manifests on its standard input.
    pub fn kubectl_with(&self, arguments: &[&str], input: &str) -> Result<String> {
        let program = slipway_testkit::kubernetes::install()?.join("kubectl");
        let mut child = Command::new(program)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        std::io::Write::write_all(&mut child.stdin.take().context("its input")?, input.as_bytes())?;
        let output = child.wait_with_output()?;
        ensure!(
            output.status.success(),
            "kubectl {arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// How old an object is.
    pub fn age(&self, object: &Json) -> Result<std::time::Duration> {
        let created: jiff::Timestamp =
            object["metadata"]["creationTimestamp"].as_str().context("a time")?.parse()?;
        Ok(jiff::Timestamp::now().duration_since(created).unsigned_abs())
    }

    /// An object as JSON.
    pub fn get(&self, arguments: &[&str]) -> Result<Json> {
        let all = [&["get", "-o", "json", "--show-managed-fields"], arguments].concat();
        Ok(serde_json::from_str(&self.kubectl(&all)?)?)
    }
}

/// A cluster's state, with the operations that plan and apply desired objects.
pub struct Lab {
    pub cluster: String,
    access: FileAccess,
    backend: Arc<dyn Backend>,
    pub secrets: Arc<dyn SecretSource>,
}

impl Lab {
    pub fn new(api: &Api, cluster: &str) -> Self {
        Self::by(cluster, api.kubeconfig())
    }

    /// By another way than the administrator's.
    pub fn by(cluster: &str, kubeconfig: PathBuf) -> Self {
        Self {
            cluster: cluster.to_owned(),
            access: FileAccess::of_caller(kubeconfig),
            backend: Arc::new(MemoryBackend::new()),
            secrets: Arc::new(NoSecrets),
        }
    }

    /// Forgets the state, as if the store had been lost.
    pub fn lose_state(&mut self) {
        self.backend = Arc::new(MemoryBackend::new());
    }

    pub async fn providers(&self) -> Result<Providers> {
        let provider = Kubernetes::new(Arc::new(self.access.clone()));
        let (info, schema) = (provider.info().await?, provider.schema().await?);
        let request = SessionRequest { config: Value::Null, region: None, offline: false };
        let session = provider.open_session(request).await?;
        let pin = ProviderPin {
            version: info.version.clone(),
            schema_digest: Digest::of(&*schema)?,
            scope: session.scope().clone(),
            config: Value::Null,
        };
        let mut providers = Providers::default();
        providers.insert("kubernetes", ProviderHandle { session, schema, info, pin });
        Ok(providers)
    }

    pub async fn state(&self) -> Result<Option<State>> {
        Ok(State::read(&*self.backend, &self.cluster).await?)
    }

    pub async fn plan(&self, desired: &[Desired]) -> Result<Plan> {
        let state = self.state().await?;
        let providers = self.providers().await?;
        self.plan_from(desired, Mode::Apply, &providers, state.as_ref()).await
    }

    async fn plan_from(
        &self,
        desired: &[Desired],
        mode: Mode,
        providers: &Providers,
        state: Option<&State>,
    ) -> Result<Plan> {
        let prior = state.map(|state| &state.snapshot);
        let observed = observe(&self.cluster, providers, prior, desired).await?;
        let name = ClusterName::new(self.cluster.as_str())?;
        let head = slipway_state_store::read_head(&*self.backend, &name).await?;
        let inputs = Inputs {
            cluster: &self.cluster,
            uid: observed.uid,
            mode,
            spec: Json::Null,
            changed: Vec::new(),
            desired: desired.to_vec(),
            notes: Vec::new(),
            prior,
            generation: head.map(|(head, _)| head.generation.0),
            observations: observed.observations,
            providers,
            catalogs: BTreeMap::new(),
            uncompared: std::collections::BTreeMap::new(),
            options: Options { preflight: true, ..Options::default() },
            locate: &|_| None,
        };
        Ok(slipway_plan::plan(inputs).await?)
    }

    pub async fn run(&self, desired: &[Desired], mode: Mode) -> Result<(Plan, Report)> {
        let providers = self.providers().await?;
        let name = ClusterName::new(self.cluster.as_str())?;
        let seen = observe(&self.cluster, &providers, None, &[]).await?.uid;
        let uid = match seen {
            Some(uid) => slipway_state_store::ClusterUid::new(uid.as_str())?,
            None => slipway_state_store::ClusterUid::random()?,
        };
        let acquire = Acquire::new(Identity::current("lab", "apply")).create(uid);
        let holder = Holder::acquire(self.backend.clone(), &name, acquire, Arc::new(SystemClock)).await?;
        let mut state = State::of_view(&self.cluster, holder.read().await?)?;
        recover(&holder, &mut state, &providers, false).await?;
        let known = state.head.snapshot.is_some() || state.is_interrupted();
        let plan = self.plan_from(desired, mode, &providers, Some(&state).filter(|_| known)).await?;
        let run = Run {
            spec: plan.spec.clone(),
            plan: &plan,
            providers: &providers,
            state,
            secrets: self.secrets.clone(),
            store: None,
            confirmed: plan
                .changes
                .iter()
                .map(|change| change.address.to_string())
                .chain([plan.cluster.clone()])
                .collect(),
            observed_at: Some(tokio::time::Instant::now()),
            read_age: slipway_engine::READ_AGE,
            parallelism: None,
            backoff: Backoff::default(),
            events: EventHandler::discard(),
            stop: StopSignal::default(),
            who: "lab".to_owned(),
            clock: Arc::new(SystemClock),
        };
        let report = run.execute(holder).await?;
        Ok((plan, report))
    }

    /// Applies all desired objects, and checks that the next plan is empty.
    pub async fn apply(&self, desired: &[Desired]) -> Result<Plan> {
        let (plan, report) = self.run(desired, Mode::Apply).await?;
        ensure!(report.failures.is_empty(), "{:?}", report.failures);
        let again = self.plan(desired).await?;
        ensure!(again.changes.is_empty(), "after an apply there is something to do: {}", shown(&again));
        Ok(plan)
    }

    pub async fn delete(&self) -> Result<Plan> {
        let (plan, report) = self.run(&[], Mode::Delete).await?;
        ensure!(report.failures.is_empty(), "{:?}", report.failures);
        Ok(plan)
    }
}

/// A plan as people see it.
pub fn shown(plan: &Plan) -> String {
    let options = slipway_plan::render::TextOptions {
        width: 120,
        verbose: true,
        ..slipway_plan::render::TextOptions::default()
    };
    slipway_plan::render::text(plan, &options)
}

/// A desired object.
pub fn object(manifest: Json) -> Desired {
    let of = |pointer: &str| manifest.pointer(pointer).and_then(Json::as_str).unwrap_or_default().to_owned();
    let name = format!("{}/{}/{}", of("/kind"), of("/metadata/namespace"), of("/metadata/name"));
    let attributes = Value::map([("manifest", Value::from_json(&manifest))]);
    Desired::new(Address::new("kubernetes_object", name), attributes)
}

/// A desired object that depends on another.
pub fn behind(mut desired: Desired, other: &Desired) -> Desired {
    desired.depends_on.push(other.address.clone());
    desired
}

/// A desired object with another attribute.
pub fn with(mut desired: Desired, name: &str, value: impl Into<Value>) -> Desired {
    desired.attributes.set(&slipway_resource::Path::key(name), value.into());
    desired
}
