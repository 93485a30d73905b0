//! Watches of the objects in Kubernetes that sources name: a change lets the source be read now.
//!
//! A watch gives a hint, as a webhook does. What is read comes from the next read of the source. While an object cannot be watched, its
//! source is read every interval.

use std::path::PathBuf;
use std::pin::pin;

use futures_util::StreamExt as _;
use futures_util::future::join_all;
use serde_json::{Value as Json, json};
use slipway_controller::connect;
use slipway_controller::kube::Client;
use slipway_controller::kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind};
use slipway_controller::runtime::watcher::watch_object;
use slipway_limits::size;
use slipway_resource::with_causes;
use tokio::time::sleep;

use crate::configuration::{Configuration, FluxSettings, ObjectSettings, Retry, Source};
use crate::controller::Handle;
use crate::objects;

/// After how many failures in a row a watch is reported. A server that ends one is no news.
const TOLD: u32 = 2;

/// An object that a source names.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The name of the source.
    source: String,
    kubeconfig: Option<PathBuf>,
    resource: ApiResource,
    namespace: String,
    name: String,
    /// Whether the conditions of the object decide what is read. Those of a `Source` are written after each read.
    has_conditions: bool,
}

/// The objects that the sources of a configuration name.
pub(crate) fn targets(configuration: &Configuration) -> Vec<Target> {
    let of_flux = |source: &Source| source.flux.as_ref().map(|flux| Target::of_flux(&source.name, flux));
    let of_object = |source: &Source| source.object.as_ref().map(|object| Target::of(&source.name, object));
    let sources = configuration.sources.iter();
    sources.filter_map(|source| of_flux(source).or_else(|| of_object(source))).collect()
}

/// Watches objects, and lets their sources be read when they change. It never ends.
pub(crate) async fn follow(targets: &[Target], handle: &Handle, retry: Retry) {
    join_all(targets.iter().map(|target| target.follow(handle, retry))).await;
}

impl Target {
    fn of_flux(source: &str, flux: &FluxSettings) -> Self {
        let kind = GroupVersionKind::gvk("source.toolkit.fluxcd.io", "v1", flux.kind.word());
        Self {
            source: source.to_owned(),
            kubeconfig: flux.kubeconfig.clone(),
            resource: ApiResource::from_gvk_with_plural(&kind, flux.kind.plural()),
            namespace: flux.namespace.clone(),
            name: flux.name.clone(),
            has_conditions: true,
        }
    }

    fn of(source: &str, object: &ObjectSettings) -> Self {
        Self {
            source: source.to_owned(),
            kubeconfig: object.kubeconfig.clone(),
            resource: ApiResource::erase::<objects::Source>(&()),
            namespace: object.namespace.clone(),
            name: object.name.clone(),
            has_conditions: false,
        }
    }

    async fn follow(&self, handle: &Handle, retry: Retry) {
        let mut failures = 0;
        let mut seen = None;
        loop {
            let error = match connect(self.kubeconfig.as_deref()).await {
                Ok(client) => self.changes(client, handle, (&mut seen, &mut failures)).await,
                Err(error) => with_causes(&error),
            };
            failures += 1;
            if failures == TOLD {
                // A text of the cluster may be of any length, and may contain control characters.
                let error = slipway_limits::text::shorten(&error, size::MESSAGE);
                let error = slipway_limits::text::visible(&error);
                let source = self.source.as_str();
                tracing::warn!(
                    source,
                    %error,
                    "the object of the source cannot be watched, so the source is read at its interval"
                );
            }
            sleep(retry.wait(failures, &self.source)).await;
        }
    }

    /// Follows the changes of the object until the watch fails. Returns why.
    async fn changes(
        &self,
        client: Client,
        handle: &Handle,
        (seen, failures): (&mut Option<Json>, &mut u32),
    ) -> String {
        let api: Api<DynamicObject> = Api::namespaced_with(client, &self.namespace, &self.resource);
        let mut objects = pin!(watch_object(api, &self.name));
        while let Some(object) = objects.next().await {
            let object = match object {
                Ok(object) => object,
                Err(error) => return with_causes(&error),
            };
            if *failures >= TOLD {
                tracing::info!(source = self.source, "the object of the source is watched again");
            }
            *failures = 0;
            // The first look counts too: the source may have been read before the object changed.
            let now = self.what_counts(object.as_ref());
            if seen.as_ref() != Some(&now) {
                *seen = Some(now);
                handle.changed(self.source.as_str());
            }
        }
        "the watch has ended".to_owned()
    }

    /// What of the object decides what is read from its source.
    fn what_counts(&self, object: Option<&DynamicObject>) -> Json {
        let Some(DynamicObject { metadata, data, .. }) = object else { return Json::Null };
        let conditions = if self.has_conditions { &data["status"]["conditions"] } else { &Json::Null };
        json!([metadata.uid, data["spec"], data["status"]["artifact"], conditions])
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const TEXT: &str = "data = 'd'
kubernetes = { namespace = 'slipway', kubeconfig = 'other.conf' }
[[source]]
name = 'local'
folder = 'f'
[[source]]
name = 'fleet'
flux = { kind = 'OCIRepository', namespace = 'flux-system', name = 'all' }
[[source]]
name = 'team'
object = { namespace = 'team-a', name = 'own', urls = ['https://git.example.com/team-a/*'] }
";

    fn object(spec: u32, artifact: &str, ready: &str) -> DynamicObject {
        serde_json::from_value(json!({
            "metadata": {"name": "a", "uid": "1"},
            "spec": {"number": spec},
            "status": {"artifact": {"digest": artifact}, "conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    #[test]
    fn objects_that_sources_name_are_watched() {
        let read = Configuration::parse(TEXT, Path::new("c.toml"), Path::new("/etc")).unwrap();
        let targets = targets(&read);
        let shown: Vec<_> = targets
            .iter()
            .map(|target| {
                let resource = &target.resource;
                (target.source.as_str(), resource.plural.as_str(), resource.api_version.as_str())
            })
            .collect();
        let expected = [
            ("fleet", "ocirepositories", "source.toolkit.fluxcd.io/v1"),
            ("team", "sources", "gitops.slipway.dev/v1alpha1"),
        ];
        assert_eq!(shown, expected);
        assert_eq!(targets[0].kubeconfig, None);
        assert_eq!(targets[1].kubeconfig.as_deref(), Some(Path::new("/etc/other.conf")));
    }

    #[test]
    fn only_what_decides_what_is_read_counts() {
        let read = Configuration::parse(TEXT, Path::new("c.toml"), Path::new("/etc")).unwrap();
        let all = targets(&read);
        let [fleet, team] = &all[..] else { panic!("there are two") };
        let first = object(1, "x", "True");
        for (other, of_fleet, of_team) in [
            (object(1, "x", "True"), false, false),
            (object(2, "x", "True"), true, true),
            (object(1, "y", "True"), true, true),
            // A Source has the conditions that the controller has written.
            (object(1, "x", "False"), true, false),
        ] {
            let differs =
                |target: &Target| target.what_counts(Some(&first)) != target.what_counts(Some(&other));
            assert_eq!((differs(fleet), differs(team)), (of_fleet, of_team), "{other:?}");
        }
        assert_ne!(team.what_counts(Some(&first)), team.what_counts(None));
    }
}
