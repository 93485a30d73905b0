use std::sync::{Mutex, Weak};
use std::time::Duration;

use async_trait::async_trait;
use slipway_plan::file::Mode;
use slipway_plan::{Inputs, Observations, Options};
use slipway_resource::provider::Applied;
use slipway_resource::{Desired, Secret, SecretText, Value};
use slipway_state_store::{Acquire, ClusterName, Holder, Identity as Person, MemoryBackend, SystemClock};
use tokio::sync::Notify;

use super::*;
use crate::event::EventHandler;
use crate::retry::Backoff;
use crate::run::Run;
use crate::scripted::{Scripted, providers_of, thing, things};
use crate::secrets::{SecretError, SecretSource};
use crate::state::State;
use crate::stop::StopSignal;

const CLUSTER: &str = "a";

/// How long a test waits for what must happen at once.
const PATIENCE: Duration = Duration::from_secs(20);

/// A provider that makes things.
fn providers() -> Providers {
    let session = Scripted::default().on_apply(|request, _| async move {
        let name = request.ownership.address.name().to_owned();
        Ok(Applied::new(Identity::new(name.as_str()), Value::map([("name", name.as_str())])))
    });
    providers_of(session, things())
}

/// A thing that comes after others; the last one of them keeps its secret.
fn wanted(name: &str, after: &[&str], has_secret: bool) -> Desired {
    let mut attributes = vec![("name", Value::from(name))];
    if let Some(keeper) = after.last().filter(|_| has_secret) {
        attributes.push(("secret", Value::from(Secret::kept(&thing(keeper), "text"))));
    }
    let mut desired = Desired::new(thing(name), Value::map(attributes));
    desired.depends_on = after.iter().map(|name| thing(name)).collect();
    desired
}

/// A key service that answers when the test lets it.
#[derive(Default)]
struct SlowKey(Notify);

#[async_trait]
impl SecretSource for SlowKey {
    fn text(&self, source: &str) -> Result<SecretText, SecretError> {
        panic!("{source} is kept by the cluster")
    }

    async fn kept(&self, _: &ClusterUid, _: &Identity, _: &str) -> Result<SecretText, SecretError> {
        self.0.notified().await;
        Ok(SecretText::new("text"))
    }
}

/// Carries a plan out that makes things. `at` is called with the name of each thing that is made.
async fn run(
    desired: Vec<Desired>,
    key: Arc<SlowKey>,
    stop: StopSignal,
    at: impl Fn(&str) + Send + Sync + 'static,
) -> (Plan, Report) {
    let providers = providers();
    let inputs = Inputs {
        cluster: CLUSTER,
        uid: None,
        mode: Mode::Apply,
        spec: serde_json::Value::Null,
        changed: Vec::new(),
        desired,
        notes: Vec::new(),
        prior: None,
        generation: None,
        observations: Observations::default(),
        providers: &providers,
        catalogs: BTreeMap::new(),
        uncompared: BTreeMap::new(),
        options: Options::default(),
        locate: &|_| None,
    };
    let plan = slipway_plan::plan(inputs).await.unwrap();
    let name = ClusterName::new(CLUSTER).unwrap();
    let uid = slipway_state_store::ClusterUid::random().unwrap();
    let acquire = Acquire::new(Person::current("test", "apply")).create(uid);
    let backend = Arc::new(MemoryBackend::new());
    let holder = Holder::acquire(backend, &name, acquire, Arc::new(SystemClock)).await.unwrap();
    let titles: Vec<String> = plan.steps.iter().map(|step| step.address.name().to_owned()).collect();
    let events = EventHandler::new(move |event| {
        if let Event::Done(id, _) = event {
            at(&titles[id.index()]);
        }
    });
    let run = Run {
        plan: &plan,
        spec: plan.spec.clone(),
        providers: &providers,
        state: State::of_view(CLUSTER, holder.read().await.unwrap()).unwrap(),
        secrets: key,
        store: None,
        confirmed: Default::default(),
        observed_at: Some(Instant::now()),
        read_age: crate::READ_AGE,
        parallelism: None,
        backoff: Backoff::default(),
        events,
        stop,
        who: "test".to_owned(),
        clock: Arc::new(SystemClock),
    };
    let report = tokio::time::timeout(PATIENCE, run.execute(holder)).await;
    let report = report.expect("the run waits for the key service").unwrap();
    (plan, report)
}

#[tokio::test]
async fn no_other_step_waits_for_a_key_service() {
    let key = Arc::new(SlowKey::default());
    let desired = vec![
        wanted("keeper", &[], false),
        wanted("locked", &["keeper"], true),
        wanted("other", &["keeper"], false),
        wanted("last", &["other"], false),
    ];
    let made = Arc::new(Mutex::new(Vec::new()));
    let (answering, log): (Weak<SlowKey>, _) = (Arc::downgrade(&key), made.clone());
    let at = move |name: &str| {
        log.lock().unwrap().push(name.to_owned());
        // Only then does the key service answer.
        if name == "last" {
            answering.upgrade().unwrap().0.notify_one();
        }
    };
    let (_, report) = run(desired, key, StopSignal::default(), at).await;
    assert!(report.is_complete(), "{report:?}");
    assert_eq!(*made.lock().unwrap(), ["keeper", "other", "last", "locked"]);
}

#[tokio::test]
async fn no_signal_waits_for_a_key_service() {
    let desired = vec![
        wanted("keeper", &[], false),
        wanted("locked", &["keeper"], true),
        wanted("last", &["locked"], false),
    ];
    let stop = StopSignal::default();
    let raised = stop.clone();
    // Once the keeper is made, the key service is called, and does not answer.
    let at = move |_: &str| {
        let raised = raised.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(50)).await;
            raised.raise();
            raised.raise();
        });
    };
    let (plan, report) = run(desired, Arc::default(), stop, at).await;
    assert!(report.stopped && !report.is_complete(), "{report:?}");
    assert_eq!((plan.steps.len(), report.done, report.not_begun), (3, 1, 1), "{report:?}");
    assert_eq!(report.under_way, 1, "the step that waits for its secret is left");
}
