//! Names of resources, as clusters made by kOps have them.

use slipway_cluster_input::{NodePool, Role};

/// How many characters of a hash a name ends with.
const HASH_LENGTH: usize = 6;

/// The name in a resource's address, in the characters that Terraform allows.
///
/// Dots become hyphens, slashes two hyphens, colons underscores; a name that begins with a digit gets a
/// prefix.
#[must_use]
pub fn address(name: &str) -> String {
    let clean = name.replace('.', "-").replace('/', "--").replace(':', "_").replace('*', "wildcard");
    if clean.starts_with(|first: char| first.is_ascii_digit()) { format!("prefix_{clean}") } else { clean }
}

/// A name of at most 32 characters for a load balancer or a target group: always with a hash.
#[must_use]
pub fn hashed(prefix: &str, cluster: &str) -> String {
    shortened(&format!("{prefix}-{cluster}").replace('.', "-"), 32, true)
}

/// A name of at most `length` characters: cut and with a hash at its end when it is longer, or whenever `always`.
#[must_use]
pub fn shortened(name: &str, length: usize, always: bool) -> String {
    if name.len() <= length && !always {
        return name.to_owned();
    }
    let room = length.saturating_sub(HASH_LENGTH + 1);
    let kept: String = name.chars().take(room).collect();
    format!("{kept}-{}", hash(name))
}

/// FNV-1a of 32 bits, in base32 with the extended hexadecimal alphabet (RFC 4648), lower case, cut.
fn hash(text: &str) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghijklmnopqrstuv";
    let sum =
        text.bytes().fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    (0..HASH_LENGTH)
        .filter_map(|position| ALPHABET.get(((sum >> (27 - 5 * position)) & 31) as usize))
        .map(|digit| char::from(*digit))
        .collect()
}

/// The part for a role in a security group's name.
#[must_use]
pub const fn security_group_role(role: Role) -> &'static str {
    match role {
        Role::ControlPlane | Role::ApiServer => "masters",
        Role::Worker => "nodes",
        Role::Bastion => "bastion",
    }
}

/// The part for a role of pools in an instance role's name.
#[must_use]
pub const fn instance_role(role: Role) -> &'static str {
    match role {
        Role::ControlPlane => "masters",
        Role::Worker => "nodes",
        Role::ApiServer => "apiservers",
        Role::Bastion => "bastions",
    }
}

/// The names of the instance roles of a cluster whose machines are no workers.
#[must_use]
pub fn roles_of_others(cluster: &str) -> [String; 3] {
    [Role::ControlPlane, Role::ApiServer, Role::Bastion]
        .map(|role| shortened(&format!("{}.{cluster}", instance_role(role)), LONGEST_ROLE, false))
}

/// The name of a pool's launch template and auto-scaling group.
#[must_use]
pub fn group(pool: &NodePool, cluster: &str) -> String {
    match pool.role {
        Role::ControlPlane => format!("{}.masters.{cluster}", pool.name),
        Role::ApiServer => format!("{}.apiservers.{cluster}", pool.name),
        Role::Worker | Role::Bastion => format!("{}.{cluster}", pool.name),
    }
}

/// The longest name of a role.
pub const LONGEST_ROLE: usize = 64;

/// The beginning of the aliases of Slipway's keys in the key service.
pub const KEY_ALIASES: &str = "alias/slipway/";

/// The alias of a cluster's key in the key service, which allows no dots and at most 256 characters.
#[must_use]
pub fn key_alias(cluster: &str) -> String {
    shortened(&format!("{KEY_ALIASES}{}", cluster.replace('.', "-")), 256, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashed_names_are_those_of_existing_clusters() {
        for (prefix, cluster, name) in [
            ("tcp", "complex.example.com", "tcp-complex-example-com-vpjolq"),
            ("tls", "complex.example.com", "tls-complex-example-com-5nursn"),
            ("api", "complex.example.com", "api-complex-example-com-vd3t5n"),
            ("api", "minimal-ipv6.example.com", "api-minimal-ipv6-example--jhj9te"),
            ("tcp", "minimal-ipv6.example.com", "tcp-minimal-ipv6-example--bne5ih"),
        ] {
            assert_eq!(hashed(prefix, cluster), name);
        }
    }

    #[test]
    fn only_long_names_are_cut() {
        assert_eq!(shortened("nodes.example.com", 64, false), "nodes.example.com");
        let long = "masters.this.is.truly.a.really.really.long.cluster-name.minimal.example.com";
        let cut = shortened(long, 64, false);
        assert_eq!(cut.len(), 64);
        assert!(long.starts_with(&cut[..57]));
    }

    #[test]
    fn addresses_are_identifiers() {
        assert_eq!(address("api.a.example.com"), "api-a-example-com");
        assert_eq!(address("10.1.0.0/16"), "prefix_10-1-0-0--16");
        assert_eq!(address("2001:db8::/64"), "prefix_2001_db8__--64");
    }
}
