//! Additions to kubeadm's API server: encryption at rest, anonymous access for discovery only, an audit log,
//! and a shutdown that does not wait for watches.

use slipway_cluster_input::Profile;
use slipway_resource::Value;

use super::inputs::Inputs;
use super::phased::{Resources, fingerprint_of};
use crate::api_access;
use crate::audit;
use crate::configuration::{Argument, Component, Configuration, HostPathMount, argument_value};
use crate::material::FINGERPRINT;

/// The folder of the API server's own files.
const FOLDER: &str = "/etc/kubernetes/apiserver";
const ENCRYPTION: &str = "/etc/kubernetes/apiserver/encryption.yaml";
const AUTHENTICATION: &str = "/etc/kubernetes/apiserver/authentication.yaml";
const AUDIT_POLICY: &str = "/etc/kubernetes/apiserver/audit-policy.yaml";

/// Whether access without a name is narrowed: by default, unless the user has a say in it.
fn narrows_anonymous(configuration: &Configuration) -> bool {
    let arguments = &configuration.cluster.api_server.component.extra_args;
    configuration.profile == Profile::Slipway
        && argument_value(arguments, "authentication-config").is_none()
        && argument_value(arguments, "anonymous-auth").is_none()
}

/// The configuration with the flags and volumes of the additions. Flags of the user take precedence.
pub(super) fn configured(configuration: &Configuration, inputs: &Inputs) -> Configuration {
    let mut configuration = configuration.clone();
    let mut flags: Vec<(&str, String)> = Vec::new();
    if configuration.profile == Profile::Slipway {
        let ca = format!("{}/ca.crt", configuration.cluster.certificates_dir);
        flags.push(("kubelet-certificate-authority", ca));
        // Else it waits for every open watch when it is to end, until the kubelet kills it after half a minute.
        flags.push(("shutdown-send-retry-after", "true".to_owned()));
    }
    let mut files = false;
    if inputs.encryption.is_some() {
        flags.push(("encryption-provider-config", ENCRYPTION.to_owned()));
        flags.push(("encryption-provider-config-automatic-reload", "true".to_owned()));
        files = true;
    }
    if narrows_anonymous(&configuration) {
        flags.push(("authentication-config", AUTHENTICATION.to_owned()));
        files = true;
    }
    if let Some(audit) = &inputs.audit {
        flags.push(("audit-policy-file", AUDIT_POLICY.to_owned()));
        flags.push(("audit-log-path", format!("{}/audit.log", audit::FOLDER)));
        flags.push(("audit-log-maxage", audit.max_age_days.to_string()));
        flags.push(("audit-log-maxbackup", audit.max_backups.to_string()));
        flags.push(("audit-log-maxsize", audit.max_size_mebibytes.to_string()));
        files = true;
    }
    let component = &mut configuration.cluster.api_server.component;
    for (name, value) in flags {
        if argument_value(&component.extra_args, name).is_none() {
            component.extra_args.push(Argument::new(name, value));
        }
    }
    if files {
        mount(component, "apiserver-files", FOLDER, true);
    }
    if inputs.audit.is_some() {
        mount(component, "audit-log", audit::FOLDER, false);
    }
    configuration
}

fn mount(component: &mut Component, name: &str, path: &str, read_only: bool) {
    if component.extra_volumes.iter().all(|volume| volume.name != name) {
        component.extra_volumes.push(HostPathMount {
            name: name.to_owned(),
            host_path: path.to_owned(),
            mount_path: path.to_owned(),
            read_only,
            path_type: "DirectoryOrCreate".to_owned(),
        });
    }
}

/// The files of what is added, in the phase of the API server.
pub(super) fn add(
    resources: &mut Resources,
    phase: &'static str,
    configuration: &Configuration,
    inputs: &Inputs,
) {
    let mut file = |name: &str, path: &str, content: Value| {
        let fingerprint = fingerprint_of(&content);
        let attributes = vec![
            ("path", path.into()),
            ("content", content),
            (FINGERPRINT, fingerprint),
            ("mode", "0600".into()),
        ];
        resources.add(phase, "file", name, attributes, &[]);
    };
    if let Some(encryption) = &inputs.encryption {
        file("encryption-configuration", ENCRYPTION, encryption.clone());
    }
    if argument_value(&configuration.cluster.api_server.component.extra_args, "authentication-config")
        == Some(AUTHENTICATION)
    {
        file("authentication-configuration", AUTHENTICATION, api_access::for_discovery_only().into());
    }
    if let Some(audit) = &inputs.audit {
        file("audit-policy", AUDIT_POLICY, audit.policy_text().into());
        // The logs in it are the node's own and go with it.
        let attributes =
            vec![("path", audit::FOLDER.into()), ("mode", "0700".into()), ("purge", true.into())];
        resources.add(phase, "directory", "audit-log", attributes, &[]);
    }
}
