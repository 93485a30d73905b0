//! The manifest that installs the controller. All other tests run with the rights that it gives.

use clap::Parser as _;
use slipway_cloud_controller::arguments::Arguments;

use crate::lab::{Lab, manifest};

pub fn applied(lab: &Lab) {
    let said = lab.install();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), manifest().len());
    // The API server keeps another form of a Secret's texts than the manifest has.
    let changed: Vec<&&str> =
        lines.iter().filter(|line| !line.ends_with(" unchanged") && !line.starts_with("secret/")).collect();
    assert!(changed.is_empty(), "{said}");
    let deployment = manifest().pop().unwrap();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let flags = container["args"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap());
    let arguments =
        Arguments::try_parse_from(std::iter::once("slipway-cloud-controller").chain(flags)).unwrap();
    assert_eq!(arguments.cloud_provider, "sim");
    assert_eq!(arguments.cluster_name, "demo");
    assert_eq!(arguments.cloud_config.unwrap().to_str(), Some("/etc/slipway/cloud.yaml"));
    assert!(arguments.network.ipam().unwrap().is_some());
    let probe = &container["livenessProbe"]["httpGet"];
    assert_eq!(probe["port"], arguments.port);
    assert_eq!(probe["host"], arguments.bind_address.to_string());
}
