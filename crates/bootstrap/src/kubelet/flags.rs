use std::fmt::Write as _;

use super::configuration::local_socket;
use crate::configuration::{Argument, Configuration, argument_value};
use crate::expand::Facts;
use crate::static_pod::command_line;
use crate::version::Images;

/// The kubelet's flags that depend on the node. Workers register with their taints; control planes get theirs when they
/// are marked.
#[must_use]
pub fn arguments(configuration: &Configuration, facts: &Facts) -> Vec<String> {
    let node = &configuration.node;
    let mut flags =
        vec![Argument::new("pod-infra-container-image", Images::of(&configuration.cluster).pause)];
    if let Some(socket) = node.cri_socket.as_ref().filter(|_| !local_socket(configuration)) {
        flags.push(Argument::new("container-runtime-endpoint", socket.clone()));
    }
    let taints: Vec<String> = node.taints.iter().flatten().map(ToString::to_string).collect();
    if !configuration.is_control_plane() && !taints.is_empty() {
        flags.push(Argument::new("register-with-taints", taints.join(",")));
    }
    let name = argument_value(&node.kubelet_extra_args, "hostname-override").unwrap_or(&node.name);
    if name != facts.hostname {
        flags.push(Argument::new("hostname-override", name));
    }
    command_line(flags, &node.kubelet_extra_args)
}

/// The text of `/var/lib/kubelet/kubeadm-flags.env`.
#[must_use]
pub fn flags_file(configuration: &Configuration, facts: &Facts) -> String {
    format!("KUBELET_KUBEADM_ARGS={}\n", quoted(&arguments(configuration, facts).join(" ")))
}

/// A text in double quotes, as Go quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(character);
            }
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\u{b}' => quoted.push_str("\\v"),
            '\0'..='\u{1f}' | '\u{7f}' => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(character));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
