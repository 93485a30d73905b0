//! Lists in pages, one page in memory at a time.

use serde_json::Value as Json;
use slipway_node_gates::escaped;
use slipway_resource::{ErrorClass, ProviderError};

use super::{Answer, Connection, Request};
use crate::object::text;

/// How many objects one page has.
const PAGE: usize = 500;
/// How often a list is begun anew whose pages have become too old.
const ATTEMPTS: usize = 3;

impl Connection {
    /// Hands every object of a collection that has a label to `take`, page by page. A list has no kind in its items, so
    /// that each gets the kind and version that were asked for.
    ///
    /// # Errors
    /// As the server says; `transient` when the list changes faster than it can be read.
    pub(crate) async fn list(
        &self,
        collection: &str,
        (api_version, kind): (&str, &str),
        selector: &str,
        take: &mut (dyn FnMut(Json) + Send),
    ) -> Result<(), ProviderError> {
        for _ in 0..ATTEMPTS {
            if self.pages(collection, (api_version, kind), selector, take).await? {
                return Ok(());
            }
        }
        let text = format!("{collection} changes faster than it can be listed");
        Err(ProviderError::new(ErrorClass::Transient, text))
    }

    /// Whether the list came to its end; objects that were seen before an expiry are seen again.
    async fn pages(
        &self,
        collection: &str,
        (api_version, kind): (&str, &str),
        selector: &str,
        take: &mut (dyn FnMut(Json) + Send),
    ) -> Result<bool, ProviderError> {
        let mut token = String::new();
        loop {
            let mut path = format!("{collection}?limit={PAGE}");
            if !selector.is_empty() {
                path.push_str(&format!("&labelSelector={}", escaped(selector)));
            }
            if !token.is_empty() {
                path.push_str(&format!("&continue={}", escaped(&token)));
            }
            let mut page = match self.ask(&Request::list(path)).await? {
                // The continuation has expired.
                Answer::Refused(refusal) if refusal.status == 410 => return Ok(false),
                answer => answer.body()?,
            };
            text(&page, "/metadata/continue").unwrap_or_default().clone_into(&mut token);
            let items = page.get_mut("items").and_then(Json::as_array_mut).map(std::mem::take);
            for mut object in items.unwrap_or_default() {
                if let Some(entries) = object.as_object_mut() {
                    entries.insert("apiVersion".to_owned(), api_version.into());
                    entries.insert("kind".to_owned(), kind.into());
                }
                take(object);
            }
            if token.is_empty() {
                return Ok(true);
            }
        }
    }
}
