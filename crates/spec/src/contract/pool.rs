//! Pools.

use slipway_cluster_input as input;

use super::all;
use crate::model;

impl From<model::NodePool> for input::NodePool {
    fn from(from: model::NodePool) -> Self {
        let model::NodePool {
            name,
            labels,
            role,
            size,
            kubernetes_version,
            machine_type,
            architecture,
            image,
            mixed_instances,
            spot,
            root_volume,
            volumes,
            subnets,
            zones,
            public_ip,
            additional_security_groups,
            node_labels,
            taints,
            kubelet,
            rollout,
            warm_pool,
            hosts,
            user_data,
            packages,
            sysctls,
            node_files,
            cloud_labels,
            provider_config,
        } = from;
        Self {
            name,
            labels,
            role: role.into(),
            size: size.into(),
            kubernetes_version,
            machine_type,
            architecture: architecture.into(),
            image,
            mixed_instances: mixed_instances.map(Into::into),
            spot: spot.map(Into::into),
            root_volume: root_volume.into(),
            volumes: all(volumes),
            subnets,
            zones,
            public_ip,
            additional_security_groups,
            node_labels,
            taints: all(taints),
            kubelet: kubelet.into(),
            rollout: rollout.into(),
            warm_pool: warm_pool.map(Into::into),
            hosts: hosts.map(Into::into),
            user_data: all(user_data),
            packages,
            sysctls,
            node_files: node_files.into(),
            cloud_labels,
            provider_config,
        }
    }
}

impl From<model::Role> for input::Role {
    fn from(from: model::Role) -> Self {
        match from {
            model::Role::ControlPlane => Self::ControlPlane,
            model::Role::Worker => Self::Worker,
            model::Role::ApiServer => Self::ApiServer,
            model::Role::Bastion => Self::Bastion,
        }
    }
}

impl From<model::MixedInstances> for input::MixedInstances {
    fn from(from: model::MixedInstances) -> Self {
        let model::MixedInstances {
            machine_types,
            on_demand_base,
            on_demand_percentage_above_base,
            spot_pools,
            spot_allocation_strategy,
        } = from;
        Self {
            machine_types,
            on_demand_base,
            on_demand_percentage_above_base,
            spot_pools,
            spot_allocation_strategy,
        }
    }
}

impl From<model::Spot> for input::Spot {
    fn from(from: model::Spot) -> Self {
        let model::Spot { max_price } = from;
        Self { max_price }
    }
}

impl From<model::UserData> for input::UserData {
    fn from(from: model::UserData) -> Self {
        let model::UserData { name, kind, content } = from;
        Self { name, kind: kind.into(), content }
    }
}

impl From<model::Architecture> for input::Architecture {
    fn from(from: model::Architecture) -> Self {
        match from {
            model::Architecture::Amd64 => Self::Amd64,
            model::Architecture::Arm64 => Self::Arm64,
        }
    }
}

impl From<model::UserDataType> for input::UserDataType {
    fn from(from: model::UserDataType) -> Self {
        match from {
            model::UserDataType::ShellScript => Self::ShellScript,
            model::UserDataType::CloudConfig => Self::CloudConfig,
            model::UserDataType::CloudBoothook => Self::CloudBoothook,
            model::UserDataType::CloudConfigArchive => Self::CloudConfigArchive,
            model::UserDataType::IncludeUrl => Self::IncludeUrl,
            model::UserDataType::IncludeOnceUrl => Self::IncludeOnceUrl,
            model::UserDataType::Jinja => Self::Jinja,
            model::UserDataType::PartHandler => Self::PartHandler,
        }
    }
}

impl From<model::Rollout> for input::Rollout {
    fn from(from: model::Rollout) -> Self {
        let model::Rollout { strategy, max_surge, max_unavailable, drain, ready_timeout, settle } = from;
        let strategy = match strategy {
            model::Strategy::InPlace => input::Strategy::InPlace,
            model::Strategy::InPlaceOrReplace => input::Strategy::InPlaceOrReplace,
            model::Strategy::Replace => input::Strategy::Replace,
        };
        Self { strategy, max_surge, max_unavailable, drain: drain.into(), ready_timeout, settle }
    }
}

impl From<model::Drain> for input::Drain {
    fn from(from: model::Drain) -> Self {
        let model::Drain { enabled, budgets, timeout, on_blocked } = from;
        Self { enabled, budgets: budgets.into(), timeout, on_blocked: on_blocked.into() }
    }
}

impl From<model::Budgets> for input::Budgets {
    fn from(from: model::Budgets) -> Self {
        match from {
            model::Budgets::Respect => Self::Respect,
            model::Budgets::Ignore => Self::Ignore,
        }
    }
}

impl From<model::OnBlocked> for input::OnBlocked {
    fn from(from: model::OnBlocked) -> Self {
        match from {
            model::OnBlocked::Fail => Self::Fail,
            model::OnBlocked::Skip => Self::Skip,
            model::OnBlocked::Force => Self::Force,
        }
    }
}

impl From<model::WarmPool> for input::WarmPool {
    fn from(from: model::WarmPool) -> Self {
        let model::WarmPool { min_size, max_size, lifecycle_hook } = from;
        Self { min_size, max_size, lifecycle_hook }
    }
}

impl From<model::Size> for input::Size {
    fn from(from: model::Size) -> Self {
        match from {
            model::Size::Fixed(inner) => Self::Fixed(inner),
            model::Size::Bounds { min, max } => Self::Bounds { min, max },
        }
    }
}

impl From<model::Volume> for input::Volume {
    fn from(from: model::Volume) -> Self {
        let model::Volume {
            device,
            mount_path,
            size_gib,
            kind,
            iops,
            throughput,
            encrypted,
            key,
            delete_on_termination,
        } = from;
        Self { device, mount_path, size_gib, kind, iops, throughput, encrypted, key, delete_on_termination }
    }
}
