//! The storage driver for EBS volumes, and their snapshots.

use super::keys::keys;
use crate::policy::{Condition, Grants, Scope};

/// Volumes.
pub(crate) fn ebs_csi(grants: &mut Grants, scope: &Scope<'_>) {
    grants.anywhere([
        "ec2:DescribeAvailabilityZones",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeInstances",
        "ec2:DescribeTags",
        "ec2:DescribeVolumeStatus",
        "ec2:DescribeVolumes",
        "ec2:DescribeVolumesModifications",
    ]);
    keys(grants, scope);
    grants.tagging(scope, ["ec2:CopyVolumes", "ec2:CreateVolume"]);
    grants.tagged(scope, ["ec2:AttachVolume", "ec2:DeleteVolume", "ec2:DetachVolume", "ec2:ModifyVolume"]);
    grants.tags_of(scope, &["snapshot", "volume"], &["CopyVolumes", "CreateVolume"]);
}

/// Snapshots of them, where their controller is installed.
pub(crate) fn snapshots(grants: &mut Grants, scope: &Scope<'_>) {
    grants.anywhere(["ec2:CreateSnapshot", "ec2:DescribeSnapshots"]);
    grants.tagging(scope, ["ec2:CreateSnapshot"]);
    grants.tagged(scope, ["ec2:DeleteSnapshot", "ec2:EnableFastSnapshotRestores"]);
    grants.tags_of(scope, &["snapshot", "volume"], &["CreateSnapshot"]);
    grants.allow([scope.ec2("snapshot")], &Condition::tagged(scope), ["ec2:CreateVolume"]);
}
