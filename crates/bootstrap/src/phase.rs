//! The tree of phases: kubeadm's names, so that habits and scripts keep working, and a few of our own.

mod tree;

use slipway_spec::diagnostic::closest;

/// A phase, and the phases that it consists of.
#[derive(Debug, PartialEq, Eq)]
pub struct Phase {
    /// Its name within its parent.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Its effect, in a few words.
    pub description: &'static str,
    /// Whether help leaves it out.
    pub hidden: bool,
    /// Its parts.
    pub parts: &'static [Phase],
}

/// The commands of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Begin a cluster.
    Init,
    /// Join one.
    Join,
    /// Leave it.
    Reset,
}

/// The phases of a command, in their order.
#[must_use]
pub const fn tree(command: Command) -> &'static [Phase] {
    match command {
        Command::Init => tree::INIT,
        Command::Join => tree::JOIN,
        Command::Reset => tree::RESET,
    }
}

/// The path of a phase by its names or aliases, parts separated by `/` or a space; `all` means every part.
/// `None` for a phase that the command does not have.
#[must_use]
pub fn resolve(command: Command, text: &str) -> Option<String> {
    let mut phases = tree(command);
    let mut path: Vec<&str> = Vec::new();
    for part in text.split(['/', ' ']).filter(|part| !part.is_empty()) {
        if part == "all" && !path.is_empty() && !phases.is_empty() {
            continue;
        }
        let found = phases.iter().find(|phase| phase.name == part || phase.aliases.contains(&part))?;
        path.push(found.name);
        phases = found.parts;
    }
    (!path.is_empty()).then(|| path.join("/"))
}

/// Every phase of a command that has no parts, as paths, in order.
#[must_use]
pub fn leaves(command: Command) -> Vec<String> {
    let all = paths(command).into_iter();
    all.filter(|(_, phase)| phase.parts.is_empty()).map(|(path, _)| path).collect()
}

/// Every phase of a command with its path, before its parts.
fn paths(command: Command) -> Vec<(String, &'static Phase)> {
    fn collect(phases: &'static [Phase], before: &str, into: &mut Vec<(String, &'static Phase)>) {
        for phase in phases {
            let path =
                if before.is_empty() { phase.name.to_owned() } else { format!("{before}/{}", phase.name) };
            into.push((path.clone(), phase));
            collect(phase.parts, &path, into);
        }
    }
    let mut paths = Vec::new();
    collect(tree(command), "", &mut paths);
    paths
}

/// The path of the phase that was probably meant by a text that names none: one that is written alike, or the part of a
/// phase without that phase.
#[must_use]
pub fn meant(command: Command, text: &str) -> Option<String> {
    let text = text.split(['/', ' ']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let paths = paths(command);
    let part = paths.iter().find(|(_, phase)| phase.name == text).map(|(path, _)| path.as_str());
    part.or_else(|| closest(&text, paths.iter().map(|(path, _)| path.as_str()))).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_lead_to_the_same_phase() {
        for (text, path) in [
            ("certs/apiserver", Some("certs/apiserver")),
            ("certs all", Some("certs")),
            ("uploadconfig/kubelet", Some("upload-config/kubelet")),
            ("bootstraptoken", Some("bootstrap-token")),
            ("all", None),
            ("", None),
            ("certs/nothing", None),
        ] {
            assert_eq!(resolve(Command::Init, text).as_deref(), path, "{text}");
        }
        assert_eq!(resolve(Command::Reset, "pre-flight").as_deref(), Some("preflight"));
    }

    #[test]
    fn what_was_meant_is_told() {
        for (text, path) in [
            ("cert", Some("certs")),
            ("certs/apiservr", Some("certs/apiserver")),
            ("apiserver-etcd-client", Some("certs/apiserver-etcd-client")),
            ("cert apiserver", Some("certs/apiserver")),
            ("nothing of the kind", None),
        ] {
            assert_eq!(meant(Command::Init, text).as_deref(), path, "{text}");
        }
    }

    #[test]
    fn the_order_is_that_of_the_work() {
        let leaves = leaves(Command::Init);
        let place = |name: &str| leaves.iter().position(|leaf| leaf == name).unwrap();
        assert!(place("certs/ca") < place("kubeconfig/admin"));
        assert!(place("kubelet-start") < place("upload-config/kubeadm"));
        assert_eq!(leaves.first().map(String::as_str), Some("preflight"));
    }
}
