//! Lists in pages, one page in memory at a time.

use serde_json::Value as Json;
use slipway_resource::{ErrorClass, ProviderError};

use super::{Answer, Connection, Request};
use crate::object::text;

/// How many objects one page has.
const PAGE: usize = 500;
/// How often a list is begun again after its continue token expired.
const ATTEMPTS: usize = 3;

/// The objects of a collection that a list contains.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Selector<'a> {
    /// All of them.
    All,
    /// Objects with these labels.
    Labels(&'a str),
    /// Objects with these values of fields.
    Fields(&'a str),
}

impl Selector<'_> {
    fn query(self) -> String {
        match self {
            Self::All => String::new(),
            Self::Labels(labels) => format!("&labelSelector={}", escaped(labels)),
            Self::Fields(fields) => format!("&fieldSelector={}", escaped(fields)),
        }
    }
}

impl Connection {
    /// All objects of a collection that are selected.
    ///
    /// # Errors
    /// As [`Connection::list`].
    pub(crate) async fn list_all(
        &self,
        collection: &str,
        of: (&str, &str),
        selector: Selector<'_>,
    ) -> Result<Vec<Json>, ProviderError> {
        let mut all = Vec::new();
        for _ in 0..ATTEMPTS {
            if self.pages(collection, of, selector, &mut |object| all.push(object)).await? {
                return Ok(all);
            }
            all.clear();
        }
        Err(too_fast(collection))
    }

    /// Passes every selected object of a collection to `take`, page by page. The items of a list have no
    /// kind, so each one gets the kind and version of the request.
    ///
    /// # Errors
    /// As the server says; `transient` when the list changes faster than it can be read.
    pub(crate) async fn list(
        &self,
        collection: &str,
        (api_version, kind): (&str, &str),
        selector: Selector<'_>,
        take: &mut (dyn FnMut(Json) + Send),
    ) -> Result<(), ProviderError> {
        for _ in 0..ATTEMPTS {
            if self.pages(collection, (api_version, kind), selector, take).await? {
                return Ok(());
            }
        }
        Err(too_fast(collection))
    }

    /// Whether the list came to its end; objects that were seen before an expiry are seen again.
    async fn pages(
        &self,
        collection: &str,
        (api_version, kind): (&str, &str),
        selector: Selector<'_>,
        take: &mut (dyn FnMut(Json) + Send),
    ) -> Result<bool, ProviderError> {
        let mut token = String::new();
        loop {
            let mut path = format!("{collection}?limit={PAGE}{}", selector.query());
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

fn too_fast(collection: &str) -> ProviderError {
    let text = format!("{collection} changes faster than it can be listed");
    ProviderError::new(ErrorClass::Transient, text)
}

/// Percent-encodes a text for a path or a query: everything but the unreserved characters (RFC 3986, 2.3).
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_a_query() {
        assert_eq!(Selector::Fields("spec.nodeName=a").query(), "&fieldSelector=spec.nodeName%3Da");
        assert_eq!(Selector::Labels("a=b/c").query(), "&labelSelector=a%3Db%2Fc");
        assert_eq!(Selector::All.query(), "");
    }
}
