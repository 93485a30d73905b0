//! The objects inside a cluster as a provider: any API object by server-side apply, and its nodes.
