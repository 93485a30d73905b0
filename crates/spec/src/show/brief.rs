//! Clusters as documents with as few fields as possible.

use super::{Error, Printer, documents, reduced};
use crate::{model::Cluster, source::FieldSources, v1alpha1};

/// A cluster as documents of the newest version, with only the fields that it needs. Loading the text gives
/// the same cluster again, whatever its format was.
///
/// `remark` follows the values that the documents do not set: the defaults of another format. With `names_cluster`, pools name
/// their cluster, as they must beside the documents of other clusters.
///
/// # Errors
/// A value that YAML cannot express, which the model has not.
pub fn brief_yaml(
    cluster: &Cluster,
    sources: &FieldSources,
    remark: &'static str,
    names_cluster: bool,
) -> Result<String, Error> {
    let mut full = v1alpha1::full_documents(cluster)?;
    reduced::reduce_all(&mut full, cluster, &|_, place| !(names_cluster && is_cluster_of_pool(place)));
    let mut text = String::new();
    documents(cluster, &full, &mut Printer { sources, remark, text: &mut text })?;
    Ok(text)
}

fn is_cluster_of_pool(place: &[String]) -> bool {
    matches!(place, [part, name] if part == "spec" && name == "cluster")
}
