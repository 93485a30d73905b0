use std::collections::BTreeMap;

use slipway_spec::{diagnostic::code, model::Subnet};

use super::Context;
use crate::{code as kops_code, field::Field, outcome::Outcome, values};

/// The label by which instance groups and keys belong to a cluster.
pub(crate) const CLUSTER_LABEL: &str = "kops.k8s.io/cluster";

/// The clouds of kOps for which Slipway has no provider, with their names in messages.
const WITHOUT_PROVIDER: [(&str, &str); 7] = [
    ("azure", "Azure"),
    ("digitalocean", "DigitalOcean"),
    ("gce", "Google Cloud"),
    ("hetzner", "Hetzner Cloud"),
    ("linode", "Linode"),
    ("openstack", "OpenStack"),
    ("scaleway", "Scaleway"),
];

/// The cluster's name and its provider's; says which is missing, and for which clouds there is none.
pub(super) fn read(root: &Field<'_>, outcome: &mut Outcome) -> Option<(String, String)> {
    let name = root.at("metadata.name");
    outcome.wrote("name", &name);
    let provider = root.at("spec.cloudProvider");
    outcome.wrote("provider.name", &provider);
    let text = name.filled();
    if text.is_none() {
        let missing = name.error(code::MISSING_FIELD, "a Cluster has no metadata.name");
        outcome.say(missing.hint("write its DNS name, as in name: production.example.com"));
    }
    let provider_name = provider.filled();
    if provider_name.is_none() {
        let missing = provider.error(
            code::MISSING_FIELD,
            format!("the cluster {} has no cloudProvider", text.as_deref().unwrap_or("without a name")),
        );
        outcome.say(missing.hint("write where it lives, as in cloudProvider: aws"));
    }
    let is_its_name = |(name, _): &&(&str, &str)| provider_name.as_deref() == Some(*name);
    if let Some((name, cloud)) = WITHOUT_PROVIDER.iter().find(is_its_name) {
        let text = format!("Slipway has no provider for {cloud}");
        let hint = format!(
            "a plan needs a provider `{name}` of somebody else; Slipway itself creates clusters on AWS and on existing machines"
        );
        outcome.say(provider.warning(kops_code::NO_PROVIDER, text).hint(hint));
    }
    Some((text?, provider_name?))
}

/// The labels of a document, without the one that only says to which cluster it belongs.
pub(super) fn labels(root: &Field<'_>, outcome: &mut Outcome) -> BTreeMap<String, String> {
    let field = root.at("metadata.labels");
    outcome.wrote("labels", &field);
    own_labels(&field)
}

/// The labels of a mapping, without the one that only says to which cluster the document belongs.
pub(super) fn own_labels(field: &Field<'_>) -> BTreeMap<String, String> {
    let mut labels = field.text_map();
    labels.remove(CLUSTER_LABEL);
    labels
}

/// The provider's region: that of a subnet, and on AWS its zone without the last letter.
pub(super) fn region(context: &Context<'_>, subnets: &[Subnet]) -> Option<String> {
    let fields = context.spec.at("subnets").items();
    if let Some(region) = fields.iter().find_map(|subnet| subnet.at("region").filled()) {
        return Some(region);
    }
    if !context.is_aws() {
        return None;
    }
    subnets
        .iter()
        .find_map(|subnet| subnet.zone.strip_suffix(|letter: char| letter.is_ascii_lowercase()))
        .map(str::to_owned)
}

/// Kernel parameters from texts such as `net.core.somaxconn=1024`.
pub(super) fn sysctls(field: &Field<'_>, outcome: &mut Outcome) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for item in field.items() {
        let Some(text) = item.text() else { continue };
        let bare = text.trim();
        if bare.is_empty() || bare.starts_with('#') {
            continue;
        }
        match values::pair(bare, '=') {
            Some((name, value)) => {
                found.insert(name, value);
            }
            None => outcome.say(item.malformed(
                &text,
                "is not a kernel parameter",
                "write a name and a value, as in net.core.somaxconn=1024",
            )),
        }
    }
    found
}
