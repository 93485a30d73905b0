//! The cloud permissions of pod networks.

use slipway_cluster_input::Role;

use crate::policy::{Condition, Grants, Scope};

/// The calls of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Networking {
    /// None: an overlay, or routes that Slipway does not manage.
    Plain,
    /// Pods have addresses of the VPC, on interfaces that each node manages itself.
    AmazonVpc,
    /// Pods have addresses of the VPC, on interfaces that an operator manages.
    CiliumEni,
    /// Packets between nodes have pods' addresses, so the source check of each node is turned off.
    Calico,
    /// The same, by another agent that needs fewer permissions.
    KubeRouter,
}

/// Permissions of machines with a role. `ipv6` is for clusters whose pods have only IPv6 addresses.
pub(crate) fn networking(
    grants: &mut Grants,
    scope: &Scope<'_>,
    networking: Networking,
    ipv6: bool,
    role: Role,
) {
    let worker = role == Role::Worker;
    match networking {
        Networking::Plain => {}
        Networking::AmazonVpc => amazon_vpc(grants, scope, worker),
        Networking::CiliumEni if worker => grants.anywhere(["ec2:DescribeInstanceTypes"]),
        Networking::CiliumEni => cilium_eni(grants),
        Networking::Calico if ipv6 => {}
        Networking::Calico => {
            grants.anywhere(["ec2:ModifyNetworkInterfaceAttribute"]);
            if role != Role::ControlPlane {
                grants.anywhere(["ec2:DescribeInstances"]);
            }
        }
        Networking::KubeRouter if worker => grants.anywhere(["ec2:ModifyInstanceAttribute"]),
        Networking::KubeRouter => {}
    }
    if ipv6 {
        grants.anywhere(["ec2:AssignIpv6Addresses"]);
        if role == Role::ControlPlane {
            grants.anywhere(["ec2:DescribeNetworkInterfaces"]);
        }
    }
}

fn amazon_vpc(grants: &mut Grants, scope: &Scope<'_>, worker: bool) {
    grants.anywhere([
        "ec2:AssignPrivateIpAddresses",
        "ec2:AttachNetworkInterface",
        "ec2:CreateNetworkInterface",
        "ec2:DeleteNetworkInterface",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeTags",
        "ec2:DetachNetworkInterface",
        "ec2:ModifyNetworkInterfaceAttribute",
        "ec2:UnassignPrivateIpAddresses",
    ]);
    if worker {
        grants.anywhere(["ec2:DescribeInstances"]);
    }
    grants.allow([scope.ec2("network-interface")], &Condition::none(), ["ec2:CreateTags"]);
}

fn cilium_eni(grants: &mut Grants) {
    grants.anywhere([
        "ec2:AssignPrivateIpAddresses",
        "ec2:AttachNetworkInterface",
        "ec2:CreateNetworkInterface",
        "ec2:CreateTags",
        "ec2:DeleteNetworkInterface",
        "ec2:DescribeNetworkInterfaces",
        "ec2:ModifyNetworkInterfaceAttribute",
        "ec2:UnassignPrivateIpAddresses",
    ]);
}
