//! API objects that a cluster needs from its beginning.
