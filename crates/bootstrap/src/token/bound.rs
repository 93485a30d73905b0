use super::GROUP_PREFIX;

const NODE: &str = "slipway:node:";

/// The group of a token that is bound to one node's name: whoever shows it may become that node and no other. A dot of
/// the name is a colon in the group, which may hold no dots.
#[must_use]
pub fn group_of_node(node: &str) -> String {
    format!("{GROUP_PREFIX}{NODE}{}", node.replace('.', ":"))
}

/// The node to which the groups of somebody bind it; `None` when they bind to none.
#[must_use]
pub fn node_of_groups<'a>(groups: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let mut groups = groups.into_iter();
    let name = groups.find_map(|group| group.strip_prefix(GROUP_PREFIX)?.strip_prefix(NODE))?;
    Some(name.replace(':', "."))
}
