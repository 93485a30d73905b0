//! An API that is slow, busy, or away for a moment.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use slipway_plan::ChangeAction;
use slipway_provider_kubernetes::{Access, FileAccess, Kubernetes, SecretKubeconfig};
use slipway_resource::provider::SessionRequest;
use slipway_resource::{Address, Desired, Identity, Provider as _, ProviderError, Value};
use slipway_testkit::process::Process;
use slipway_testkit::proxy::{Proxy, Request, Verdict};
use slipway_testkit::{port, wait};

use crate::lab::{Api, Lab, object};

/// A way to the API past a proxy that spoils some requests; the proxies live as long as this.
struct Way {
    _proxy: Proxy,
    _kubectl: Process,
    folder: tempfile::TempDir,
}

impl Way {
    fn to(api: &Api, judge: impl Fn(&mut Request) -> Verdict + Send + Sync + 'static) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let [port] = port::free()?;
        let mut command = Command::new(slipway_testkit::kubernetes::install()?.join("kubectl"));
        command.arg("--kubeconfig").arg(api.kubeconfig()).args(["proxy", &format!("--port={port}")]);
        let kubectl = Process::start(&command, &folder.path().join("log"))?;
        wait::until("kubectl proxy listens", || Ok(port::listens(port).then_some(())))?;
        let proxy = Proxy::start(port, judge)?;
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
            "clusters": [{"name": "a", "cluster": {"server": proxy.endpoint()}}],
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}], "users": [{"name": "a", "user": {}}]});
        std::fs::write(folder.path().join("config"), config.to_string())?;
        Ok(Self { _proxy: proxy, _kubectl: kubectl, folder })
    }

    fn lab(&self, cluster: &str) -> Lab {
        Lab::by(cluster, self.folder.path().join("config"))
    }
}

fn config(name: &str) -> Desired {
    object(
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"x": "1"}}),
    )
}

fn is_apply(request: &Request) -> bool {
    request.method == "PATCH" && !request.target.contains("dryRun")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_for_a_moment_is_sent_again_and_what_is_lost_is_looked_for() -> Result<()> {
    let api = Api::start(false)?;
    let busy = || Verdict::Answer {
        status: 429,
        headers: vec![("Retry-After".to_owned(), "1".to_owned())],
        body: Vec::new(),
    };
    for (name, verdict) in [
        ("busy", busy as fn() -> Verdict),
        ("away", || Verdict::status(503)),
        ("failing-after", || Verdict::AnswerAfter(500)),
        ("lost-before", || Verdict::DropBefore),
        ("lost-after", || Verdict::DropAfter),
        // Long enough for the API to be taken for silent.
        ("silent-before", || Verdict::Silence(Duration::from_secs(3))),
        ("silent-after", || Verdict::SilenceAfter(Duration::from_secs(3))),
    ] {
        let count = Arc::new(AtomicUsize::new(0));
        let seen = count.clone();
        let way = Way::to(&api, move |request| {
            let first = is_apply(request) && seen.fetch_add(1, Ordering::SeqCst) == 0;
            if first { verdict() } else { Verdict::Pass }
        })?;
        let lab = way.lab(name);
        let plan = lab.apply(&[config(name)]).await?;
        assert_eq!(plan.changes[0].action, ChangeAction::Create);
        let live = api.get(&["configmap", name])?;
        assert_eq!(live["data"]["x"], "1", "{name}");
        // An object whose create answer was lost was still created here.
        assert!(live["metadata"]["annotations"].get("slipway.dev/found").is_none(), "{name}: {live}");
        assert!(count.load(Ordering::SeqCst) >= 1, "{name}");
        lab.apply(&[]).await?;
        assert!(api.get(&["configmap", name]).is_err(), "{name}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_not_taken_for_absent() -> Result<()> {
    let api = Api::start(false)?;
    let is_away = Arc::new(AtomicUsize::new(0));
    let away = is_away.clone();
    let way =
        Way::to(
            &api,
            move |_| if away.load(Ordering::SeqCst) > 0 { Verdict::status(503) } else { Verdict::Pass },
        )?;
    let lab = way.lab("demo");
    lab.apply(&[config("a")]).await?;
    is_away.store(1, Ordering::SeqCst);
    let plan = lab.plan(&[config("a")]).await?;
    assert_eq!(plan.changes[0].action, ChangeAction::Deferred);
    assert!(plan.steps.is_empty());
    is_away.store(0, Ordering::SeqCst);
    assert!(lab.plan(&[config("a")]).await?.changes.is_empty());
    Ok(())
}

/// A way that changes: the first leads nowhere any more.
struct Moving {
    files: [std::path::PathBuf; 2],
    asked: Arc<AtomicUsize>,
}

#[async_trait::async_trait]
impl Access for Moving {
    async fn kubeconfig(&self) -> Result<Option<SecretKubeconfig>, ProviderError> {
        let place = self.asked.fetch_add(1, Ordering::SeqCst).min(1);
        FileAccess::of_caller(self.files[place].clone()).kubeconfig().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_way_is_asked_for_again_when_it_fails_and_not_before() -> Result<()> {
    let api = Api::start(false)?;
    let is_away = Arc::new(AtomicUsize::new(0));
    let away = is_away.clone();
    let way =
        Way::to(
            &api,
            move |_| if away.load(Ordering::SeqCst) > 0 { Verdict::DropBefore } else { Verdict::Pass },
        )?;
    let asked = Arc::new(AtomicUsize::new(0));
    let files = [way.folder.path().join("config"), api.kubeconfig()];
    let provider = Kubernetes::new(Arc::new(Moving { files, asked: asked.clone() }));
    let request = SessionRequest { config: Value::Null, region: None, offline: false };
    let session = provider.open_session(request).await?;
    let identity = Identity::new("Namespace//default");
    let address = Address::new("kubernetes_object", "Namespace//default");
    let read = || session.import(&address, &identity);
    read().await?;
    read().await?;
    assert_eq!(asked.load(Ordering::SeqCst), 1, "a way that leads somewhere is kept");
    is_away.store(1, Ordering::SeqCst);
    assert!(read().await.is_err());
    read().await?;
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    Ok(())
}
