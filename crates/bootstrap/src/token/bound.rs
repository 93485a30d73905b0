use super::GROUP_PREFIX;

const NODE: &str = "slipway:node:";

/// The group of all tokens that are bound to a node's name. It differs from the group of Kubernetes' usual
/// tokens, whose requests other controllers may approve.
pub const BOUND_GROUP: &str = "system:bootstrappers:slipway:bound";
/// The annotation of a token's Secret that says whether it can be used only once.
pub const ONCE: &str = "slipway.dev/once";
/// The annotation of a token's Secret that names the request for which it was used.
pub const USED_BY: &str = "slipway.dev/used-by";

/// The groups of a token that is bound to a node's name; `None` when this is not a valid node name.
#[must_use]
pub fn groups_of_node(node: &str) -> Option<[String; 2]> {
    let own = group_of_node(node);
    let is_name = super::is_group(&own) && !node.contains(':') && node_of_groups([own.as_str()])? == node;
    is_name.then(|| [BOUND_GROUP.to_owned(), own])
}

/// The group of a token that is bound to one node's name: a machine with the token may become only that node.
/// A dot of the name is a colon in the group, which may not contain dots.
#[must_use]
pub fn group_of_node(node: &str) -> String {
    format!("{GROUP_PREFIX}{NODE}{}", node.replace('.', ":"))
}

/// The node to which a user's groups bind it; `None` when they bind it to none.
#[must_use]
pub fn node_of_groups<'a>(groups: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut groups = groups.into_iter();
    let name = groups.find_map(|group| group.strip_prefix(GROUP_PREFIX)?.strip_prefix(NODE))?;
    Some(name.replace(':', "."))
}
