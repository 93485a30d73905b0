//! A reset of a machine whose etcd folder has data that its cluster did not write.

use anyhow::{Result, ensure};
use slipway_testkit::network::Network;

use crate::place::{Begun, expect, machine};

/// The beginning of a log of member a of cluster b, for printf.
const LOG: &str = r"\004\000\000\000\000\000\000\204\010\004\020\000\000\000\000\000\012\000\000\000\000\000\000\206\010\001\020\000\032\004\010\012\020\013\000\000\000\000\000\000";

#[test]
#[ignore = "needs root and namespaces"]
fn a_reset_leaves_data_of_another_etcd_byte_for_byte() -> Result<()> {
    let network = Network::new()?;
    let machine = machine(&network, "n1")?;
    Begun::new(&machine)?;
    // The test replaces the etcd data of the machine by data of another cluster.
    machine.check(["systemctl", "stop", "kubelet"])?;
    machine.check(["mv", "/var/lib/etcd", "/var/lib/etcd.ours"])?;
    let make = format!(
        "mkdir -p /var/lib/etcd/member/wal /var/lib/etcd/member/snap && printf '{LOG}' > /var/lib/etcd/member/wal/0-0.wal && echo data > /var/lib/etcd/member/snap/db"
    );
    machine.check(["sh", "-c", &make])?;
    let content = || {
        let all = "find /var/lib/etcd -type f -exec sha256sum {} + | sort; find /var/lib/etcd -printf '%p %m %T@\\n' | sort";
        machine.check(["sh", "-c", all])
    };
    let before = content()?;
    let reset = expect(&machine, 0, &["reset", "--force", "--offline"])?;
    let said = reset.err.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "/var/lib/etcd has the data of etcd member a of cluster b";
    ensure!(said.contains(told) && said.contains("it stays as it is"), "{}", reset.err);
    ensure!(content()? == before);
    // All else that was made is gone, folders too. The folder of manifests was there before; the history of the machine stays.
    let made = "find /etc/kubernetes -mindepth 1; find /var/lib/kubelet /var/lib/slipway -not -path '/var/lib/slipway/state*' \
                -type f";
    let left = machine.run(["sh", "-c", made])?.stdout;
    let left = String::from_utf8_lossy(&left);
    ensure!(left.trim().is_empty(), "left:\n{left}");
    Ok(())
}
