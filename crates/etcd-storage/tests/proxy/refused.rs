//! Requests that affect the whole etcd are refused, and a tenant's requests show nothing of other tenants.

use bytes::Bytes;
use slipway_etcd_storage::api::etcdserverpb as pb;
use slipway_etcd_storage::proxy::{self, Error, Limits};
use tokio_util::sync::CancellationToken;
use tonic::client::Grpc;
use tonic::{Code, Request};
use tonic_prost::ProstCodec;

use super::etcd::Etcd;
use super::tenant::{Tenant, settings};

/// The methods that no tenant may call.
pub const REFUSED: &[&str] = &[
    "Maintenance/Snapshot",
    "Maintenance/Defragment",
    "Maintenance/Alarm",
    "Maintenance/Hash",
    "Maintenance/HashKV",
    "Maintenance/MoveLeader",
    "Maintenance/Downgrade",
    "Cluster/MemberAdd",
    "Cluster/MemberRemove",
    "Cluster/MemberUpdate",
    "Cluster/MemberPromote",
    "Auth/AuthEnable",
    "Auth/AuthDisable",
    "Auth/AuthStatus",
    "Auth/Authenticate",
    "Auth/UserAdd",
    "Auth/UserGet",
    "Auth/UserList",
    "Auth/UserDelete",
    "Auth/UserChangePassword",
    "Auth/UserGrantRole",
    "Auth/UserRevokeRole",
    "Auth/RoleAdd",
    "Auth/RoleGet",
    "Auth/RoleList",
    "Auth/RoleDelete",
    "Auth/RoleGrantPermission",
    "Auth/RoleRevokePermission",
    "KV/Unknown",
];

#[tokio::test]
async fn methods_on_the_whole_etcd_are_refused() {
    let core = Etcd::start().await;
    let tenant = Tenant::start(&core, "one").await;
    let client = tenant.connect();
    for method in REFUSED {
        let mut grpc = Grpc::new(client.channel.clone());
        grpc.ready().await.unwrap();
        let codec = ProstCodec::<Bytes, Bytes>::default();
        let path = format!("/etcdserverpb.{method}").parse().unwrap();
        let refused = grpc.unary(Request::new(Bytes::new()), path, codec).await.unwrap_err();
        let expected = (Code::PermissionDenied, "etcdserver: permission denied");
        assert_eq!((refused.code(), refused.message()), expected, "{method}");
    }
    tenant.end().await;
}

#[tokio::test]
async fn members_and_status_are_those_of_the_tenant() {
    let core = Etcd::start().await;
    core.connect().put("/registry/large", &"x".repeat(1 << 20)).await.unwrap();
    let tenant = Tenant::start(&core, "one").await;
    let mut client = tenant.connect();
    client.put("key", "value").await.unwrap();
    let mut members = pb::cluster_client::ClusterClient::new(client.channel.clone());
    let list = members.member_list(pb::MemberListRequest { linearizable: true }).await.unwrap().into_inner();
    assert_eq!(list.members.len(), 1);
    assert_eq!(list.members[0].client_ur_ls, ["https://etcd-one.storage.svc:2379"]);
    assert!(list.members[0].peer_ur_ls.is_empty());
    let mut maintenance = pb::maintenance_client::MaintenanceClient::new(client.channel.clone());
    let status = maintenance.status(pb::StatusRequest {}).await.unwrap().into_inner();
    assert_eq!(status.version, slipway_testkit::kubernetes::ETCD_VERSION);
    assert!(status.db_size < 100, "{}", status.db_size);
    assert_eq!((status.raft_index, status.db_size_quota, status.errors.len()), (0, 0, 0));
    tenant.end().await;
}

#[tokio::test]
async fn a_prefix_with_keys_of_another_program_is_refused_unless_it_is_adopted() {
    let core = Etcd::start().await;
    core.connect().put("/registry/secrets/a", "secret").await.unwrap();
    let (mut settings, _, files) = settings(&core, "registry", Limits::default());
    let refused = proxy::serve(settings.clone(), CancellationToken::new()).await.unwrap_err();
    assert!(matches!(refused, Error::Occupied { .. }), "{refused}");
    assert_eq!(core.connect().keys().await, ["/registry/secrets/a"]);
    settings.adopt = true;
    let stop = CancellationToken::new();
    let served = tokio::spawn(proxy::serve(settings.clone(), stop.clone()));
    while !slipway_testkit::port::listens(settings.listen.port()) {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let mut client = super::client::Client::new(&format!("https://{}", settings.listen), &files);
    assert_eq!(client.get("secrets/a").await.unwrap().unwrap(), "secret");
    stop.cancel();
    served.await.unwrap().unwrap();
}
