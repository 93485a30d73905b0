//! Components on nodes and in the cluster.

use slipway_cluster_input as input;

use super::all;
use crate::model;

impl From<model::Component> for input::Component {
    fn from(from: model::Component) -> Self {
        let model::Component { extra_args, environment, feature_gates, resources, image, log_level } = from;
        Self { extra_args, environment, feature_gates, resources: resources.into(), image, log_level }
    }
}

impl From<model::Resources> for input::Resources {
    fn from(from: model::Resources) -> Self {
        let model::Resources { cpu_request, cpu_limit, memory_request, memory_limit } = from;
        Self { cpu_request, cpu_limit, memory_request, memory_limit }
    }
}

impl From<model::ComponentName> for input::ComponentName {
    fn from(from: model::ComponentName) -> Self {
        match from {
            model::ComponentName::ApiServer => Self::ApiServer,
            model::ComponentName::ControllerManager => Self::ControllerManager,
            model::ComponentName::Scheduler => Self::Scheduler,
            model::ComponentName::Proxy => Self::Proxy,
            model::ComponentName::Kubelet => Self::Kubelet,
            model::ComponentName::Etcd => Self::Etcd,
            model::ComponentName::CloudController => Self::CloudController,
        }
    }
}

impl From<model::Kubelet> for input::Kubelet {
    fn from(from: model::Kubelet) -> Self {
        let model::Kubelet {
            max_pods,
            kube_reserved,
            system_reserved,
            eviction_hard,
            eviction_soft,
            eviction_soft_grace_period,
            cpu_manager_policy,
            topology_manager_policy,
            image_gc_high_threshold_percent,
            image_gc_low_threshold_percent,
            shutdown_grace_period,
            serialize_image_pulls,
            server_tls_bootstrap,
            fail_swap_on,
            allowed_unsafe_sysctls,
            feature_gates,
            extra_config,
        } = from;
        Self {
            max_pods,
            kube_reserved,
            system_reserved,
            eviction_hard,
            eviction_soft,
            eviction_soft_grace_period,
            cpu_manager_policy,
            topology_manager_policy,
            image_gc_high_threshold_percent,
            image_gc_low_threshold_percent,
            shutdown_grace_period,
            serialize_image_pulls,
            server_tls_bootstrap,
            fail_swap_on,
            allowed_unsafe_sysctls,
            feature_gates,
            extra_config,
        }
    }
}

impl From<model::Taint> for input::Taint {
    fn from(from: model::Taint) -> Self {
        let model::Taint { key, value, effect } = from;
        Self { key, value, effect: effect.into() }
    }
}

impl From<model::NodeFiles> for input::NodeFiles {
    fn from(from: model::NodeFiles) -> Self {
        let model::NodeFiles { files, hooks } = from;
        Self { files: all(files), hooks: all(hooks) }
    }
}

impl From<model::FileAsset> for input::FileAsset {
    fn from(from: model::FileAsset) -> Self {
        let model::FileAsset { name, path, content, mode } = from;
        Self { name, path, content, mode }
    }
}

impl From<model::Hook> for input::Hook {
    fn from(from: model::Hook) -> Self {
        let model::Hook { name, content, timing, enabled } = from;
        Self { name, content, timing: timing.into(), enabled }
    }
}

impl From<model::TaintEffect> for input::TaintEffect {
    fn from(from: model::TaintEffect) -> Self {
        match from {
            model::TaintEffect::NoSchedule => Self::NoSchedule,
            model::TaintEffect::PreferNoSchedule => Self::PreferNoSchedule,
            model::TaintEffect::NoExecute => Self::NoExecute,
        }
    }
}

impl From<model::HookTiming> for input::HookTiming {
    fn from(from: model::HookTiming) -> Self {
        match from {
            model::HookTiming::BeforeKubelet => Self::BeforeKubelet,
            model::HookTiming::AfterKubelet => Self::AfterKubelet,
        }
    }
}

impl From<model::ContainerRuntime> for input::ContainerRuntime {
    fn from(from: model::ContainerRuntime) -> Self {
        let model::ContainerRuntime { version, registry_mirrors, sandbox_image, extra_config } = from;
        Self { version, registry_mirrors: all(registry_mirrors), sandbox_image, extra_config }
    }
}

impl From<model::RegistryMirror> for input::RegistryMirror {
    fn from(from: model::RegistryMirror) -> Self {
        let model::RegistryMirror { registry, endpoints } = from;
        Self { registry, endpoints }
    }
}

impl From<model::Assets> for input::Assets {
    fn from(from: model::Assets) -> Self {
        let model::Assets { image_registry, file_repository, programs } = from;
        Self { image_registry, file_repository, programs: programs.into() }
    }
}

impl From<model::Programs> for input::Programs {
    fn from(from: model::Programs) -> Self {
        let model::Programs { mirrors, files } = from;
        Self { mirrors, files: all(files) }
    }
}

impl From<model::ProgramFile> for input::ProgramFile {
    fn from(from: model::ProgramFile) -> Self {
        let model::ProgramFile { name, architecture, version, path, sha256 } = from;
        let (name, architecture) = (name.into(), architecture.into());
        Self { name, architecture, version, path, sha256 }
    }
}

impl From<model::ProgramName> for input::ProgramName {
    fn from(from: model::ProgramName) -> Self {
        match from {
            model::ProgramName::Slipway => Self::Slipway,
            model::ProgramName::Containerd => Self::Containerd,
            model::ProgramName::Runc => Self::Runc,
            model::ProgramName::CniPlugins => Self::CniPlugins,
            model::ProgramName::Kubelet => Self::Kubelet,
            model::ProgramName::Crictl => Self::Crictl,
            model::ProgramName::Provider => Self::Provider,
        }
    }
}

impl From<model::EgressProxy> for input::EgressProxy {
    fn from(from: model::EgressProxy) -> Self {
        let model::EgressProxy { url, exclusions } = from;
        Self { url, exclusions }
    }
}

impl From<model::Ssh> for input::Ssh {
    fn from(from: model::Ssh) -> Self {
        let model::Ssh { keys, key_name, access } = from;
        Self { keys, key_name, access }
    }
}

impl From<model::Addon> for input::Addon {
    fn from(from: model::Addon) -> Self {
        let model::Addon { name, enabled, version, replicas, minimum_available, config, manifest } = from;
        Self {
            name,
            enabled,
            version,
            replicas,
            minimum_available,
            config,
            manifest: manifest.map(Into::into),
        }
    }
}

impl From<model::Manifest> for input::Manifest {
    fn from(from: model::Manifest) -> Self {
        match from {
            model::Manifest::File(inner) => Self::File(inner),
            model::Manifest::Url { url, sha256 } => Self::Url { url, sha256 },
        }
    }
}

impl From<model::IgnoredChange> for input::IgnoredChange {
    fn from(from: model::IgnoredChange) -> Self {
        let model::IgnoredChange { resource, attribute } = from;
        Self { resource, attribute }
    }
}

impl From<model::Moved> for input::Moved {
    fn from(from: model::Moved) -> Self {
        let model::Moved { from, to } = from;
        Self { from, to }
    }
}
