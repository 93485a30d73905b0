//! One change as lines: its address, its attributes and its notes.

use slipway_resource::Identity;
use slipway_resource::provider::{Disruption, operation};

use super::attribute::{Attribute, changed, layout, leaves};
use super::clean::{clean, plural};
use super::group::{Group, View};
use super::line::{Line, Mark, Style};
use super::reason::{because, sentences};
use super::roll::{self, wrapped};
use super::screen::sensitive_paths;
use super::text::TextOptions;
use crate::change::{ChangeAction, MachineChange, ResourceChange};
use crate::file::Mode;
use crate::reason::{Reason, ReasonCode};

/// Columns before the lines below an address.
pub(super) const INDENT: usize = 4;

/// Maximum number of reasons per change that are shown without `--verbose`.
const REASONS: usize = 6;

/// One change as it is shown.
#[derive(Clone, Debug)]
pub(super) struct Block<'p> {
    /// The change.
    pub(super) change: &'p ResourceChange,
    /// The heading under which the change is shown.
    pub(super) group: Group,
    /// How, beside the address.
    pub(super) how: Option<&'static str>,
    /// The differences, or the attributes of the new object.
    pub(super) attributes: Vec<Attribute>,
    /// Whether it loses data or interrupts the cluster.
    pub(super) dangerous: bool,
    /// Further notes, as lines.
    pub(super) notes: Vec<Line>,
}

impl<'p> Block<'p> {
    /// The block of a planned change.
    pub(super) fn of(change: &'p ResourceChange, view: &View<'p>, options: &TextOptions) -> Self {
        Self::planned(change, view, options, roll::gates(change, view, options, INDENT))
    }

    /// The block of a planned change without the gates of its machines, which are shown elsewhere.
    pub(super) fn without_gates(change: &'p ResourceChange, view: &View<'p>, options: &TextOptions) -> Self {
        Self::planned(change, view, options, Vec::new())
    }

    fn planned(change: &'p ResourceChange, view: &View<'p>, options: &TextOptions, gates: Vec<Line>) -> Self {
        let mut notes = notes(change, view, options);
        notes.extend(roll::lines(change, view, options, INDENT));
        notes.extend(gates);
        for step in view.surplus(change) {
            let identity = step.identity.as_ref().map_or("", Identity::as_str);
            let text =
                format!("also deletes {}, an older or doubled object of this address", clean(identity));
            notes.push(Line::at(INDENT).with(Style::Removed, text).marked(Mark::Removed));
        }
        let bare = Self::bare(change, view.group(change), options);
        let stays = matches!(change.action, ChangeAction::NoOp | ChangeAction::Record | ChangeAction::Adopt);
        let how = match bare.group {
            Group::Delete if stays => Some("stays, another object of this address is deleted"),
            _ => bare.how,
        };
        Self { notes, dangerous: view.is_dangerous(change), how, ..bare }
    }

    /// The block of a resource that is only reported: a drift, or a kept resource.
    pub(super) fn reported(change: &'p ResourceChange, options: &TextOptions) -> Self {
        let mut block = Self::bare(change, Group::of(change), options);
        block.attributes.iter_mut().for_each(Attribute::report);
        if change.changes.is_empty() {
            block.notes = reasons(change, options);
            block.attributes.clear();
        } else {
            // The attributes show the differences; the provider's reasons for them are left out.
            let said = change.reasons.iter().filter(|reason| reason.path.is_none());
            block.notes =
                said.flat_map(|reason| wrapped(&because(reason), INDENT, options, Style::Faint)).collect();
        }
        block
    }

    fn bare(change: &'p ResourceChange, group: Group, options: &TextOptions) -> Self {
        Self {
            change,
            group,
            how: how(change),
            attributes: attributes(change, options),
            dangerous: false,
            notes: Vec::new(),
        }
    }

    /// The lines of the block.
    pub(super) fn lines(&self) -> Vec<Line> {
        let mut head = self.head(clean(&self.change.address.to_string()).into_owned());
        if let Some(identity) = &self.change.identity {
            head = head.with(Style::Faint, format!("  ({})", clean(identity.as_str())));
        }
        let mut out = vec![self.with_how(head)];
        out.extend(self.body());
        out
    }

    /// The symbol and the subject.
    pub(super) fn head(&self, subject: String) -> Line {
        Line::at(0)
            .marked(self.group.mark())
            .with(self.group.style(), format!("{} ", self.group.symbol()))
            .with(Style::Strong, subject)
    }

    /// The head with the way in which the change is made.
    pub(super) fn with_how(&self, head: Line) -> Line {
        match self.how {
            Some(how) => head.with(self.group.style(), format!("  {how}")),
            None => head,
        }
    }

    /// All lines below the head.
    pub(super) fn body(&self) -> Vec<Line> {
        let mut out = layout(&self.attributes, INDENT);
        out.extend(self.notes.iter().cloned());
        out
    }
}

fn how(change: &ResourceChange) -> Option<&'static str> {
    match change.action {
        ChangeAction::ReplaceDeleteFirst => Some("delete first, then create"),
        ChangeAction::ReplaceCreateFirst => Some("create first, then delete"),
        ChangeAction::Adopt => Some("record only: the object exists"),
        ChangeAction::Record => Some("record only: the object stays as it is"),
        ChangeAction::Forget if change.reasons.iter().any(|reason| is_gone(reason.code)) => {
            Some("is forgotten")
        }
        ChangeAction::Forget => Some("stays in the cloud, is forgotten"),
        _ => None,
    }
}

/// Whether an object is forgotten because it does not stay.
fn is_gone(code: ReasonCode) -> bool {
    matches!(code, ReasonCode::Vanished | ReasonCode::ClusterDeleted)
}

fn attributes(change: &ResourceChange, options: &TextOptions) -> Vec<Attribute> {
    let sensitive = sensitive_paths(change);
    match change.action {
        ChangeAction::Create => leaves(&change.after, &sensitive, options),
        ChangeAction::Delete if options.verbose => leaves(&change.before, &sensitive, options),
        _ => changed(&change.changes, &sensitive, options),
    }
}

fn notes(change: &ResourceChange, view: &View<'_>, options: &TextOptions) -> Vec<Line> {
    let mut out = Vec::new();
    if let Some(previous) = &change.previous_address {
        out.push(Line::at(INDENT).text(format!("was {} before", clean(&previous.to_string()))));
    }
    out.extend(reasons(change, options));
    let warn = |text: String| {
        wrapped(&text, INDENT, options, Style::Warning).into_iter().map(|line| line.marked(Mark::Attention))
    };
    let text = disruption(change, view);
    if let Some(node) = &change.drained {
        let text =
            format!("cordon and drain {0} before, uncordon {0} after", clean(&node.address.to_string()));
        out.extend(wrapped(&text, INDENT, options, Style::Plain));
    } else if let Some(text) = text {
        match change.disruption {
            Disruption::Rolling => out.extend(wrapped(text, INDENT, options, Style::Plain)),
            _ => out.extend(warn(format!("! {text}"))),
        }
    }
    if let Some(reason) = &change.confirmation {
        let reason = clean(reason.trim_end_matches('.'));
        let name = if view.plan.mode == Mode::Delete { "the cluster" } else { "it" };
        out.extend(warn(format!("! needs a confirmation that names {name}: {reason}")));
    } else if change.record.protected && change.action == ChangeAction::Update {
        let text = match change.machines.is_empty() {
            true => "protected: Slipway deletes or replaces it only after a confirmation by name",
            false => {
                "protected: Slipway deletes it only after a confirmation by name; this plan changes only machines of it"
            }
        };
        out.extend(wrapped(text, INDENT, options, Style::Faint));
    }
    if !change.ignored.is_empty() {
        let paths: Vec<String> = change.ignored.iter().map(ToString::to_string).collect();
        let text = format!("left alone as the spec says: {}", clean(&paths.join(", ")));
        out.extend(wrapped(&text, INDENT, options, Style::Faint));
    }
    out
}

/// The effect on users of the cluster, as a sentence without a full stop.
pub(super) fn disruption(change: &ResourceChange, view: &View<'_>) -> Option<&'static str> {
    let machines = &change.machines;
    let shrinks = !machines.is_empty() && machines.iter().all(|machine| !machine.replaced);
    // Machines of a bastion are no nodes, and have no drain.
    let are_nodes = machines.is_empty() || is_drained(change, view);
    match change.disruption {
        Disruption::None => None,
        Disruption::Rolling if change.action == ChangeAction::Delete => {
            let drains = machines.iter().any(|machine| machine.node.is_some());
            Some(if drains { "its machines are drained and removed" } else { "its machines are removed" })
        }
        Disruption::Rolling => Some(match (shrinks, are_nodes) {
            (true, true) => "nodes are removed one after the other, within their budgets",
            (true, false) => "machines are removed one after the other, without a drain",
            (false, true) => "nodes are replaced one after the other, within their budgets",
            (false, false) => "machines are replaced one after the other, without a drain",
        }),
        Disruption::Brief => Some("a short interruption"),
        Disruption::Outage => Some("an outage until the change is through"),
    }
}

/// Whether machines of a change are drained before they leave.
fn is_drained(change: &ResourceChange, view: &View<'_>) -> bool {
    view.steps(&change.address).iter().any(|step| step.action.verb() == operation::DRAIN)
}

fn reasons(change: &ResourceChange, options: &TextOptions) -> Vec<Line> {
    let limit = if options.verbose { usize::MAX } else { REASONS };
    let news = change.reasons.iter().filter(|reason| options.verbose || is_news(reason, change));
    let sentences = sentences(news, limit);
    let mut out: Vec<Line> = sentences
        .iter()
        .take(limit)
        .flat_map(|sentence| wrapped(&format!("because {sentence}"), INDENT, options, Style::Faint))
        .collect();
    if sentences.len() > limit {
        let more = plural(sentences.len().saturating_sub(limit), "more reason", "more reasons");
        out.push(Line::at(INDENT).with(Style::Faint, format!("… and {more}")));
    }
    out
}

/// Whether a reason says more than other lines of the plan. Others are expected: the spec wants a new resource, the heading says that
/// the cluster is deleted. Or they repeat the head, a confirmation, or the reason beside the machines that go.
fn is_news(reason: &Reason, change: &ResourceChange) -> bool {
    let message = reason.message.as_str();
    match reason.code {
        ReasonCode::Wanted | ReasonCode::Unrecorded | ReasonCode::ClusterDeleted => false,
        ReasonCode::Renamed => change.previous_address.is_none(),
        ReasonCode::Provider => {
            let is_of = |machine: &MachineChange| {
                !machine.reason.is_empty() && message.ends_with(machine.reason.as_str())
            };
            !change.machines.iter().any(is_of)
                && !change.confirmation.as_ref().is_some_and(|confirmation| confirmation.contains(message))
        }
        _ => true,
    }
}
