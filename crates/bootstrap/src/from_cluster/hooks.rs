//! Hooks: systemd units of the user that run on machines.

use slipway_cluster_input::{ClusterInput, Hook, HookTiming, NodePool};
use slipway_resource::{Address, Desired, Path, Value};

use super::{FromClusterError, Machine, Placement, WithoutEffect, egress_proxy, packages};
use crate::expand::InitSystem;

const SUFFIX: &str = ".service";

/// Units that belong to the node itself.
const RESERVED: [&str; 2] = ["kubelet", "containerd"];
const RESERVED_PREFIX: &str = "slipway-";

/// The endings by which systemd takes a name for that of a whole unit, to which it adds nothing.
const UNIT_TYPES: [&str; 11] = [
    SUFFIX,
    ".socket",
    ".device",
    ".mount",
    ".automount",
    ".swap",
    ".target",
    ".path",
    ".timer",
    ".slice",
    ".scope",
];

/// The hooks of one machine.
#[derive(Debug, Default)]
pub(super) struct Hooks {
    /// The kubelet starts after them.
    pub before_kubelet: Vec<Desired>,
    /// They start after the kubelet.
    pub after_kubelet: Vec<Desired>,
}

/// The hooks of one machine, from its pool, which includes those of the cluster, and the `own` units for other fields. A hook starts
/// after the kernel settings and files of the spec, and after all own units, because it may need them.
pub(super) fn of_machine(
    pool: Option<&NodePool>,
    machine: &Machine,
    settings: &[Desired],
    own: &[Hook],
) -> Hooks {
    let mut hooks = Hooks::default();
    let Some(pool) = pool else { return hooks };
    let mut needed: Vec<Address> = settings.iter().map(|needed| needed.address.clone()).collect();
    let of_user = pool.node_files.hooks.iter().filter(|hook| hook.enabled);
    for hook in own.iter().chain(of_user) {
        let name = service_name(hook);
        let field = match hook.name.as_str() {
            egress_proxy::UNIT => egress_proxy::FIELD.to_owned(),
            packages::UNIT => format!("pools[{}].packages", pool.name),
            _ => format!("pools[{}].nodeFiles.hooks", pool.name),
        };
        let attributes = Value::map([
            ("host", Value::from(machine.name.as_str())),
            ("name", name.into()),
            ("unit", unit(hook).into()),
        ]);
        let address = Address::new("service", format!("{}/{name}", machine.name));
        let mut desired = Desired::new(address, attributes);
        desired.origins.insert(Path::root(), field);
        desired.depends_on.clone_from(&needed);
        if own.contains(hook) {
            needed.push(desired.address.clone());
        }
        match hook.timing {
            HookTiming::BeforeKubelet => hooks.before_kubelet.push(desired),
            HookTiming::AfterKubelet => {
                desired.depends_on.push(Address::new("service", format!("{}/kubelet", machine.name)));
                hooks.after_kubelet.push(desired);
            }
        }
    }
    hooks
}

/// The hooks and packages of a spec that do nothing on machines that exist already.
#[must_use]
pub fn hooks_without_effect(cluster: &ClusterInput) -> Vec<WithoutEffect> {
    let of = |path: String, hooks: &[Hook], all: &[Hook]| -> Vec<WithoutEffect> {
        let found = hooks.iter().filter_map(|hook| {
            let twice =
                || has_other_name(hook, all).then_some(("name", "two hooks are this unit; remove one"));
            let (field, why) = why_not(hook).or_else(twice)?;
            Some(WithoutEffect { field: format!("{path}[{}].{field}", hook.name), why })
        });
        found.collect()
    };
    let shared = &cluster.node_files.hooks;
    let mut found = of("nodeFiles.hooks".to_owned(), shared, shared);
    for pool in &cluster.pools {
        let all = &pool.node_files.hooks;
        let own: Vec<Hook> = all.iter().filter(|hook| !shared.contains(hook)).cloned().collect();
        found.extend(of(format!("pools[{}].nodeFiles.hooks", pool.name), &own, all));
        found.extend(packages::without_effect(pool));
    }
    found
}

/// The name of a hook's unit without `.service`.
fn service_name(hook: &Hook) -> &str {
    hook.name.strip_suffix(SUFFIX).unwrap_or(&hook.name)
}

/// Whether another hook, such as `tune` beside `tune.service`, is the same unit.
fn has_other_name(hook: &Hook, all: &[Hook]) -> bool {
    let is_same = |other: &&Hook| other.enabled && service_name(other) == service_name(hook);
    hook.enabled && all.iter().filter(is_same).any(|other| other.name != hook.name)
}

/// The field of a hook that hosts cannot carry out, and why.
fn why_not(hook: &Hook) -> Option<(&'static str, &'static str)> {
    let name = service_name(hook);
    let is_whole = name != hook.name;
    if (!is_whole && name.contains('.')) || UNIT_TYPES.iter().any(|unit| name.ends_with(unit)) {
        let why = "hosts run units with a name as `tune.service`; start others from one, or remove it";
        return Some(("name", why));
    }
    if RESERVED.contains(&name) || name.starts_with(RESERVED_PREFIX) {
        let why =
            "this unit belongs to the node; choose another name, or use a drop-in file in `nodeFiles.files`";
        return Some(("name", why));
    }
    let service = settings(&hook.content, "[Service]");
    let is_over = service.contains(&("Type", "oneshot"))
        && service
            .iter()
            .any(|(key, value)| *key == "RemainAfterExit" && !["yes", "true", "on", "1"].contains(value));
    is_over.then_some(("content", "whether it ran cannot be seen; remove `RemainAfterExit=no`"))
}

/// Holds that every machine can run the hooks of its pool, install its packages, and give its container runtime the proxy.
pub(super) fn check(cluster: &ClusterInput, placement: &Placement) -> Result<(), FromClusterError> {
    let has_hooks = |machine: &Machine| {
        let pool = cluster.pool(&machine.pool);
        cluster.egress_proxy.is_some()
            || pool.is_some_and(|pool| {
                !pool.packages.is_empty() || pool.node_files.hooks.iter().any(|hook| hook.enabled)
            })
    };
    let lacking: Vec<String> = placement
        .machines
        .iter()
        .filter(|machine| machine.facts.init_system != InitSystem::Systemd && has_hooks(machine))
        .map(|machine| machine.name.clone())
        .collect();
    if lacking.is_empty() { Ok(()) } else { Err(FromClusterError::NoSystemd(lacking)) }
}

/// The text of a hook's unit. It starts with the machine, in its order with the kubelet, and stays active when its program has ended.
/// What the unit says itself about these is kept.
fn unit(hook: &Hook) -> String {
    let mut text = hook.content.clone();
    let says = |text: &str, section: &str, keys: &[&str]| {
        settings(text, section).iter().any(|(key, _)| keys.contains(key))
    };
    let of_kubelet = |(key, value): &(&str, &str)| {
        ["Before", "After"].contains(key) && value.split_whitespace().any(|unit| unit == "kubelet.service")
    };
    if !settings(&text, "[Unit]").iter().any(of_kubelet) {
        let order = match hook.timing {
            HookTiming::BeforeKubelet => "Before=kubelet.service",
            HookTiming::AfterKubelet => "After=kubelet.service",
        };
        text = with(&text, "[Unit]", order);
    }
    let is_oneshot = settings(&text, "[Service]").contains(&("Type", "oneshot"));
    if is_oneshot && !says(&text, "[Service]", &["RemainAfterExit"]) {
        text = with(&text, "[Service]", "RemainAfterExit=yes");
    }
    if !says(&text, "[Install]", &["WantedBy", "RequiredBy"]) {
        text = with(&text, "[Install]", "WantedBy=multi-user.target");
    }
    text
}

/// The settings of a section of a unit, by their keys.
fn settings<'a>(text: &'a str, section: &str) -> Vec<(&'a str, &'a str)> {
    let mut found = Vec::new();
    let mut inside = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == section;
        } else if inside
            && !line.starts_with(['#', ';'])
            && let Some((key, value)) = line.split_once('=')
        {
            found.push((key.trim(), value.trim()));
        }
    }
    found
}

/// A unit with one more setting, at the beginning of its section.
fn with(text: &str, section: &str, setting: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    match lines.iter().position(|line| line.trim() == section) {
        Some(header) => lines.insert(header + 1, setting),
        None => lines.extend([section, setting]),
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(content: &str, timing: HookTiming) -> Hook {
        Hook { name: "tune.service".to_owned(), content: content.to_owned(), timing, enabled: true }
    }

    #[test]
    fn a_unit_starts_with_the_machine_and_stays_active() {
        let short = hook("[Service]\nType=oneshot\nExecStart=/bin/true", HookTiming::BeforeKubelet);
        assert_eq!(
            unit(&short),
            "[Service]\nRemainAfterExit=yes\nType=oneshot\nExecStart=/bin/true\n[Unit]\nBefore=kubelet.service\n[Install]\n\
             WantedBy=multi-user.target\n"
        );
        let daemon =
            hook("[Unit]\nDescription=x\n\n[Service]\nExecStart=/bin/daemon\n", HookTiming::AfterKubelet);
        assert_eq!(
            unit(&daemon),
            "[Unit]\nAfter=kubelet.service\nDescription=x\n\n[Service]\nExecStart=/bin/daemon\n[Install]\n\
             WantedBy=multi-user.target\n"
        );
    }

    #[test]
    fn what_a_unit_says_itself_is_kept() {
        let whole = "[Unit]\nBefore=network.target kubelet.service\n[Service]\nType=oneshot\nRemainAfterExit=true\n\
                     ExecStart=/bin/true\n[Install]\nWantedBy=sysinit.target\n";
        assert_eq!(unit(&hook(whole, HookTiming::AfterKubelet)), whole);
        // A comment says nothing.
        let comment = whole.replace("WantedBy", "# WantedBy");
        assert!(
            unit(&hook(&comment, HookTiming::AfterKubelet))
                .contains("[Install]\nWantedBy=multi-user.target\n")
        );
    }
}
