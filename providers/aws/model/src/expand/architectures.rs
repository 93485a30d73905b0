//! Architectures of machine types and images: the plan names those that do not run the programs of their pool.
//!
//! Only what is known is compared: what AWS says of a type, or the family of its name. Nothing is said of other types.

use slipway_bootstrap::boot::OTHER_ARCHITECTURE;
use slipway_cluster_input::{Architecture, NodePool};

use super::build::Builder;
use crate::catalog::{Catalog, machine_types};

/// Families with processors of 64-bit ARM, from the public list of instance types.
const ARM: &[&str] = &[
    "a1", "c6g", "c6gd", "c6gn", "c7g", "c7gd", "c7gn", "c8g", "c8gd", "c8gn", "g5g", "hpc7g", "i4g", "i8g",
    "im4gn", "is4gen", "m6g", "m6gd", "m7g", "m7gd", "m8g", "m8gd", "r6g", "r6gd", "r7g", "r7gd", "r8g",
    "r8gd", "t4g", "x2gd", "x8g",
];

/// Families with processors of x86-64, from the same list.
const X86: &[&str] = &[
    "c3", "c4", "c5", "c5a", "c5ad", "c5d", "c5n", "c6a", "c6i", "c6id", "c6in", "c7a", "c7i", "c7i-flex",
    "d2", "d3", "g4ad", "g4dn", "g5", "g6", "i2", "i3", "i3en", "i4i", "m3", "m4", "m5", "m5a", "m5ad",
    "m5d", "m5dn", "m5n", "m5zn", "m6a", "m6i", "m6id", "m6idn", "m6in", "m7a", "m7i", "m7i-flex", "p3",
    "p4d", "p5", "r3", "r4", "r5", "r5a", "r5ad", "r5b", "r5d", "r5dn", "r5n", "r6a", "r6i", "r6id", "r6idn",
    "r6in", "r7a", "r7i", "r7iz", "t2", "t3", "t3a",
];

/// Names the types and the image of each pool that have another architecture than the pool, and names without a size.
pub(super) fn name(builder: &mut Builder<'_>) {
    let (cluster, catalog) = (builder.cluster, builder.catalog);
    for pool in &cluster.pools {
        let others = others(catalog, pool);
        if !others.is_empty() {
            let (word, _) = words(pool.architecture);
            let message =
                format!("{OTHER_ARCHITECTURE}{}, and the pool has `architecture: {word}`", others.join(", "));
            builder.note(format!("pools[{}].architecture", pool.name), message);
        }
        for machine in machine_types(pool).iter().filter(|machine| !machine.contains('.')) {
            let message = format!(
                "`{machine}` is not the name of an instance type of EC2, which has a family and a size, as in `m6i.large`"
            );
            builder.note(format!("pools[{}].machineType", pool.name), message);
        }
    }
}

/// What of a pool has another architecture, in words.
fn others(catalog: &Catalog, pool: &NodePool) -> Vec<String> {
    let (_, wanted) = words(pool.architecture);
    let mut others: Vec<String> = Vec::new();
    for machine in machine_types(pool) {
        if let Some(found) = other(catalog, &machine, wanted) {
            others.push(format!("{machine} has processors of {found}"));
        }
    }
    if let Some(image) = catalog.image(pool).filter(|image| !image.architecture.is_empty())
        && image.architecture != wanted
    {
        others.push(format!("the image {} is for {}", image.id, image.architecture));
    }
    others
}

/// The architecture of a machine type, if it is known not to be the wanted one.
fn other(catalog: &Catalog, machine: &str, wanted: &str) -> Option<String> {
    let known = catalog.instance_types.get(machine).filter(|known| !known.architectures.is_empty());
    if let Some(known) = known {
        let is_wanted = known.architectures.iter().any(|architecture| architecture == wanted);
        return (!is_wanted).then(|| known.architectures.join(" and "));
    }
    let family = of_family(machine)?;
    (family != wanted).then(|| family.to_owned())
}

/// The architecture of a type by the family of its name.
fn of_family(machine: &str) -> Option<&'static str> {
    let (family, _) = machine.split_once('.')?;
    if ARM.contains(&family) {
        Some("arm64")
    } else if X86.contains(&family) {
        Some("x86_64")
    } else {
        None
    }
}

/// The word of specs and that of AWS for an architecture.
fn words(architecture: Architecture) -> (&'static str, &'static str) {
    match architecture {
        Architecture::Amd64 => ("amd64", "x86_64"),
        Architecture::Arm64 => ("arm64", "arm64"),
    }
}

#[cfg(test)]
mod tests {
    use slipway_resource::Value;

    use super::*;
    use crate::price::PriceList;

    #[test]
    fn the_architecture_of_every_type_with_a_price_is_known() {
        let list = PriceList::read(&Value::Null).unwrap();
        for machine in list.instances_per_hour.keys() {
            assert!(of_family(machine).is_some(), "{machine}");
        }
        assert_eq!(of_family("sim.large"), None);
    }
}
