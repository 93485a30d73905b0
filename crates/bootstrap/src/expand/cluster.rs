//! Additions to kubeadm's control plane: encryption at rest, narrow anonymous access, an audit log, admission, no
//! profiling, and a shutdown that does not wait for watches and that balancers notice before.

use slipway_cluster_input::Profile;
use slipway_resource::Value;

use super::inputs::Inputs;
use super::phased::{Resources, fingerprint_of};
use crate::admission;
use crate::api_access;
use crate::audit;
use crate::configuration::{Component, Configuration, HostPathMount, argument_value, set_missing};
use crate::hardened;
use crate::material::FINGERPRINT;

/// The folder of the API server's own files.
const FOLDER: &str = "/etc/kubernetes/apiserver";
const ENCRYPTION: &str = "/etc/kubernetes/apiserver/encryption.yaml";
const AUTHENTICATION: &str = "/etc/kubernetes/apiserver/authentication.yaml";
const AUDIT_POLICY: &str = "/etc/kubernetes/apiserver/audit-policy.yaml";
const ADMISSION: &str = "/etc/kubernetes/apiserver/admission.yaml";

/// Whether access without a name is narrowed: by default, unless the user has a say in it.
fn narrows_anonymous(configuration: &Configuration) -> bool {
    let arguments = &configuration.cluster.api_server.component.extra_args;
    configuration.profile.has_own_defaults()
        && argument_value(arguments, "authentication-config").is_none()
        && argument_value(arguments, "anonymous-auth").is_none()
}

/// Whether Slipway writes the configuration of admission plug-ins: if there is anything in it, unless the user has a file.
fn writes_admission(configuration: &Configuration, inputs: &Inputs) -> bool {
    let arguments = &configuration.cluster.api_server.component.extra_args;
    (inputs.pod_security.is_some() || configuration.profile == Profile::Hardened)
        && argument_value(arguments, "admission-control-config-file").is_none()
}

/// The flags of the API server that follow from the profile. Sets those of the other components.
fn by_profile(configuration: &mut Configuration, own_admission: bool) -> Vec<(&'static str, String)> {
    let mut flags = Vec::new();
    let cluster = &mut configuration.cluster;
    if configuration.profile.has_own_defaults() {
        flags.push(("kubelet-certificate-authority", format!("{}/ca.crt", cluster.certificates_dir)));
        // Else it waits for every open watch when it is to end, until the kubelet kills it after half a minute.
        flags.push(("shutdown-send-retry-after", "true".to_owned()));
        flags.push(("profiling", "false".to_owned()));
        for arguments in [&mut cluster.controller_manager.extra_args, &mut cluster.scheduler.extra_args] {
            set_missing(arguments, vec![("profiling", "false".to_owned())]);
        }
    }
    if configuration.profile == Profile::Hardened {
        hardened::restrict(cluster);
        flags.extend(hardened::api_server(own_admission));
    }
    flags
}

/// The configuration with the flags and volumes of the additions. Flags of the user take precedence.
pub(super) fn configured(configuration: &Configuration, inputs: &Inputs) -> Configuration {
    let mut configuration = configuration.clone();
    let own_admission = writes_admission(&configuration, inputs);
    let mut flags = by_profile(&mut configuration, own_admission);
    if configuration.cluster.api_balancer.is_some() {
        // Balancers notice that it is going to end while it still answers, and their clients move without a failed request.
        flags.push(("shutdown-delay-duration", "3s".to_owned()));
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
    if own_admission {
        flags.push(("admission-control-config-file", ADMISSION.to_owned()));
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
    set_missing(&mut component.extra_args, flags);
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
    let extra_args = &configuration.cluster.api_server.component.extra_args;
    if argument_value(extra_args, "authentication-config") == Some(AUTHENTICATION) {
        let open = match configuration.profile {
            Profile::Hardened => api_access::for_health_only(),
            _ => api_access::for_discovery_only(),
        };
        file("authentication-configuration", AUTHENTICATION, open.into());
    }
    let admission = argument_value(extra_args, "admission-control-config-file");
    if admission == Some(ADMISSION) {
        let limits_events = configuration.profile == Profile::Hardened;
        let text = admission::configuration(inputs.pod_security.as_ref(), limits_events);
        file("admission-configuration", ADMISSION, text.into());
    }
    if let Some(audit) = &inputs.audit {
        file("audit-policy", AUDIT_POLICY, audit.policy_text().into());
        // The logs in it are the node's own and go with it.
        let attributes =
            vec![("path", audit::FOLDER.into()), ("mode", "0700".into()), ("purge", true.into())];
        resources.add(phase, "directory", "audit-log", attributes, &[]);
    }
}
