//! The patches of an environment.

use std::collections::{BTreeMap, BTreeSet};

use slipway_limits::count;

use super::{
    allowed::Restricted,
    budget::{self, Budget},
    graph::Environment,
    json_patch, listed, meant, merge,
    variables::Variables,
};
use crate::{
    diagnostic::{Diagnostic, code},
    load::{Found, shape_of},
    source::{SourceFile, Span},
    v1alpha1::EnvironmentPatch,
    yaml::Node,
};

/// A part of a patch that does not apply.
pub(super) struct Problem {
    span: Span,
    message: String,
    hint: String,
}

impl Problem {
    pub(super) fn new(span: Span, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { span, message: message.into(), hint: hint.into() }
    }
}

/// Applies patches to the documents of an environment, in the order of the patches. Targets are named as the bases name them,
/// so that a patch that renames a document does not change the targets of the others.
pub(super) struct Patching<'a, 'b> {
    pub(super) environment: &'a Environment,
    pub(super) variables: &'b mut Variables<'a>,
    pub(super) budget: &'b mut Budget,
    pub(super) diagnostics: &'b mut Vec<Diagnostic>,
    /// Whether no document is missing because of a mistake in bases.
    pub(super) is_whole: bool,
}

impl Patching<'_, '_> {
    /// Applies all patches. Fields that have only allowed values keep them.
    pub(super) fn apply(
        &mut self,
        documents: &mut Vec<Found>,
        restricted: &mut Vec<Restricted<'_>>,
        patches: &[EnvironmentPatch],
    ) {
        let environment = self.environment;
        let nodes = environment.part("patches").map(Node::items).unwrap_or_default();
        if patches.len() > count::PATCHES {
            let message =
                format!("an environment has {} patches, and {} is the most", patches.len(), count::PATCHES);
            self.report(Problem::new(
                environment.span(),
                message,
                "write changes of one document in one patch",
            ));
            return;
        }
        let mut targets: BTreeMap<(String, String), usize> = BTreeMap::new();
        for (index, found) in documents.iter().enumerate() {
            let document = &found.document;
            let name = document.name().unwrap_or_default().to_owned();
            targets.entry((document.kind.clone(), name)).or_insert(index);
        }
        let mut deleted = BTreeSet::new();
        for (patch, node) in patches.iter().zip(nodes) {
            if self.budget.is_spent() {
                break;
            }
            let target = (patch.target.kind.clone(), patch.target.name.clone());
            let found = targets.get(&target).filter(|index| !deleted.contains(*index)).copied();
            let Some(index) = found else {
                // Its target may be in a base that could not be read.
                if self.is_whole {
                    self.no_target(patch, node, &targets);
                }
                continue;
            };
            if let Some(found) = documents.get_mut(index)
                && !self.one(found, patch, node)
            {
                deleted.insert(index);
            }
        }
        if !patches.is_empty() {
            restricted
                .retain(|field| !deleted.contains(&field.document) && self.is_allowed(field, documents));
        }
        for field in restricted {
            field.document -= deleted.range(..field.document).count();
        }
        let mut index = 0;
        documents.retain(|_| {
            index += 1;
            !deleted.contains(&(index - 1))
        });
    }

    /// Whether a field has an allowed value; if not, this is reported.
    fn is_allowed(&mut self, field: &Restricted<'_>, documents: &[Found]) -> bool {
        let file: &SourceFile = &self.environment.document.file;
        let found = documents.get(field.document);
        let problem = found.and_then(|found| field.check(&found.document.root, file, self.budget));
        let is_allowed = problem.is_none();
        self.diagnostics.extend(problem);
        is_allowed
    }

    fn report(&mut self, problem: Problem) {
        let Problem { span, message, hint } = problem;
        let file: &SourceFile = &self.environment.document.file;
        self.diagnostics.push(Diagnostic::error(code::PATCH, message).at(file, span).hint(hint));
    }

    fn no_target(
        &mut self,
        patch: &EnvironmentPatch,
        node: &Node,
        targets: &BTreeMap<(String, String), usize>,
    ) {
        let (kind, name) = (&patch.target.kind, &patch.target.name);
        let problems = self.diagnostics.len();
        let hint = if problems > count::PROBLEMS {
            "compare it with the documents of the bases".to_owned()
        } else {
            target_hint(patch, targets, problems)
        };
        let span = node.get("target").map_or(node.span, |target| target.span);
        let message = format!("the bases have no {kind} `{name}` for this patch");
        self.report(Problem::new(span, message, hint));
    }

    /// Applies one patch. Returns whether its document stays.
    fn one(&mut self, found: &mut Found, patch: &EnvironmentPatch, node: &Node) -> bool {
        let document = &mut found.document;
        let merge = node.get("merge").filter(|merge| !merge.is_null());
        let operations = node.get("json").map(Node::items).unwrap_or_default();
        let stays = match (merge, operations) {
            (Some(merge), []) => match self.filled(merge) {
                (_, false) => true,
                (patch, true) => {
                    let mut problems = Vec::new();
                    let shape = shape_of(&document.api_version, &document.kind);
                    let stays = merge::apply(&mut document.root, patch, shape, self.budget, &mut problems);
                    problems.into_iter().for_each(|problem| self.report(problem));
                    stays
                }
            },
            (None, [_, ..]) => {
                self.operations(&mut document.root, patch, operations);
                true
            }
            (Some(_), _) | (None, []) => {
                let both = merge.is_some();
                let message =
                    if both { "a patch has both `merge` and `json`" } else { "a patch has no change" };
                let file: &SourceFile = &self.environment.document.file;
                let diagnostic = Diagnostic::error(code::NOT_ONE_OF, message)
                    .at(file, node.span)
                    .hint("give exactly one of `merge` and `json`");
                self.diagnostics.push(diagnostic);
                true
            }
        };
        for name in ["apiVersion", "kind"] {
            let known = if name == "kind" { &document.kind } else { &document.api_version };
            if document.root.get(name).and_then(Node::as_str) != Some(known.as_str()) {
                let message = format!("a patch cannot change the `{name}` of a document");
                let hint = "leave the document out with `$patch: delete`, and name another base";
                self.report(Problem::new(node.span, message, hint));
            }
        }
        stays
    }

    /// A value of the environment with the values of variables, and whether it is whole.
    fn filled(&mut self, node: &Node) -> (Node, bool) {
        let mut filled = node.clone();
        let file: &SourceFile = &self.environment.document.file;
        let is_whole = self.variables.fill(&mut filled, file, self.budget, self.diagnostics);
        (filled, is_whole)
    }

    fn operations(&mut self, document: &mut Node, patch: &EnvironmentPatch, nodes: &[Node]) {
        if nodes.len() > count::PATCHES {
            let message =
                format!("a patch has {} operations, and {} is the most", nodes.len(), count::PATCHES);
            let span = self.environment.span();
            self.report(Problem::new(span, message, "use `merge` to change many fields"));
            return;
        }
        for (operation, node) in patch.json.iter().zip(nodes) {
            let value = node.get("value").map(|value| self.filled(value));
            if value.as_ref().is_some_and(|(_, is_whole)| !is_whole) {
                continue;
            }
            let value = value.map(|(value, _)| value);
            if let Err((message, hint)) = json_patch::apply(document, operation, value, self.budget) {
                if self.budget.is_spent() {
                    let file: &SourceFile = &self.environment.document.file;
                    self.diagnostics.push(budget::spent(file, node.span));
                    return;
                }
                let span = node.get("path").map_or(node.span, |path| path.span);
                self.report(Problem::new(span, message, hint));
                // The operations after it expect its effect.
                return;
            }
        }
    }
}

/// The way out where no document has the kind and name of a target.
fn target_hint(
    patch: &EnvironmentPatch,
    targets: &BTreeMap<(String, String), usize>,
    problems: usize,
) -> String {
    let (kind, name) = (&patch.target.kind, &patch.target.name);
    let names: Vec<&str> =
        targets.keys().filter(|(other, _)| other == kind).map(|(_, name)| name.as_str()).collect();
    if names.contains(&name.as_str()) {
        return "an earlier patch of this environment leaves the document out".to_owned();
    }
    if let Some(meant) = meant(name, names.iter().copied(), problems) {
        return format!("did you mean `{meant}`?");
    }
    let kinds: BTreeSet<&str> = targets.keys().map(|(kind, _)| kind.as_str()).collect();
    match (names.is_empty(), kinds.is_empty()) {
        (true, true) => "the bases have no documents".to_owned(),
        (true, false) => format!("the kinds of the bases are {}", listed(kinds.into_iter())),
        (false, _) => format!("the bases have {}", listed(names.into_iter())),
    }
}
