//! The paths of the registration API.

use http::Method;

/// What a request asks for, with the names in its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Route {
    pub(super) namespace: String,
    pub(super) registration: String,
    pub(super) action: Action,
}

/// What a request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Create a host.
    Register,
    /// Report about a host, and learn what to do.
    Report(String),
    /// Delete a host.
    Leave(String),
    /// Get the bootstrap data of a host.
    Bootstrap(String),
}

/// A path that has no route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRoute {
    /// There is nothing at the path.
    NotFound,
    /// Another method is needed.
    Method,
}

impl Route {
    /// The route of a request.
    pub(super) fn of(method: &Method, path: &str) -> Result<Self, NoRoute> {
        let parts: Vec<&str> = path.split('/').collect();
        let [
            "",
            "elemental",
            "v1",
            "namespaces",
            namespace,
            "registrations",
            registration,
            "hosts",
            rest @ ..,
        ] = parts.as_slice()
        else {
            return Err(NoRoute::NotFound);
        };
        let action = match (rest, method) {
            ([], &Method::POST) => Action::Register,
            ([host], &Method::PATCH) => Action::Report((*host).to_owned()),
            ([host], &Method::DELETE) => Action::Leave((*host).to_owned()),
            ([host, "bootstrap"], &Method::GET) => Action::Bootstrap((*host).to_owned()),
            ([] | [_] | [_, "bootstrap"], _) => return Err(NoRoute::Method),
            _ => return Err(NoRoute::NotFound),
        };
        let names = match &action {
            Action::Register => vec![*namespace, *registration],
            Action::Report(host) | Action::Leave(host) | Action::Bootstrap(host) => {
                vec![*namespace, *registration, host]
            }
        };
        if !names.into_iter().all(is_name) {
            return Err(NoRoute::NotFound);
        }
        Ok(Self { namespace: (*namespace).to_owned(), registration: (*registration).to_owned(), action })
    }
}

/// Whether a text is the name of an object: a DNS subdomain (RFC 1123).
pub(super) fn is_name(text: &str) -> bool {
    let is_label = |label: &str| {
        let bytes = label.as_bytes();
        let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
        !bytes.is_empty() && bytes.iter().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_routes() {
        let base = "/elemental/v1/namespaces/default/registrations/rack/hosts";
        let action = |method: Method, rest: &str| {
            Route::of(&method, &format!("{base}{rest}")).map(|route| route.action)
        };
        assert_eq!(action(Method::POST, ""), Ok(Action::Register));
        assert_eq!(action(Method::PATCH, "/a.example"), Ok(Action::Report("a.example".to_owned())));
        assert_eq!(action(Method::DELETE, "/a"), Ok(Action::Leave("a".to_owned())));
        assert_eq!(action(Method::GET, "/a/bootstrap"), Ok(Action::Bootstrap("a".to_owned())));
        assert_eq!(action(Method::GET, "/a"), Err(NoRoute::Method));
        assert_eq!(action(Method::GET, "/a/secret"), Err(NoRoute::NotFound));
        for name in ["/..", "/A", "/a%2fb", "/-a", "/"] {
            assert_eq!(action(Method::PATCH, name), Err(NoRoute::NotFound), "{name}");
        }
        assert_eq!(Route::of(&Method::GET, "/metrics"), Err(NoRoute::NotFound));
    }
}
