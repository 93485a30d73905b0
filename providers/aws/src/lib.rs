//! AWS as a provider of Slipway.
