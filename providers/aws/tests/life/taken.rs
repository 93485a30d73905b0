//! Names that objects of others have.

use anyhow::{Result, ensure};

use crate::world::{APPLY, HIGHLY_AVAILABLE, World};

const TRUST: &str = "%7B%22Version%22%3A%222012-10-17%22%2C%22Statement%22%3A%5B%5D%7D";

/// All names that are taken are named before anything is changed.
pub fn all_are_named_before_the_first_change() -> Result<()> {
    let world = World::new()?;
    world.spec(HIGHLY_AVAILABLE)?;
    let iam = "Version=2010-05-08";
    let role =
        format!("{iam}&Action=CreateRole&RoleName=masters.ha.example.com&AssumeRolePolicyDocument={TRUST}");
    world.cloud.ask("iam", &role)?;
    let profile = format!("{iam}&Action=CreateInstanceProfile&InstanceProfileName=nodes.ha.example.com");
    world.cloud.ask("iam", &profile)?;
    let template = "Version=2016-11-15&Action=CreateLaunchTemplate&LaunchTemplateName=bastions.ha.example.com\
                    &LaunchTemplateData.InstanceType=t3.micro";
    world.cloud.ask("ec2", template)?;
    let before = world.cloud.objects()?;
    let planned = world.place().run(&["plan", "-f", "spec.yaml"])?;
    ensure!(planned.code != Some(0), "{planned:?}");
    let planned = planned.out.split_whitespace().collect::<Vec<_>>().join(" ");
    for name in ["masters.ha.example.com", "nodes.ha.example.com", "bastions.ha.example.com"] {
        ensure!(planned.contains(&format!("the name {name} is taken")), "{name}: {planned}");
    }
    ensure!(planned.matches("is taken").count() == 3, "{planned}");
    world.expect(1, APPLY)?;
    ensure!(world.cloud.objects()? == before, "something was changed");
    Ok(())
}
