//! Add-ons of every cluster beside its control plane: DNS, service addresses, a network of pods; as API
//! objects.

mod core_dns;
pub mod flannel;
mod kube_proxy;

pub use core_dns::core_dns;
pub use kube_proxy::kube_proxy;

#[cfg(test)]
mod tests;
