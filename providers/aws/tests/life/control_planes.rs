//! Control planes that leave: of a cluster to whose API Slipway has no access, and so many that etcd has no majority.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;

use crate::world::{APPLY, PLAN, PUBLIC, World};

const GROUP: &str = "aws_autoscaling_group.control-plane-masters-minimal-example-com";
/// Three control planes in three zones, without access to their API.
const EDITS: &[(&str, &str)] = &[
    (", config: { clusterApi: { endpoint: CLUSTER_API } }", ""),
    ("zones: [us-east-1a]", "zones: [us-east-1a, us-east-1b, us-east-1c]"),
    (
        "kind: public, cidr: 172.20.32.0/19 }",
        "kind: public, cidr: 172.20.32.0/19 }
      - { name: b, zone: us-east-1b, kind: public, cidr: 172.20.64.0/19 }
      - { name: c, zone: us-east-1c, kind: public, cidr: 172.20.96.0/19 }",
    ),
    ("image: ami-1e749f67, subnets: [a] }", "image: ami-1e749f67, subnets: [a, b, c], size: { fixed: 3 } }"),
];

/// Replaces the volumes of two members of etcd.
const VOLUMES: &[&str] = &[
    "--replace",
    "aws_ebs_volume.b-etcd-main-minimal-example-com",
    "--replace",
    "aws_ebs_volume.c-etcd-main-minimal-example-com",
];

/// The roll of control planes whose nodes are not known, and the loss of the majority of etcd, are confirmed by name.
pub fn losses_are_named() -> Result<()> {
    let world = World::new()?;
    let mut text = PUBLIC.to_owned();
    for (from, to) in EDITS {
        ensure!(text.contains(from), "the spec has no {from}");
        text = text.replacen(from, to, 1);
    }
    world.spec(&text)?;
    world.apply()?;
    world.is_settled()?;

    world.spec(&text.replace("m5.large", "m5.xlarge"))?;
    let before = world.cloud.objects()?;
    let refused = world.expect(1, APPLY)?.err;
    ensure!(refused.contains("RUN0008") && refused.contains(&format!("--confirm {GROUP}")), "{refused}");
    ensure!(world.cloud.objects()? == before, "the cloud was changed without a confirmation");
    is_outage(&planned(&world, &[])?)?;
    world.expect(0, &[APPLY, &["--confirm", GROUP]].concat())?;
    world.is_settled()?;

    let text = text.replace("m5.large", "m5.xlarge");
    world.spec(&text.replace("size: { fixed: 3 }", "size: { fixed: 1 }"))?;
    let refused = world.expect(1, PLAN)?.err;
    ensure!(refused.contains("error[PLAN0049]") && refused.contains(GROUP), "{refused}");

    world.spec(&text)?;
    let plan = planned(&world, VOLUMES)?;
    let reasons = confirmations(&plan)?;
    let volumes: Vec<_> = reasons.iter().filter(|(name, _)| name.contains("-etcd-main-")).collect();
    ensure!(volumes.len() == 2, "{reasons:#?}");
    for (name, reason) in volumes {
        ensure!(reason.contains("keeps 1 of 3 members, which is no majority"), "{name}: {reason}");
    }
    world.delete()?;
    world.is_empty()
}

fn planned(world: &World, more: &[&str]) -> Result<Json> {
    Ok(serde_json::from_str(&world.expect(2, &[PLAN, &["-o", "json"], more].concat())?.out)?)
}

/// The reason for each confirmation, by its name.
fn confirmations(plan: &Json) -> Result<BTreeMap<String, String>> {
    let all = plan["confirmations"].as_array().context("no confirmations")?;
    let of = |one: &Json| -> Result<(String, String)> {
        let name = one["name"].as_str().context("no name")?;
        let reason = one["losses"][0]["reason"].as_str().context("no reason")?;
        Ok((name.to_owned(), reason.to_owned()))
    };
    all.iter().map(of).collect()
}

/// Sees that a plan marks the change of the control planes as an outage.
fn is_outage(plan: &Json) -> Result<()> {
    let all = plan["disruption"].as_array().context("no disruption")?;
    let class = all.iter().find(|one| one["address"] == GROUP).map(|one| &one["class"]);
    ensure!(class.is_some_and(|class| class == "outage"), "{all:#?}");
    Ok(())
}
