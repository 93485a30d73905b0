//! Keys, certificates and requests, in the forms that kubeadm writes.
//!
//! [`PrivateKey`] and [`Certificate`] are read from and written as PEM. [`Template`] is the content of a new
//! certificate: [`Template::self_signed`] and [`Template::signed_by`] make the certificate, and [`Request`]
//! is for another signer. [`inventory`] lists the keys and certificates of a cluster, [`verify`] checks
//! existing ones, [`expiry`] reports their ends, and [`renew`] makes their successors. The caller gives all
//! times.

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
