//! Changes that were made by hand.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value as Json;

use crate::world::{PLAN, World};

/// A rule added to a security group by hand is drift and is revoked; a rule of a controller stays.
pub fn a_rule_of_somebody_is_drift() -> Result<()> {
    let world = World::new()?;
    world.public(&[])?;
    world.apply()?;
    let before = world.shape()?;
    let groups = world.cloud.objects()?.into_iter().filter(|object| object.kind == "security-group");
    let group = groups.into_iter().find(|group| group.name.contains("nodes")).context("no group of nodes")?;
    let address = group.name.clone();
    let allow = |port: u16, description: &str| -> Result<()> {
        let form = format!(
            "Version=2016-11-15&Action=AuthorizeSecurityGroupIngress&GroupId={}&IpPermissions.1.IpProtocol=tcp\
             &IpPermissions.1.FromPort={port}&IpPermissions.1.ToPort={port}&IpPermissions.1.IpRanges.1.CidrIp=0.0.0.0%2F0\
             &IpPermissions.1.IpRanges.1.Description={description}",
            group.id
        );
        world.cloud.ask("ec2", &form).map(drop)
    };
    allow(31234, "kubernetes.io%2Frule%2Fnlb%2Fclient%3Da")?;
    world.is_settled().context("a rule of a controller")?;
    allow(2222, "mine")?;
    let changes = world.plan()?;
    let found: Vec<(&str, &str)> =
        changes.iter().map(|(name, what)| (name.as_str(), what.as_str())).collect();
    ensure!(found == [(address.as_str(), "update foreign_rules")], "{found:?}");
    let drift = world.expect(2, &["drift", "-f", "spec.yaml", "-o", "json"])?;
    let drift: Json = serde_json::from_str(&drift.out)?;
    let text = drift["resource_drift"].to_string();
    ensure!(text.contains("_tcp_2222_2222_0.0.0.0/0"), "no rule in {text}");
    let shown = world.expect(2, PLAN)?.out;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(words.contains("is not of Slipway and will be revoked"), "{shown}");
    world.apply()?;
    world.is_settled()?;
    ensure!(world.shape()?.len() == before.len() + 1, "{:?}", world.shape()?);
    world.delete()?;
    world.is_empty()
}
