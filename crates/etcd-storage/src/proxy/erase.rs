//! The end of a tenant: its keys are deleted from the core.

use slipway_resource::SecretText;

use crate::api::etcdserverpb::kv_client::KvClient;
use crate::api::etcdserverpb::{DeleteRangeRequest, DeleteRangeResponse, RangeRequest};

use super::core::Core;
use super::error::Error;
use super::files::Contents;
use super::keys::Keys;
use super::records::{MASK, range};
use super::settings::{CoreSettings, TlsFiles};
use super::tenant::Tenant;

/// How many keys one deletion has at most: more would hold up other tenants.
const PAGE: i64 = 1000;

/// The core, with certificates in PEM.
#[derive(Clone, Debug)]
pub struct ErasedFrom {
    /// Its URLs, `https://<host>:<port>`.
    pub endpoints: Vec<String>,
    /// Its authorities.
    pub authorities: String,
    /// A client certificate for it.
    pub certificate: String,
    /// The key of the client certificate.
    pub key: SecretText,
}

/// Deletes all keys of a tenant and the records of its proxies; returns the number of its keys. No proxy of the tenant may run.
///
/// Keys below its prefix that no proxy of the tenant has opened belong to another program, and stay.
///
/// # Errors
/// When the core cannot be used. What was deleted until then stays deleted, and the call can be repeated.
pub async fn erase(from: ErasedFrom, tenant: &Tenant) -> Result<u64, Error> {
    // The paths are for messages only.
    let files =
        TlsFiles { authorities: "ca.crt".into(), certificate: "tls.crt".into(), key: "tls.key".into() };
    let settings = CoreSettings { endpoints: from.endpoints, files };
    let key = from.key.expose().to_owned();
    let contents = Contents { authorities: from.authorities, certificate: from.certificate, key };
    let core = Core::new(&settings, &contents)?;
    let records = Keys::below(tenant.records_prefix());
    let mask = RangeRequest { key: records.outer(MASK), ..RangeRequest::default() };
    if range(&core, mask).await?.kvs.is_empty() {
        return Ok(0);
    }
    let mut count = 0;
    while let Some(deleted) = page(&core, &Keys::of(tenant)).await? {
        count += deleted;
    }
    // With the records, the tenant is closed: they are deleted last.
    let (key, range_end) = records.all();
    delete(&core, DeleteRangeRequest { key, range_end, prev_kv: false }).await?;
    Ok(count)
}

/// Deletes the first keys, and returns how many; `None` if there are none.
async fn page(core: &Core, keys: &Keys) -> Result<Option<u64>, Error> {
    let (key, range_end) = keys.all();
    let first =
        RangeRequest { key: key.clone(), range_end, limit: PAGE, keys_only: true, ..RangeRequest::default() };
    let found = range(core, first).await?.kvs;
    let Some(last) = found.last() else { return Ok(None) };
    let end = [last.key.as_ref(), b"\0"].concat().into();
    let deleted = delete(core, DeleteRangeRequest { key, range_end: end, prev_kv: false }).await?;
    Ok(Some(u64::try_from(deleted.deleted).unwrap_or_default()))
}

async fn delete(core: &Core, request: DeleteRangeRequest) -> Result<DeleteRangeResponse, Error> {
    let send = |channel, request| async move { KvClient::new(channel).delete_range(request).await };
    Ok(core.call(request, send).await?)
}
