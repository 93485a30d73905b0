use serde::Deserialize;
use slipway_cluster_input::mirror_urls;
use slipway_resource::provider::executable_name;
use slipway_spec::model::ContainerRuntime;

use super::NodeBootstrap;

/// Programs that a machine installs when its image lacks them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Programs {
    /// Where the files are: URLs of folders, tried in this order.
    pub mirrors: Vec<String>,
    /// The files.
    pub files: Vec<ProgramFile>,
}

impl Programs {
    /// The URLs of a file, one for each mirror, in the order in which they are tried.
    #[must_use]
    pub fn urls(&self, file: &ProgramFile) -> Vec<String> {
        mirror_urls(&self.mirrors, &file.path)
    }
}

/// One file with a program, or with several.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramFile {
    /// The programs in it.
    pub name: ProgramName,
    /// Its path below a mirror.
    pub path: String,
    /// The SHA-256 of its bytes, 64 hexadecimal digits.
    pub sha256: String,
}

/// The programs in a downloaded file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProgramName {
    /// containerd's release archive (gzip): programs below `bin/`.
    Containerd,
    /// runc, the program itself.
    Runc,
    /// The archive (gzip) of the CNI plugins.
    CniPlugins,
    /// The kubelet, the program itself.
    Kubelet,
    /// crictl's release archive (gzip).
    Crictl,
    /// The provider module of the cloud, the program itself.
    Provider,
}

impl ProgramName {
    /// The program whose presence shows that the file is not needed; none for the plugins, which are on no path.
    #[must_use]
    pub fn program(self, provider: &str) -> Option<String> {
        match self {
            Self::Containerd => Some("containerd".to_owned()),
            Self::Runc => Some("runc".to_owned()),
            Self::CniPlugins => None,
            Self::Kubelet => Some("kubelet".to_owned()),
            Self::Crictl => Some("crictl".to_owned()),
            Self::Provider => Some(executable_name(provider)),
        }
    }

    /// Its name in messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Containerd => "containerd",
            Self::Runc => "runc",
            Self::CniPlugins => "the CNI plugins",
            Self::Kubelet => "the kubelet",
            Self::Crictl => "crictl",
            Self::Provider => "the provider of the cloud",
        }
    }
}

/// Where an operating system has what nodes need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The folder of programs.
    pub programs: &'static str,
    /// The folder of CNI plugins.
    pub plugins: &'static str,
    /// The folder of systemd units of the machine's own.
    pub units: &'static str,
}

const USUAL: Layout =
    Layout { programs: "/usr/local/bin", plugins: "/opt/cni/bin", units: "/etc/systemd/system" };

/// `/usr` cannot be written to there.
const READ_ONLY_USR: Layout = Layout { programs: "/opt/bin", ..USUAL };

/// Operating systems by their `ID` and the beginning of their `VERSION_ID` (os-release(5)).
const KNOWN: [(&str, &str, Layout); 9] = [
    ("ubuntu", "22.04", USUAL),
    ("ubuntu", "24.04", USUAL),
    ("debian", "12", USUAL),
    ("debian", "13", USUAL),
    ("amzn", "2023", USUAL),
    ("rhel", "9", USUAL),
    ("rocky", "9", USUAL),
    ("almalinux", "9", USUAL),
    ("flatcar", "", READ_ONLY_USR),
];

impl Layout {
    /// The layout of an operating system, by the text of its `/etc/os-release`. The error names the system.
    ///
    /// # Errors
    /// When the system is not known.
    pub fn of(os_release: &str) -> Result<Self, String> {
        let value = |key: &str| {
            let mut lines = os_release.lines().filter_map(|line| line.trim().split_once('='));
            let found = lines.rfind(|(name, _)| *name == key);
            found.map(|(_, value)| value.trim_matches(['"', '\'']).to_owned()).unwrap_or_default()
        };
        let (id, version) = (value("ID"), value("VERSION_ID"));
        let fits = |wanted: &str| {
            version
                .strip_prefix(wanted)
                .is_some_and(|rest| wanted.is_empty() || rest.is_empty() || rest.starts_with('.'))
        };
        let known = KNOWN.iter().find(|(known, wanted, _)| *known == id && fits(wanted));
        known.map(|(_, _, layout)| *layout).ok_or_else(|| format!("{id} {version}").trim().to_owned())
    }
}

impl NodeBootstrap {
    /// The programs that the machine installs when its image lacks them.
    #[must_use]
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// The Kubernetes version of the kubelet, without a `v`.
    #[must_use]
    pub fn kubelet_version(&self) -> String {
        self.node.kubernetes_version.to_string()
    }

    /// The settings of the container runtime.
    #[must_use]
    pub fn runtime(&self) -> &ContainerRuntime {
        &self.runtime
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operating_systems_are_known_by_their_own_file() {
        let of = |id: &str, version: &str| {
            Layout::of(&format!("NAME=\"Some\"\nID={id}\nVERSION_ID=\"{version}\"\nID_LIKE=debian\n"))
        };
        for (id, version) in
            [("ubuntu", "22.04"), ("ubuntu", "24.04"), ("debian", "12"), ("debian", "13"), ("amzn", "2023")]
        {
            assert_eq!(of(id, version), Ok(USUAL), "{id} {version}");
        }
        assert_eq!(of("rhel", "9.4"), Ok(USUAL));
        assert_eq!(of("rocky", "9.3"), Ok(USUAL));
        assert_eq!(of("flatcar", "4230.2.1").map(|layout| layout.programs), Ok("/opt/bin"));
        assert_eq!(of("rhel", "90"), Err("rhel 90".to_owned()));
        assert_eq!(of("alpine", "3.22"), Err("alpine 3.22".to_owned()));
    }
}
