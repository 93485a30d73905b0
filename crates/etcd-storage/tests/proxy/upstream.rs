//! etcd's own tests of what its clients see, through the proxy of a tenant.

use slipway_testkit::etcd_tests;
use tokio::process::Command;

use super::etcd::Etcd;
use super::tenant::Tenant;

/// The tests that pass.
const PASSED: [&str; 16] = [
    "TestCompact",
    "TestEndpointStatus",
    "TestKVDelete",
    "TestKVGet",
    "TestKVPut",
    "TestLeaseGrantAndList",
    "TestLeaseGrantKeepAliveOnce",
    "TestLeaseGrantRevoke",
    "TestLeaseGrantTimeToLive",
    "TestLeaseGrantTimeToLiveExpired",
    "TestMemberList",
    "TestStatus",
    "TestTxnFail",
    "TestTxnSucc",
    "TestWaitLeader",
    "TestWatch",
];

/// The tests that do not run, by the beginnings of their names. They are about what a tenant does not have.
const LEFT_OUT: [(&str, &str); 17] = [
    ("TestAlarm", "alarms of the whole etcd"),
    ("TestAuth", "users"),
    ("TestDefrag", "the file of the whole etcd"),
    ("TestDowngrade", "members"),
    ("TestEndpointHashKV", "a hash of the keys of all tenants"),
    ("TestEndpointHealth", "the health service of gRPC, which shows whether the core has alarms"),
    ("TestHashKV", "a hash of the keys of all tenants"),
    ("TestKVGetNoQuorum", "members that stop"),
    ("TestMemberAdd", "members"),
    ("TestMemberRemove", "members"),
    ("TestMoveLeader", "members"),
    ("TestRole", "users"),
    ("TestRootRole", "users"),
    ("TestSnapshot", "the file of the whole etcd"),
    ("TestStatusWith", "users"),
    ("TestUser", "users"),
    ("TestWaitLeader_MemberStop", "members that stop"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tests_of_etcd_pass() {
    let program = etcd_tests::install().unwrap();
    let listed = Command::new(&program).args(["-test.list", "."]).output().await.unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let is_known =
        |name: &&str| PASSED.contains(name) || LEFT_OUT.iter().any(|(start, _)| name.starts_with(start));
    let unknown: Vec<&str> =
        listed.lines().filter(|line| line.starts_with("Test")).filter(|name| !is_known(name)).collect();
    assert!(unknown.is_empty(), "tests of etcd that are in no list: {unknown:?}");

    let core = Etcd::start().await;
    let tenant = Tenant::start(&core, "one").await;
    let mut tests = Command::new(&program);
    tests
        .args(["-test.v", "-test.timeout=120s", &format!("-test.run=^({})$", PASSED.join("|"))])
        .env("ETCD_URL", &tenant.url)
        .env("ETCD_CA", &tenant.client.authorities)
        .env("ETCD_CERT", &tenant.client.certificate)
        .env("ETCD_KEY", &tenant.client.key)
        .kill_on_drop(true);
    let output = tests.output().await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in PASSED {
        assert!(said.contains(&format!("--- PASS: {name} ")), "{name}: {said}");
    }
    assert!(output.status.success(), "{said}");
    tenant.end().await;
}
