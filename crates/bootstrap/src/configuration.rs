//! Everything that bootstrapping, joining, resetting and reconfiguring a node needs to know.
