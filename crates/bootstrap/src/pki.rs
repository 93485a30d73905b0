//! Keys, certificates and requests.
