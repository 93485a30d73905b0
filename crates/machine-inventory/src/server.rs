//! The registration API, with the paths and the codes of Elemental's provider.
//!
//! | request | authentication | answer |
//! | --- | --- | --- |
//! | `POST …/registrations/{registration}/hosts` | registration token and host token | 201, 400, 401, 403, 404, 409 |
//! | `PATCH …/hosts/{host}` | host token | 200, 400, 401, 403, 404, 409 |
//! | `DELETE …/hosts/{host}` | host token | 202, 401, 403, 404 |
//! | `GET …/hosts/{host}/bootstrap` | host token | 200, 401, 403, 404 |
//!
//! All paths begin with `/elemental/v1/namespaces/{namespace}`.

mod access;
mod answer;
mod handlers;
mod listener;
mod route;
mod virtual_address;

pub use listener::{ServerError, Serving, start};

pub(crate) use handlers::{Bootstrap, HostState, NewHost, Report};
