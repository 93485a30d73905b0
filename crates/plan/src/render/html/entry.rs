//! Changes as entries that can be unfolded: one change, or several that look the same.

use slipway_resource::Identity;

use super::super::block::{Block, INDENT};
use super::super::clean::{plural, shorten};
use super::super::fold::Fold;
use super::super::group::Group;
use super::super::{markup, names};
use super::{attributes, lines};

/// Maximum number of lines of an entry that is unfolded from the start.
const SHORT: usize = 40;

/// How many characters of the names of several resources are shown in the heading of their entry; all are inside.
const NAMES: usize = 240;

/// Why a change is on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// The plan makes it.
    Planned,
    /// It is reported only, in the section of this name.
    Reported(&'static str),
}

impl Manner {
    /// The name by which a filter finds the changes of a group.
    fn name(self, group: Group) -> &'static str {
        match self {
            Self::Planned => name(group),
            Self::Reported(section) => section,
        }
    }

    /// What becomes, or became, of a resource.
    fn verb(self, group: Group) -> &'static str {
        match (self, group) {
            (Self::Planned, group) => verb(group),
            (Self::Reported(_), Group::Forget) => "Kept",
            (Self::Reported(_), Group::Delete) => "Deleted",
            (Self::Reported(_), Group::Create) => "Created",
            (Self::Reported(_), Group::Deferred) => "Unknown",
            (Self::Reported(_), Group::Record | Group::Update | Group::Roll | Group::Replace) => "Changed",
        }
    }
}

/// Appends an entry; it is unfolded from the start if that is asked for and it is short.
pub(super) fn push(out: &mut String, fold: &Fold<'_>, manner: Manner, unfolded: bool) {
    let Some(first) = fold.blocks().first() else { return };
    let size = first.attributes.len() + first.notes.len() + fold.blocks().len();
    let open = if unfolded && size <= SHORT { " open" } else { "" };
    let danger = if first.dangerous { " data-danger" } else { "" };
    out.push_str(&format!(
        "<details class=\"entry {}\" data-group=\"{}\"{danger}{open}>\n",
        name(first.group),
        manner.name(first.group),
    ));
    push_summary(out, fold, first, manner.verb(first.group));
    out.push_str("<div class=\"inside\">\n");
    if size == 1 {
        out.push_str("<p><span class=\"faint\">No attribute changes.</span></p>\n");
    }
    if fold.blocks().len() > 1 {
        push_members(out, fold);
        let differing = fold.differing();
        let same = first.attributes.iter().enumerate().filter(|(position, _)| !differing.contains(position));
        attributes::push(out, same.map(|(_, attribute)| attribute));
    } else {
        attributes::push(out, first.attributes.iter());
    }
    lines::push(out, &first.notes, INDENT);
    out.push_str("</div>\n</details>\n");
}

fn push_summary(out: &mut String, fold: &Fold<'_>, first: &Block<'_>, verb: &str) {
    out.push_str("<summary>");
    push_verb(out, first.group, verb);
    let address = &first.change.address;
    if fold.blocks().len() == 1 {
        out.push_str(&format!("<span class=\"name\">{}</span>", markup::text(&address.to_string())));
        if let Some(identity) = &first.change.identity {
            out.push_str(&format!(" <span class=\"identity\">{}</span>", markup::text(identity.as_str())));
        }
    } else {
        let kind = markup::text(address.kind());
        out.push_str(&format!("<span class=\"name\">{kind} × {}</span>", fold.blocks().len()));
        let all: Vec<&str> = fold.blocks().iter().map(|block| block.change.address.name()).collect();
        let listed = names::listed(&all);
        let shown = markup::text(&shorten(&listed, NAMES));
        out.push_str(&format!(" <span class=\"names\">{shown}</span>"));
    }
    if let Some(how) = first.how {
        out.push_str(&format!(" <span class=\"how\">{}</span>", markup::text(how)));
    }
    if first.change.confirmation.is_some() {
        out.push_str(" <span class=\"how\">needs a confirmation</span>");
    }
    out.push_str("</summary>\n");
}

/// Appends what becomes of something, with the symbol of its group.
fn push_verb(out: &mut String, group: Group, verb: &str) {
    let symbol = group.symbol();
    out.push_str(&format!("<span class=\"verb\"><b aria-hidden=\"true\">{symbol}</b> {verb}</span> "));
}

/// Appends the beginning of a part with all entries of one type in a group; its end is that of `details`.
pub(super) fn push_type(out: &mut String, (group, kind): (Group, &str), manner: Manner, resources: usize) {
    out.push_str(&format!("<details class=\"type {}\"><summary>", name(group)));
    push_verb(out, group, manner.verb(group));
    out.push_str(&format!(
        "<span class=\"name\">{}</span> <span class=\"count\">{}</span></summary>\n",
        markup::text(kind),
        plural(resources, "resource", "resources"),
    ));
}

/// The resources of an entry, each with the attributes in which it differs from the others.
fn push_members(out: &mut String, fold: &Fold<'_>) {
    let differing = fold.differing();
    out.push_str("<ul class=\"members\">\n");
    for block in fold.blocks() {
        out.push_str(&format!("<li><b>{}</b>", markup::text(block.change.address.name())));
        if let Some(identity) = block.change.identity.as_ref().map(Identity::as_str) {
            out.push_str(&format!(" <span class=\"identity\">{}</span>", markup::text(identity)));
        }
        for attribute in differing.iter().filter_map(|position| block.attributes.get(*position)) {
            out.push_str(&format!(" <span class=\"own\">{}: ", markup::text(attribute.path())));
            attributes::push_body(out, attribute.body());
            out.push_str("</span>");
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul>\n");
}

/// What becomes of the resources of a group, in a word.
pub(super) fn verb(group: Group) -> &'static str {
    match group {
        Group::Update => "Update",
        other => other.title(),
    }
}

/// The name of a group in the page.
pub(super) fn name(group: Group) -> &'static str {
    match group {
        Group::Create => "create",
        Group::Record => "record",
        Group::Update => "update",
        Group::Roll => "roll",
        Group::Replace => "replace",
        Group::Delete => "delete",
        Group::Forget => "forget",
        Group::Deferred => "deferred",
    }
}
