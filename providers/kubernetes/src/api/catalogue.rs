//! Which resources the API serves, and under which paths.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;
use slipway_resource::ProviderError;

use super::{Connection, Request, escaped};
use crate::object::{GroupKind, text};

/// The aggregated form of discovery: all groups, versions and resources in two answers.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// One resource of the API in one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    /// Its version within the group, as `v1`.
    pub version: String,
    /// Its name in paths, as `deployments`.
    pub plural: String,
    /// Whether its objects have a namespace.
    pub namespaced: bool,
}

/// All resources that can be listed and changed, by kind, the preferred version first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    kinds: BTreeMap<GroupKind, Vec<Resource>>,
    /// Groups whose aggregated API server does not answer.
    stale: BTreeSet<String>,
}

impl Catalogue {
    /// Asks the server: two requests.
    ///
    /// # Errors
    /// As the server says.
    pub(crate) async fn read(connection: &Connection) -> Result<Self, ProviderError> {
        let core = Request::list("/api").accept(AGGREGATED);
        let groups = Request::list("/apis").accept(AGGREGATED);
        let (core, groups) = futures_util::join!(connection.ask(&core), connection.ask(&groups));
        let mut catalogue = Self::default();
        catalogue.add(&core?.body()?);
        catalogue.add(&groups?.body()?);
        Ok(catalogue)
    }

    fn add(&mut self, document: &Json) {
        for group in list(document, "items") {
            let name = text(group, "/metadata/name").unwrap_or_default();
            for version in list(group, "versions") {
                if version.get("freshness").and_then(Json::as_str) == Some("Stale") {
                    self.stale.insert(name.to_owned());
                }
                let served = version.get("version").and_then(Json::as_str).unwrap_or_default();
                for resource in list(version, "resources") {
                    self.add_resource(name, served, resource);
                }
            }
        }
    }

    fn add_resource(&mut self, group: &str, version: &str, resource: &Json) {
        let verbs: Vec<&str> = list(resource, "verbs").filter_map(Json::as_str).collect();
        let Some(kind) = text(resource, "/responseKind/kind") else { return };
        let Some(plural) = text(resource, "/resource") else { return };
        // Resources that cannot be patched and listed, such as SubjectAccessReviews, cannot be managed.
        if !["get", "list", "patch"].iter().all(|verb| verbs.contains(verb)) {
            return;
        }
        let resource = Resource {
            version: version.to_owned(),
            plural: plural.to_owned(),
            namespaced: text(resource, "/scope") == Some("Namespaced"),
        };
        self.kinds.entry(GroupKind::new(group, kind)).or_default().push(resource);
    }

    /// Whether the server of a group does not answer, so that its resources are not known.
    pub(crate) fn is_stale(&self, group: &str) -> bool {
        self.stale.contains(group)
    }

    /// A kind in a version; without a version, in the preferred one.
    pub(crate) fn resource(&self, kind: &GroupKind, version: Option<&str>) -> Option<&Resource> {
        let versions = self.kinds.get(kind)?;
        match version {
            Some(version) => versions.iter().find(|resource| resource.version == version),
            None => versions.first(),
        }
    }
}

impl Resource {
    /// The path of all objects of a kind, or of those in one namespace.
    pub(crate) fn collection(&self, kind: &GroupKind, namespace: &str) -> String {
        let root = if kind.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", kind.group, self.version)
        };
        if self.namespaced && !namespace.is_empty() {
            format!("{root}/namespaces/{namespace}/{}", self.plural)
        } else {
            format!("{root}/{}", self.plural)
        }
    }

    /// The path of one object.
    pub(crate) fn object(&self, kind: &GroupKind, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.collection(kind, namespace), escaped(name))
    }

    /// As `apps/v1`.
    pub(crate) fn api_version(&self, kind: &GroupKind) -> String {
        if kind.group.is_empty() { self.version.clone() } else { format!("{}/{}", kind.group, self.version) }
    }
}

fn list<'a>(json: &'a Json, name: &str) -> impl Iterator<Item = &'a Json> {
    json.get(name).and_then(Json::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_preferred_version_comes_first_and_paths_follow_from_it() {
        let resource = |verbs: &[&str]| {
            json!({"resource": "horizontalpodautoscalers", "scope": "Namespaced", "verbs": verbs,
            "responseKind": {"kind": "HorizontalPodAutoscaler"}})
        };
        let all = ["get", "list", "patch"];
        let mut catalogue = Catalogue::default();
        catalogue.add(&json!({"items": [{"metadata": {"name": "autoscaling"}, "versions": [
            {"version": "v2", "resources": [resource(&all)]}, {"version": "v1", "resources": [resource(&all)]}]}]}));
        catalogue.add(&json!({"items": [{"metadata": {}, "versions": [{"version": "v1", "resources": [
            {"resource": "nodes", "scope": "Cluster", "verbs": all, "responseKind": {"kind": "Node"}},
            {"resource": "bindings", "scope": "Namespaced", "verbs": ["create"], "responseKind": {"kind": "Binding"}}]}]}]}));
        let kind = GroupKind::new("autoscaling", "HorizontalPodAutoscaler");
        let preferred = catalogue.resource(&kind, None).unwrap();
        assert_eq!(
            preferred.object(&kind, "default", "a:b"),
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/a%3Ab"
        );
        assert_eq!(catalogue.resource(&kind, Some("v1")).unwrap().api_version(&kind), "autoscaling/v1");
        let node = GroupKind::new("", "Node");
        assert_eq!(catalogue.resource(&node, None).unwrap().collection(&node, ""), "/api/v1/nodes");
        assert!(catalogue.resource(&GroupKind::new("", "Binding"), None).is_none());
    }
}
