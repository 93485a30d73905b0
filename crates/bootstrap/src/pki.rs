//! Keys, certificates and requests, in the forms that kubeadm writes.
//!
//! [`PrivateKey`] and [`Certificate`] are read from and written as PEM; [`Template`] says what a certificate is to
//! hold, and becomes one by [`Template::self_signed`] or [`Template::signed_by`], or a [`Request`] for others to
//! sign. [`inventory`] lists what a cluster consists of, [`verify`] checks what is already there, [`expiry`] tells when
//! it ends, and [`renew`] makes its successor. All times are given by the caller.

mod asn1;
mod certificate;
mod error;
pub mod expiry;
mod extensions;
pub(crate) mod hex;
pub mod inventory;
mod key;
mod names;
mod oid;
mod pem;
mod pin;
pub mod renew;
mod request;
mod signature;
mod subject;
mod template;
pub mod verify;

pub use certificate::Certificate;
pub use error::{Error, Result};
pub use key::{PrivateKey, PublicKey};
pub use names::AlternativeNames;
pub use pin::{Pin, PinError};
pub use request::Request;
pub use subject::Subject;
pub use template::{BACKDATE, Template, Usage};

#[cfg(test)]
mod tests;
