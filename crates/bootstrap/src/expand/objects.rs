//! API objects of a new cluster.

use jiff::{SignedDuration, Timestamp};
use slipway_resource::{Address, Path, Secret, SecretText, TemplatePart, Value};

use super::inputs::{Inputs, Tokens};
use super::phased::{Resources, refer};
use super::{ExpandError, Facts};
use crate::addon;
use crate::configuration::{BootstrapTokenSettings, Configuration};
use crate::objects::{self, TokenObject};
use crate::patch::Patches;

const AUTHORITY: &str = "--placeholder-of-the-authority--";
const TOKENS: &str = "bootstrap-token";

/// The binding without which only `super-admin.conf` has any permission.
pub(super) fn administrators(resources: &mut Resources, api: &[&Address]) -> Address {
    resources.object("kubeconfig/admin", &objects::cluster_administrators(), api)
}

/// Settings that joining nodes read.
pub(super) fn settings(
    resources: &mut Resources,
    configuration: &Configuration,
    facts: &Facts,
    after: &[&Address],
) {
    for object in objects::cluster_settings(configuration) {
        resources.object("upload-config/kubeadm", &object, after);
    }
    for object in objects::kubelet_settings(configuration, facts) {
        resources.object("upload-config/kubelet", &object, after);
    }
}

/// Tokens, their permissions, and `cluster-info`. The signatures are not part of it: they depend on the
/// tokens, and the maker of a token or the controller manager writes them.
pub(super) fn tokens(
    resources: &mut Resources,
    configuration: &Configuration,
    inputs: &Inputs,
    after: &[&Address],
) -> Result<(), ExpandError> {
    for object in objects::node_readers().iter().chain(&objects::node_approval()) {
        resources.object(TOKENS, object, after);
    }
    for object in objects::cluster_info_roles() {
        resources.object(TOKENS, &object, after);
    }
    match &inputs.tokens {
        Some(tokens) => given_tokens(resources, tokens, configuration, inputs, after),
        None => own_tokens(resources, configuration, inputs, after)?,
    }
    if let Some(authority) = authority(resources, inputs) {
        let server = configuration.server_endpoint().url();
        let text = objects::cluster_info_kubeconfig(&server, AUTHORITY);
        let mut manifest = Value::from_json(&objects::cluster_info(String::new()));
        let path = Path::key("data").child("kubeconfig");
        manifest.set(&path, with_authority(&text, authority));
        let mut all: Vec<&Address> = after.to_vec();
        let before = inputs.tokens.as_ref().map(|tokens| tokens.after.clone()).unwrap_or_default();
        all.extend(&before);
        resources.manifest(TOKENS, manifest, Vec::new(), &all);
    }
    Ok(())
}

/// The CA in base64: the known text, or the output of the certificate's resource.
fn authority(resources: &Resources, inputs: &Inputs) -> Option<Value> {
    inputs.authority_base64.clone().or_else(|| {
        resources.find("certificate", "ca").map(|address| Value::reference(address, "certificate_base64"))
    })
}

fn with_authority(text: &str, authority: Value) -> Value {
    let (before, after) = text.split_once(AUTHORITY).unwrap_or((text, ""));
    match authority {
        Value::Reference(reference) => Value::Template(vec![
            TemplatePart::Text(before.to_owned()),
            TemplatePart::Reference(*reference),
            TemplatePart::Text(after.to_owned()),
        ]),
        known => Value::String(format!("{before}{}{after}", known.as_str().unwrap_or_default())),
    }
}

/// Tokens of the configuration.
fn own_tokens(
    resources: &mut Resources,
    configuration: &Configuration,
    inputs: &Inputs,
    after: &[&Address],
) -> Result<(), ExpandError> {
    for settings in &configuration.node.bootstrap_tokens {
        let secret = settings.token.as_ref().ok_or(ExpandError::Token)?;
        let text = secret.text.as_ref().ok_or(ExpandError::Token)?;
        let (id, part) = text.expose().split_once('.').ok_or(ExpandError::Token)?;
        let part =
            Value::from(Secret { text: Some(SecretText::new(part)), ..Secret::new(format!("token:{id}")) });
        let object = token(id, part, settings, inputs.now);
        resources.manifest(TOKENS, object, Vec::new(), after);
    }
    Ok(())
}

/// Tokens that other resources keep, with the settings of the configuration's first token.
fn given_tokens(
    resources: &mut Resources,
    tokens: &Tokens,
    configuration: &Configuration,
    inputs: &Inputs,
    after: &[&Address],
) {
    let settings = configuration.node.bootstrap_tokens.first().cloned().unwrap_or_default();
    for (id, part) in &tokens.tokens {
        let object = token(id, part.clone(), &settings, inputs.now);
        let mut all: Vec<&Address> = after.to_vec();
        all.extend(refer(&tokens.after));
        resources.manifest(TOKENS, object, Vec::new(), &all);
    }
}

fn token(id: &str, secret: Value, settings: &BootstrapTokenSettings, now: Option<Timestamp>) -> Value {
    let lasting = SignedDuration::try_from(settings.ttl.get()).ok().filter(|ttl| !ttl.is_zero());
    let expiration = settings.expires.or_else(|| now?.checked_add(lasting?).ok());
    objects::bootstrap_token(&TokenObject {
        id,
        secret,
        description: &settings.description,
        expiration,
        usages: &settings.usages,
        groups: &settings.groups,
    })
}

/// CoreDNS, kube-proxy, and the network of pods.
pub(super) fn addons(
    resources: &mut Resources,
    configuration: &Configuration,
    facts: &Facts,
    inputs: &Inputs,
    patches: &Patches,
    after: &[&Address],
) -> Result<(), ExpandError> {
    let cluster = &configuration.cluster;
    if !cluster.dns.disabled {
        for object in addon::core_dns(configuration, patches)? {
            place(resources, "addon/coredns", &object, after);
        }
    }
    if !cluster.proxy.disabled {
        for object in addon::kube_proxy(configuration, facts) {
            place(resources, "addon/kube-proxy", &object, after);
        }
    }
    if let Some(settings) = &inputs.flannel {
        let mut namespace: Option<Address> = None;
        for object in addon::flannel::flannel(settings, &cluster.networking.pod_subnets()) {
            let mut all: Vec<&Address> = after.to_vec();
            all.extend(&namespace);
            let address = place(resources, "addon/flannel", &object, &all);
            namespace = namespace.or(Some(address));
        }
    }
    Ok(())
}

/// An object of an add-on. `validate` checks whether its pods run: they need nodes, which may join later.
fn place(
    resources: &mut Resources,
    phase: &'static str,
    object: &serde_json::Value,
    after: &[&Address],
) -> Address {
    let waits = matches!(object["kind"].as_str(), Some("Deployment" | "DaemonSet"));
    let further = if waits { vec![("wait", "none".into())] } else { Vec::new() };
    resources.manifest(phase, Value::from_json(object), further, after)
}
