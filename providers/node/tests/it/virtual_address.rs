//! The service that takes part in the election for a virtual address, as far as it works without rights over the network.

use std::fs;
use std::process::Command;

use serde_json::json;

use super::bench::{Bench, value};

#[tokio::test]
async fn a_plan_refuses_an_address_that_no_host_can_have() {
    let bench = Bench::new().await;
    let wanted = |address: &str, node_address: &str| {
        value(json!({
            "address": address, "node": "cp-0", "node_address": node_address, "kubeconfig_path": "/virtual-address.conf",
        }))
    };
    let planned = async |wanted| bench.planned("virtual_address.virtual-address", wanted).await;
    planned(wanted("192.0.2.40", "192.0.2.10")).await.unwrap();
    planned(wanted("fd00::40", "fd00::10")).await.unwrap();
    for (address, node_address, why) in [
        ("127.0.0.1", "192.0.2.10", "address: `127.0.0.1` is not an address of a host"),
        ("224.0.0.1", "192.0.2.10", "is not an address of a host"),
        ("api.example.com", "192.0.2.10", "is not an address of a host"),
        ("192.0.2.40", "0.0.0.0", "node_address: `0.0.0.0` is not an address of a host"),
    ] {
        let error = planned(wanted(address, node_address)).await.unwrap_err();
        assert!(error.message.contains(why), "{error:?}");
    }
}

#[test]
fn it_ends_where_it_cannot_have_the_address() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings.json");
    let settings = |interface: &str| {
        json!({
            "address": "192.0.2.40", "interface": interface, "node": "cp-0", "node_address": "192.0.2.10",
            "kubeconfig_path": folder.path().join("none.conf"),
        })
        .to_string()
    };
    for (text, why) in [
        (settings("no-such-link"), "there is no interface no-such-link"),
        (settings("lo"), "the interface lo has no address of Ethernet"),
        ("{".to_owned(), "does not have the settings"),
    ] {
        fs::write(&path, text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_slipway-provider-node"));
        let output = command.arg("virtual-address").arg("--config").arg(&path).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{why} in {said}");
    }
}
