use super::context::{Context, warning};
use crate::{
    diagnostic::code::MACHINES,
    model::{Architecture, NodePool},
};

/// Families of EC2 instances, without generation and properties, whose processors follow from the properties.
const FAMILIES: &[&str] = &["c", "m", "r", "t"];

/// Machine types on AWS have the architecture of their pool, as far as their names say it. The provider compares others when it plans.
pub(super) fn check(context: &mut Context<'_>) {
    let cluster = context.cluster;
    if cluster.provider.name != "aws" {
        return;
    }
    for pool in cluster.pools.iter().filter(|pool| pool.hosts.is_none()) {
        let path = format!("pools[{}]", pool.name);
        let Some((field, machine)) = other(pool) else { continue };
        let (own, another) = match pool.architecture {
            Architecture::Amd64 => ("amd64", "arm64"),
            Architecture::Arm64 => ("arm64", "amd64"),
        };
        let complaint = warning(
            MACHINES,
            format!("machines of type {machine} are {another}, and the pool `{}` is {own}", pool.name),
            "give a pool machine types of one architecture, and set its `architecture` to that",
        );
        context.at(&format!("{path}.{field}"), complaint);
    }
}

/// The first type of a pool whose name says that it has another architecture, with its field.
fn other(pool: &NodePool) -> Option<(String, &str)> {
    let given = pool.machine_type.iter().flat_map(|given| given.split(','));
    let given = given.map(|machine| ("machineType".to_owned(), machine.trim()));
    let mixed = pool.mixed_instances.iter().flat_map(|mixed| mixed.machine_types.iter().enumerate());
    let mixed =
        mixed.map(|(index, machine)| (format!("mixedInstances.machineTypes[{index}]"), machine.as_str()));
    given.chain(mixed).find(|(_, machine)| of_name(machine).is_some_and(|found| found != pool.architecture))
}

/// The architecture of a type of EC2 by its name: in `m7gd.large`, the `g` behind the generation is that of Graviton.
fn of_name(machine: &str) -> Option<Architecture> {
    let (family, _) = machine.split_once('.')?;
    let properties = family.trim_start_matches(|letter: char| letter.is_ascii_lowercase());
    let name = family.strip_suffix(properties)?;
    let generation = properties.trim_start_matches(|letter: char| letter.is_ascii_digit());
    if family == "a1" || generation.len() < properties.len() && generation.starts_with('g') {
        return Some(Architecture::Arm64);
    }
    (FAMILIES.contains(&name) && generation.len() < properties.len()).then_some(Architecture::Amd64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load_files, source::SourceFile};

    #[test]
    fn names_of_types_have_an_architecture() {
        for (machine, expected) in [
            ("m6i.large", Some(Architecture::Amd64)),
            ("c7i-flex.large", Some(Architecture::Amd64)),
            ("t3.micro", Some(Architecture::Amd64)),
            ("t4g.small", Some(Architecture::Arm64)),
            ("m7gd.metal", Some(Architecture::Arm64)),
            ("g5g.xlarge", Some(Architecture::Arm64)),
            ("a1.large", Some(Architecture::Arm64)),
            ("g4dn.xlarge", None),
            ("mac2.metal", None),
            ("m6i", None),
            ("sim.large", None),
        ] {
            assert_eq!(of_name(machine), expected, "{machine}");
        }
    }

    #[test]
    fn types_of_another_architecture_than_the_pool_are_named() {
        let said = |provider: &str, pool: &str| -> Vec<String> {
            let text = format!(
                "apiVersion: slipway.dev/v1alpha1\nkind: Cluster\nmetadata: {{ name: demo }}\n\
                 spec:\n  provider: {{ name: {provider} }}\n  region: eu-west-1\n  kubernetesVersion: 1.35.2\n  \
                 zones: [eu-west-1a]\n\
                 ---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: {{ name: control-plane }}\n\
                 spec: {{ role: controlPlane, {pool} }}\n"
            );
            let loaded = load_files(vec![SourceFile::new("a.yaml", text)], &[]);
            let about =
                loaded.diagnostics.into_iter().filter(|found| found.message.contains("machines of type"));
            about.map(|found| found.message).collect()
        };
        let graviton = "machines of type m7g.large are arm64, and the pool `control-plane` is amd64";
        assert_eq!(said("aws", "machineType: m7g.large"), [graviton]);
        assert_eq!(said("aws", "mixedInstances: { machineTypes: [m6i.large, m7g.large] }"), [graviton]);
        assert_eq!(
            said("aws", "machineType: m6i.large, architecture: arm64"),
            ["machines of type m6i.large are amd64, and the pool `control-plane` is arm64"]
        );
        for (provider, pool) in [
            ("aws", "machineType: m6i.large"),
            ("aws", "machineType: m7g.large, architecture: arm64"),
            ("sim", "machineType: m7g.large"),
        ] {
            assert_eq!(said(provider, pool), Vec::<String>::new(), "{provider} {pool}");
        }
    }
}
