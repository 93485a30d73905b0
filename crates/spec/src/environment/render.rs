//! Documents of environments, made of those of their bases.

use std::collections::{BTreeMap, BTreeSet};

use slipway_limits::count;

use super::{
    Rendered,
    allowed::{self, Restricted},
    budget::{self, Budget},
    graph::{Environment, Graph},
    listed, meant,
    patches::Patching,
    variables::{Values, Variables},
};
use crate::{
    diagnostic::{Diagnostic, code},
    load::Found,
    source::SourceFile,
    yaml::Node,
};

/// The kind of documents with a cluster, here and in kOps.
const CLUSTER: &str = "Cluster";

/// Renders all environments that are no bases of others. `given` is the number of files that the caller gave.
pub(super) fn all(graph: Graph, given: usize, diagnostics: Vec<Diagnostic>) -> Rendered {
    let known = diagnostics.len();
    let mut renderer = Renderer { graph: &graph, budget: Budget::default(), diagnostics, known };
    let mut units = Vec::new();
    let mut environments: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (index, environment) in graph.environments.iter().enumerate() {
        let is_base = graph.files.get(environment.file).is_some_and(|file| file.is_base);
        if is_base || !environment.ends {
            continue;
        }
        if renderer.is_hopeless() {
            break;
        }
        let known = renderer.diagnostics.len();
        let part = renderer.environment(index, &Values::new());
        // Mistakes in documents of which something is missing say nothing.
        if part.is_whole && renderer.diagnostics.len() == known {
            environments
                .entry(environment.name().to_owned())
                .or_default()
                .extend(clusters_of(&part.documents));
            units.push(part.documents);
        }
        if renderer.budget.is_spent() {
            renderer.diagnostics.push(budget::spent(&environment.document.file, environment.span()));
            break;
        }
    }
    let diagnostics = renderer.diagnostics;
    let mut rendered = Rendered { units, environments, diagnostics, ..Rendered::default() };
    for (index, file) in graph.files.into_iter().enumerate() {
        if file.is_base {
            rendered.bases.insert(file.parsed.file.path().to_owned());
        }
        if index >= given {
            rendered.files.push(file.parsed.file);
        } else if !file.is_base {
            rendered.own.push(file.parsed);
        } else {
            rendered.base_clusters.extend(clusters_of(&file.parsed.documents));
        }
    }
    rendered
}

/// The names of the clusters among some documents.
fn clusters_of(documents: &[Found]) -> impl Iterator<Item = String> {
    let clusters = documents.iter().map(|found| &found.document).filter(|document| document.kind == CLUSTER);
    clusters.filter_map(|document| document.name().map(str::to_owned))
}

/// What an environment renders.
#[derive(Default)]
struct Part<'a> {
    documents: Vec<Found>,
    /// The fields of the documents that have only allowed values.
    restricted: Vec<Restricted<'a>>,
    /// The names of its variables, and of those of environments among its bases.
    names: BTreeSet<&'a str>,
    /// Whether nothing is missing because of a mistake in an `Environment` document or in its bases.
    is_whole: bool,
}

struct Renderer<'a> {
    graph: &'a Graph,
    budget: Budget,
    diagnostics: Vec<Diagnostic>,
    /// How many problems were known before the rendering, which has errors only.
    known: usize,
}

impl<'a> Renderer<'a> {
    /// Whether there are more errors than are shown. Environments among many others would repeat the errors of a base for each.
    const fn is_hopeless(&self) -> bool {
        self.diagnostics.len() - self.known > count::PROBLEMS
    }

    /// Renders an environment with the values of the environments of which it is a base. Their values win over its own.
    fn environment(&mut self, index: usize, outer: &Values<'a>) -> Part<'a> {
        let graph = self.graph;
        let Some(environment) = graph.environments.get(index) else { return Part::default() };
        let Some(content) = &environment.content else { return Part::default() };
        // Its values and patches, and the values for it, are looked at and copied each time.
        let work = environment.document.root.size() + environment.bases.len() + outer.len();
        if self.is_hopeless() || !self.budget.take(work) {
            return Part::default();
        }
        let file: &SourceFile = &environment.document.file;
        let own = environment.part("values").map(Node::entries).unwrap_or_default();
        let mut values: Values<'a> =
            own.iter().map(|entry| (entry.key.text.as_str(), &entry.value)).collect();
        values.extend(outer.iter().map(|(name, value)| (*name, *value)));
        let declared = &content.spec.variables;
        let mut variables = Variables::of(environment, declared, &values, &mut self.diagnostics);
        let names = variables.names().collect();
        let mut part = Part { names, is_whole: environment.is_complete, ..Part::default() };
        for base in environment.bases.iter().filter_map(|base| graph.files.get(*base)) {
            for found in &base.parsed.documents {
                if !self.budget.take(found.document.root.size()) {
                    return Part::default();
                }
                let mut found = found.clone();
                let document = &mut found.document;
                part.restricted.extend(allowed::find(&document.root, part.documents.len(), &variables));
                let diagnostics = &mut self.diagnostics;
                variables.fill(&mut document.root, &document.file, &mut self.budget, diagnostics);
                part.documents.push(found);
            }
            for inner in &base.environments {
                let inner = self.environment(*inner, &values);
                let before = part.documents.len();
                part.restricted.extend(inner.restricted.into_iter().map(|field| field.moved_by(before)));
                part.documents.extend(inner.documents);
                part.names.extend(inner.names);
                part.is_whole &= inner.is_whole;
            }
        }
        Patching {
            environment,
            variables: &mut variables,
            budget: &mut self.budget,
            diagnostics: &mut self.diagnostics,
            is_whole: part.is_whole,
        }
        .apply(&mut part.documents, &mut part.restricted, &content.spec.patches);
        if self.budget.is_spent() {
            return Part::default();
        }
        if part.is_whole {
            self.diagnostics.extend(variables.unused());
            for entry in own.iter().filter(|entry| !part.names.contains(entry.key.text.as_str())) {
                let unknown =
                    unknown_value(environment, &entry.key.text, &part.names, self.diagnostics.len());
                self.diagnostics.push(unknown.at(file, entry.key.span));
            }
        }
        part
    }
}

/// The error of a value without a variable.
fn unknown_value(
    environment: &Environment,
    name: &str,
    names: &BTreeSet<&str>,
    problems: usize,
) -> Diagnostic {
    let hint = match meant(name, names.iter().copied(), problems) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if names.is_empty() => "declare the variable in `variables`, or remove the value".to_owned(),
        None => format!("the variables are {}", listed(names.iter().copied())),
    };
    let message = format!("the environment `{}` has no variable `{name}`", environment.name());
    Diagnostic::error(code::VARIABLE, message).hint(hint)
}
