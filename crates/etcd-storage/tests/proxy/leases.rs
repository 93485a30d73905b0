//! Leases of two tenants.

use slipway_etcd_storage::api::etcdserverpb as pb;
use tonic::Code;

use super::etcd::Etcd;
use super::tenant::Tenant;

#[tokio::test]
async fn a_lease_of_another_tenant_does_not_exist() {
    let core = Etcd::start().await;
    let (one, two) = (Tenant::start(&core, "one").await, Tenant::start(&core, "two").await);
    let (mut first, mut second) = (one.connect(), two.connect());
    let grant = pb::LeaseGrantRequest { ttl: 600, id: 0 };
    let id = first.lease.lease_grant(grant).await.unwrap().into_inner().id;
    let put = pb::PutRequest { key: "key".into(), lease: id, ..pb::PutRequest::default() };
    first.kv.put(put.clone()).await.unwrap();

    // Neither the id that the first tenant sees is anything for the second, nor the id in the core.
    let leases = pb::LeaseLeasesRequest {};
    let in_core = core.connect().lease.lease_leases(leases).await.unwrap().into_inner().leases[0].id;
    for id in [id, in_core] {
        let refused = second.kv.put(pb::PutRequest { lease: id, ..put.clone() }).await.unwrap_err();
        assert_eq!(
            (refused.code(), refused.message()),
            (Code::NotFound, "etcdserver: requested lease not found")
        );
        let refused = second.lease.lease_revoke(pb::LeaseRevokeRequest { id }).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound);
        let asked = pb::LeaseTimeToLiveRequest { id, keys: true };
        let answer = second.lease.lease_time_to_live(asked).await.unwrap().into_inner();
        assert_eq!((answer.id, answer.ttl, answer.keys.len()), (id, -1, 0));
    }
    assert_eq!(second.lease.lease_leases(leases).await.unwrap().into_inner().leases.len(), 0);

    // A replica that starts later knows the lease. The end of the lease deletes its keys and its record.
    one.end().await;
    let again = Tenant::start(&core, "one").await;
    let mut first = again.connect();
    let listed = first.lease.lease_leases(leases).await.unwrap().into_inner().leases;
    assert_eq!(listed, [pb::LeaseStatus { id }]);
    first.lease.lease_revoke(pb::LeaseRevokeRequest { id }).await.unwrap();
    assert_eq!(first.get("key").await.unwrap(), None);
    let rest = core.connect().keys().await;
    assert!(rest.iter().all(|key| key.ends_with("/lease-mask")), "{rest:?}");
    again.end().await;
    two.end().await;
}
