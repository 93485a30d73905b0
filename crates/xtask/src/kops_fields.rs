//! Writes the table of what becomes of each field of kOps.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::{Context, bail};
use slipway_kops::fields::{Kind, Table};
use slipway_kops::rules::{Class, Rules, Treatment};

use crate::workspace;

const FILE: &str = "docs/guide/kops-fields.tsv";
const HONOURED_BY: &str = "providers/aws/model/tests/kops_fields.rs";
/// The honoured fields that only reach the user data of machines. The test of honoured fields finds them.
const IN_USER_DATA: &str = "providers/aws/model/tests/user-data-only.tsv";
const JUDGED_BY: &str = "crates/kops/tests/leaves.rs";

/// Writes the table of what becomes of each field of kOps.
#[derive(clap::Args)]
pub struct KopsFields {
    /// Compare with what is checked in, write nothing, fail on a difference.
    #[arg(long)]
    pub check: bool,
}

impl KopsFields {
    /// Runs the task.
    ///
    /// # Errors
    /// When a field belongs to no class, when the table cannot be written, and with `--check` when it differs.
    pub fn run(&self) -> anyhow::Result<()> {
        let path = workspace::root().join(FILE);
        let text = table()?;
        if !self.check {
            fs::write(&path, &text).with_context(|| format!("cannot write {FILE}"))?;
        }
        if fs::read_to_string(&path).unwrap_or_default() != text {
            bail!("{FILE} is not what the rules say; `cargo xtask kops-fields` writes it again");
        }
        Ok(())
    }
}

/// The fields that only reach the user data of machines, each with its kind before it.
fn in_user_data() -> anyhow::Result<BTreeSet<String>> {
    let text = fs::read_to_string(workspace::root().join(IN_USER_DATA))
        .with_context(|| format!("cannot read {IN_USER_DATA}"))?;
    Ok(text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect())
}

/// One line for each leaf field of a `Cluster` and an `InstanceGroup`.
fn table() -> anyhow::Result<String> {
    let (table, rules) = (Table::v1alpha2(), Rules::v1alpha2());
    let in_user_data = in_user_data()?;
    let mut text = String::from(
        "# Written by `cargo xtask kops-fields` from crates/kops/src/rules/classes.tsv: what becomes on AWS of each\n\
         # field of kops.k8s.io/v1alpha2, whether a plan without it is safe, and the test that proves it. A field of\n\
         # the class `user data` is for machines that boot by the user data of Slipway. A plan of such machines\n\
         # names the fields that they do not carry out yet.\n\
         kind\tfield\tclass\tsafe without it\twhy\ttest\n",
    );
    for kind in [Kind::Cluster, Kind::InstanceGroup] {
        for leaf in table.leaves(kind) {
            let Some((_, treatment)) = rules.find(kind, &leaf.path) else {
                bail!("{} {} belongs to no class", kind.as_str(), leaf.path);
            };
            let class = match treatment.class() {
                Class::Honoured if in_user_data.contains(&format!("{}\t{}", kind.as_str(), leaf.path)) => {
                    "user data"
                }
                Class::Honoured => "honoured",
                Class::Refused => "refused",
                Class::WithoutEffect => "without effect",
            };
            let safe = match treatment {
                Treatment::Harmless(_) => "yes",
                Treatment::Lost(_) => "when the cluster can do without",
                _ => "-",
            };
            let test = if treatment.class() == Class::Honoured { HONOURED_BY } else { JUDGED_BY };
            let mut why = treatment.explanation(&leaf.path);
            if class == "user data" {
                why.push_str(", which only changes the user data of machines");
            }
            writeln!(text, "{}\t{}\t{class}\t{safe}\t{why}\t{test}", kind.as_str(), leaf.path)?;
        }
    }
    Ok(text)
}
