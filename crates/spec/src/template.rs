//! A first spec for the user to edit: with comments, and valid without a diagnostic.

/// The purpose of a first spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Variant {
    /// One control-plane node and one worker, for trying out.
    #[default]
    Minimal,
    /// Three zones, three control-plane nodes, workers that scale, nodes in private subnets.
    HighlyAvailable,
}

/// The parameters of a first spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The cluster's name, a DNS name.
    pub name: String,
    /// The provider's name.
    pub provider: String,
    /// The provider's region, where it has them.
    pub region: Option<String>,
    /// The zones; the minimal variant uses the first one.
    pub zones: Vec<String>,
    /// The kind of machine.
    pub machine_type: String,
    /// The purpose of the spec.
    pub variant: Variant,
}

impl Default for Template {
    fn default() -> Self {
        Self {
            name: "demo".to_owned(),
            provider: "sim".to_owned(),
            region: None,
            zones: ["sim-1a", "sim-1b", "sim-1c"].map(ToOwned::to_owned).to_vec(),
            machine_type: "sim.medium".to_owned(),
            variant: Variant::Minimal,
        }
    }
}

const MINIMAL: &str = include_str!("template/minimal.yaml");
const HIGHLY_AVAILABLE: &str = include_str!("template/highly-available.yaml");

/// The text of a first spec: one file with the `Cluster` and its `NodePool`s. It loads without a diagnostic when the
/// names in `template` are well-formed.
#[must_use]
pub fn template(template: &Template) -> String {
    let text = match template.variant {
        Variant::Minimal => MINIMAL,
        Variant::HighlyAvailable => HIGHLY_AVAILABLE,
    };
    let zones = match template.variant {
        Variant::Minimal => template.zones.iter().take(1).cloned().collect(),
        Variant::HighlyAvailable => template.zones.clone(),
    };
    let region = template.region.as_ref().map(|region| format!("  region: {region}\n")).unwrap_or_default();
    text.replace("{{name}}", &template.name)
        .replace("{{provider}}", &template.provider)
        .replace("{{version}}", &format!("1.{}.0", crate::validate::PROVEN_MINOR))
        .replace("  {{region}}\n", &region)
        .replace("{{zones}}", &zones.join(", "))
        .replace("{{machineType}}", &template.machine_type)
}

/// A name that a cluster may have.
///
/// # Errors
/// Why the spec of a cluster with this name would be refused.
pub fn cluster_name(name: &str) -> Result<String, String> {
    let text = template(&Template { name: name.to_owned(), ..Template::default() });
    let loaded = crate::load_files(vec![crate::source::SourceFile::new("cluster.yaml", text)], &[]);
    match loaded.diagnostics.into_iter().next() {
        None => Ok(name.to_owned()),
        Some(problem) => {
            let hint = problem.hint.map(|hint| format!("; {hint}")).unwrap_or_default();
            Err(format!("{}{hint}", problem.message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{load_files, source::SourceFile};

    #[test]
    fn a_name_that_the_spec_refuses_is_refused() {
        assert_eq!(cluster_name("demo"), Ok("demo".to_owned()));
        assert!(cluster_name("Bad_Name").is_err());
        assert!(cluster_name("a: b").is_err());
    }

    #[test]
    fn loads_without_a_word() {
        for variant in [Variant::Minimal, Variant::HighlyAvailable] {
            for region in [None, Some("sim-1".to_owned())] {
                let text = template(&Template { variant, region, ..Template::default() });
                assert!(!text.contains("{{"), "{text}");
                let loaded = load_files(vec![SourceFile::new("cluster.yaml", text)], &[]);
                assert!(loaded.diagnostics.is_empty(), "{:#?}", loaded.diagnostics);
                assert_eq!(loaded.clusters.len(), 1);
            }
        }
    }
}
