//! Proves any provider executable against the contract.
