//! The key service, where a provider has one.

use slipway_resource::ErrorClass;
use slipway_resource::provider::{UnwrapKeyRequest, WrapKeyRequest};

use crate::bench::Bench;
use crate::scenario::ServiceKeys;
use crate::stop::{Checked, Stop, ensure, fail, skip};

/// A data key that is easy to find again.
const PLAIN: &[u8; 32] = b"a data key of thirty-two bytes..";

const SCOPE: &str = "conformance";

pub(crate) async fn round_trip(bench: &mut Bench<'_>) -> Checked {
    let keys = keys(bench)?;
    let wrapped = wrap(bench, &keys.key).await?;
    let shows = wrapped.windows(8).any(|part| PLAIN.windows(8).any(|plain| plain == part));
    ensure(!shows, || "what is wrapped shows the data key".to_owned())?;
    let request = UnwrapKeyRequest { key: keys.key.clone(), wrapped, scope: SCOPE.to_owned() };
    let plain = bench.session.unwrap_key(request.clone()).await?;
    ensure(plain.as_slice() == PLAIN, || "another data key comes back".to_owned())?;
    bench.restart().await?;
    let plain = bench.session.unwrap_key(request).await?;
    ensure(plain.as_slice() == PLAIN, || "in another process another data key comes back".to_owned())
}

pub(crate) async fn bound(bench: &mut Bench<'_>) -> Checked {
    let ServiceKeys { key, other, missing } = keys(bench)?;
    let wrapped = wrap(bench, &key).await?;
    let mut bent = wrapped.clone();
    if let Some(last) = bent.last_mut() {
        *last ^= 1;
    }
    let cases = [
        ("for another scope", &key, &wrapped, "another"),
        ("changed", &key, &bent, SCOPE),
        ("with another key", &other, &wrapped, SCOPE),
    ];
    for (what, key, wrapped, scope) in cases {
        let request =
            UnwrapKeyRequest { key: key.clone(), wrapped: wrapped.clone(), scope: scope.to_owned() };
        match bench.session.unwrap_key(request).await {
            Err(error) if matches!(error.class, ErrorClass::Invalid | ErrorClass::NotFound) => {}
            Err(error) => return fail(format!("{what} it is refused as {}", error.class)),
            Ok(_) => return fail(format!("{what} it is unwrapped")),
        }
    }
    let request = WrapKeyRequest { key: missing, plain: PLAIN.to_vec().into(), scope: SCOPE.to_owned() };
    match bench.session.wrap_key(request).await {
        Err(error) if error.class == ErrorClass::NotFound => Ok(()),
        Err(error) => fail(format!("a key that does not exist is refused as {}", error.class)),
        Ok(_) => fail("a key that does not exist wraps"),
    }
}

async fn wrap(bench: &Bench<'_>, key: &str) -> Result<Vec<u8>, Stop> {
    let request =
        WrapKeyRequest { key: key.to_owned(), plain: PLAIN.to_vec().into(), scope: SCOPE.to_owned() };
    Ok(bench.session.wrap_key(request).await?)
}

fn keys(bench: &Bench<'_>) -> Result<ServiceKeys, Stop> {
    match &bench.suite.scenario.keys {
        Some(keys) => Ok(keys.clone()),
        None => skip("the scenario names no key: the provider has no key service"),
    }
}
