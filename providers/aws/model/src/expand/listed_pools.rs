//! The pools whose machines ask control planes for the credential of their node: the list of them, and the bootstrap documents that
//! the machines get with the credential. Control planes answer machines of these pools only.

use slipway_bootstrap::boot::{DOCUMENT, POOLS, document_name, role_key, template_key};
use slipway_cluster_input::{NodePool, Role};
use slipway_resource::{ProviderError, Value};

use super::build::{Builder, address, id_of};
use super::topology::names_machines;
use super::{compute, iam, refuse, user_data};
use crate::names;

/// The largest data of a ConfigMap, in bytes (<https://kubernetes.io/docs/concepts/configuration/configmap/>).
const LARGEST: usize = 1024 * 1024;

/// Whether the machines of a pool ask control planes for the credential of their node.
pub(super) fn has(builder: &Builder<'_>, pool: &NodePool) -> bool {
    pool.role == Role::Worker && names_machines(builder.cluster) && compute::is_group(builder, pool)
}

/// A ConfigMap in `kube-system`.
pub(super) struct ConfigMap {
    /// The name of its resource.
    pub name: String,
    /// The field that it comes from.
    pub field: String,
    /// The manifest.
    pub manifest: Value,
}

impl ConfigMap {
    fn new(name: &str, field: impl Into<String>, data: Vec<(String, Value)>) -> Self {
        let metadata = Value::map([("name", name), ("namespace", "kube-system")]);
        let manifest = Value::map([
            ("apiVersion", Value::from("v1")),
            ("kind", "ConfigMap".into()),
            ("metadata", metadata),
            ("data", Value::map(data)),
        ]);
        Self { name: format!("ConfigMap/kube-system/{name}"), field: field.into(), manifest }
    }
}

/// The list, and the documents. Nothing where no machine asks a control plane for a credential.
pub(super) fn objects(builder: &Builder<'_>) -> Result<Vec<ConfigMap>, ProviderError> {
    let cluster = builder.cluster;
    let pools: Vec<&NodePool> = cluster.pools.iter().filter(|pool| has(builder, pool)).collect();
    if pools.is_empty() {
        return Ok(Vec::new());
    }
    let mut list: Vec<(String, Value)> = Vec::new();
    let mut documents = Vec::new();
    for pool in pools {
        let template = id_of(&address("aws_launch_template", &names::group(pool, &cluster.name)));
        list.push((template_key(&pool.name), template));
        if let Some(role) = iam::pool_role(builder, pool) {
            list.push((role_key(&pool.name), role.into()));
        }
        let text = user_data::text_of_document(builder, pool)?;
        if text.len() > LARGEST {
            let message =
                format!("the bootstrap document has {} bytes and a ConfigMap takes {LARGEST}", text.len());
            let hint = "move files or hooks of the pool to the image";
            return Err(refuse(&format!("pools[{}].nodeFiles", pool.name), &message, hint));
        }
        let data = vec![(DOCUMENT.to_owned(), text.into())];
        documents.push(ConfigMap::new(
            &document_name(&pool.name),
            format!("pools[{}].name", pool.name),
            data,
        ));
    }
    let list = ConfigMap::new(POOLS, "assets.programs", list);
    Ok(std::iter::once(list).chain(documents).collect())
}
