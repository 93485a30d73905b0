//! Everything that crosses the wire comes back as it was.
