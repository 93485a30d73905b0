//! What any backend has to do, as checks that run against a real one.
