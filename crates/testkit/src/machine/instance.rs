//! The properties of a machine that is an instance of a cloud.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use anyhow::Result;

/// A machine that a cloud has started: it has the address that the cloud gave it, its own devices, and scripts that run
/// once.
#[derive(Clone, Debug, Default)]
pub struct Instance {
    /// Its host name.
    pub host_name: String,
    /// Its address with the length of its subnet's prefix: `172.20.32.4/19`.
    pub address: String,
    /// The address of its subnet's router.
    pub gateway: String,
    /// The hardware address of its interface.
    pub mac: String,
    /// The address of its DNS server.
    pub name_server: String,
    /// The domain in which it looks names up.
    pub domain: String,
    /// Variables that scripts and services have in their environment.
    pub environment: Vec<(String, String)>,
    /// Scripts of the user data, which run once, in this order, at the first start.
    pub scripts: Vec<Vec<u8>>,
}

impl Instance {
    /// Writes what the machine reads at its first start into its folder of scripts.
    pub(super) fn write(&self, folder: &Path) -> Result<()> {
        let place = folder.join("cloud");
        fs::create_dir_all(place.join("scripts"))?;
        fs::write(place.join("cloud-init"), include_str!("cloud-init.sh"))?;
        fs::set_permissions(place.join("cloud-init"), fs::Permissions::from_mode(0o755))?;
        let pairs = self.environment.iter();
        let lines: String = pairs.clone().map(|(name, value)| format!("{name}={value}\n")).collect();
        fs::write(place.join("environment"), lines)?;
        let defaults: String = pairs.map(|(name, value)| format!(" \"{name}={value}\"")).collect();
        fs::write(place.join("systemd.conf"), format!("[Manager]\nDefaultEnvironment={defaults}\n"))?;
        for (number, script) in self.scripts.iter().enumerate() {
            let path = place.join(format!("scripts/part-{:03}", number + 1));
            fs::write(&path, script)?;
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }

    /// The variables for the machine's first process.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        vec![
            ("MACHINE_CLOUD", "yes".to_owned()),
            ("MACHINE_NAME", self.host_name.clone()),
            ("MACHINE_INTERFACES", format!("eth0={}", self.address)),
            ("MACHINE_GATEWAY", self.gateway.clone()),
            ("MACHINE_HOSTS", String::new()),
            ("MACHINE_NAME_SERVER", self.name_server.clone()),
            ("MACHINE_DOMAIN", self.domain.clone()),
        ]
    }
}
