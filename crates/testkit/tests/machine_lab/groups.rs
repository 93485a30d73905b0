//! Auto-scaling groups: their instances are machines, and are replaced after a while.

use slipway_testkit::lab::values;
use slipway_testkit::wait::until;

use crate::support::{IMAGE, base64, lab, subnets, until_console};

#[test]
#[ignore = "needs root and namespaces"]
fn a_group_replaces_an_instance_that_is_terminated() {
    let lab = lab();
    let data = base64(b"#!/bin/sh\necho \"hello from $(hostname)\"\n");
    let template = [
        ("LaunchTemplateName", "nodes"),
        ("LaunchTemplateData.ImageId", IMAGE),
        ("LaunchTemplateData.InstanceType", "t3.medium"),
        ("LaunchTemplateData.UserData", data.as_str()),
    ];
    let template = lab.call("ec2", "CreateLaunchTemplate", &template).unwrap();
    let template = values(&template, "launchTemplateId")[0];
    let subnets = subnets(&lab)[..2].join(",");
    let group = [
        ("AutoScalingGroupName", "nodes"),
        ("MinSize", "2"),
        ("MaxSize", "2"),
        ("LaunchTemplate.LaunchTemplateId", template),
        ("LaunchTemplate.Version", "1"),
        ("VPCZoneIdentifier", subnets.as_str()),
    ];
    lab.call("autoscaling", "CreateAutoScalingGroup", &group).unwrap();
    let first = lab.running().unwrap();
    assert_eq!(first.len(), 2);
    let machines: Vec<_> = first.iter().map(|id| lab.instance(id).unwrap()).collect();
    until_console(&lab, &first[0], "hello from ip-");

    // Machines of two subnets reach each other.
    let other = machines[1].address();
    machines[0].shell(&format!("busybox ping -c1 -W2 {other}")).unwrap();

    lab.call("ec2", "TerminateInstances", &[("InstanceId.1", &first[0])]).unwrap();
    // Not within the call: the group notices later.
    assert_eq!(lab.running().unwrap(), first[1..]);
    let new =
        until("the group has replaced it", || Ok(lab.running()?.into_iter().find(|id| !first.contains(id))))
            .unwrap();
    lab.instance(&new).unwrap();
    until_console(&lab, &new, "hello from ip-");
    lab.until_off(&first[0]).unwrap();
    assert!(machines[1].is_on());
}
