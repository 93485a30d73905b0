//! containerd on a node: its unit, and the settings that nodes need.

/// Where the programs of a node are looked for.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin";

/// The folder of CNI plugins.
pub const PLUGINS: &str = "/opt/cni/bin";

/// The path of containerd's configuration.
pub const CONFIGURATION_PATH: &str = "/etc/containerd/config.toml";

/// The folder in which containerd looks for the mirrors of registries.
pub const REGISTRIES: &str = "/etc/containerd/certs.d";

/// The path of the unit, where no package brought one.
pub const UNIT_PATH: &str = "/etc/systemd/system/containerd.service";

/// The path of the addition to a unit that the host brought.
pub const DROP_IN_PATH: &str = "/etc/systemd/system/containerd.service.d/20-slipway.conf";

/// The settings of containerd that nodes need. containerd 1 and 2 read it.
pub const CONFIGURATION: &str = r#"version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true
"#;

/// The same with the image of pods, the folder of CNI plugins and that of mirrors.
#[must_use]
pub fn configuration(pause: &str) -> String {
    format!(
        "{CONFIGURATION}[plugins.\"io.containerd.grpc.v1.cri\"]\nsandbox_image = \"{pause}\"\n\
         [plugins.\"io.containerd.grpc.v1.cri\".cni]\nbin_dir = \"{PLUGINS}\"\n\
         [plugins.\"io.containerd.grpc.v1.cri\".registry]\nconfig_path = \"{REGISTRIES}\"\n"
    )
}

/// The unit of containerd in a folder of programs.
#[must_use]
pub fn unit(programs: &str) -> String {
    unit_with(programs, PATH)
}

/// The same for a folder that is on no path: its programs are found first.
#[must_use]
pub fn unit_in(programs: &str) -> String {
    unit_with(programs, &format!("{programs}:{PATH}"))
}

fn unit_with(programs: &str, path: &str) -> String {
    format!(
        "[Unit]\n\
         Description=containerd: the container runtime\n\
         After=network.target local-fs.target\n\
         \n\
         [Service]\n\
         Type=notify\n\
         Environment=PATH={path}\n\
         ExecStartPre=-/sbin/modprobe --all overlay br_netfilter\n\
         ExecStart={programs}/containerd\n\
         Delegate=yes\n\
         KillMode=process\n\
         Restart=always\n\
         RestartSec=2\n\
         LimitNPROC=infinity\n\
         LimitCORE=infinity\n\
         TasksMax=infinity\n\
         OOMScoreAdjust=-999\n\
         \n\
         [Install]\n\
         WantedBy=multi-user.target\n"
    )
}

/// The addition to a unit that the host brought: it runs the containerd of a folder, and finds runc there. Pods keep running when
/// containerd restarts.
#[must_use]
pub fn drop_in(programs: &str) -> String {
    format!(
        "[Service]\n\
         Environment=PATH={programs}:{PATH}\n\
         ExecStart=\n\
         ExecStart={programs}/containerd\n\
         Delegate=yes\n\
         KillMode=process\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_restart_of_containerd_keeps_its_pods() {
        for text in [unit("/usr/local/bin"), unit_in("/opt/bin/own"), drop_in("/opt/bin/own")] {
            assert!(text.contains("\nKillMode=process\n") && text.contains("\nDelegate=yes\n"), "{text}");
        }
        assert!(drop_in("/own").contains("\nExecStart=\nExecStart=/own/containerd\n"));
        assert!(unit_in("/own").contains("\nEnvironment=PATH=/own:/usr/local/sbin:"));
    }

    #[test]
    fn the_configuration_is_one_document() {
        let text = configuration("registry/pause:1");
        assert_eq!(text.matches("[plugins.\"io.containerd.grpc.v1.cri\"]").count(), 1);
        assert!(text.contains("sandbox_image = \"registry/pause:1\"\n"), "{text}");
        assert!(text.contains("SystemdCgroup = true\n"), "{text}");
        assert!(text.ends_with("config_path = \"/etc/containerd/certs.d\"\n"), "{text}");
    }
}
