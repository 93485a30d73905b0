//! The beginnings of the values of keys in etcd, by etcd's JSON gateway (`/v3/kv/range`).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;
use slipway_resource::ProviderError;

use super::Etcd;
use super::maintenance::end;
use crate::error::transient;

/// How many values one answer has at most. A value has up to 1.5 MiB.
const PAGE: usize = 256;

/// A page of keys. Binary fields are in base64, and empty ones are absent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Page {
    kvs: Vec<Pair>,
    more: bool,
}

#[derive(Deserialize)]
struct Pair {
    key: String,
    #[serde(default)]
    value: String,
}

impl Etcd {
    /// The keys with a prefix whose values do not begin with these bytes. No value is kept. Needs a majority.
    pub(crate) async fn keys_without(
        &self,
        prefix: &str,
        beginning: &[u8],
    ) -> Result<Vec<String>, ProviderError> {
        let (mut found, mut limit) = (Vec::new(), PAGE);
        let mut from = prefix.as_bytes().to_vec();
        loop {
            let request = json!({
                "key": STANDARD.encode(&from), "range_end": STANDARD.encode(end(prefix)), "limit": limit,
            });
            let answer = match self.call("kv/range", &request).await {
                Ok(answer) => answer,
                // The answer may have been too large.
                Err(_) if limit > 1 => {
                    limit /= 2;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let damaged = |error: &dyn std::fmt::Display| transient(format!("etcd's keys: {error}"));
            let page: Page = serde_json::from_value(answer).map_err(|error| damaged(&error))?;
            for pair in &page.kvs {
                let key = STANDARD.decode(&pair.key).map_err(|error| damaged(&error))?;
                let value = STANDARD.decode(&pair.value).map_err(|error| damaged(&error))?;
                if !value.starts_with(beginning) {
                    found.push(String::from_utf8_lossy(&key).into_owned());
                }
                from = key;
                from.push(0);
            }
            if !page.more || page.kvs.is_empty() {
                return Ok(found);
            }
        }
    }
}
