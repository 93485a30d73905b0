//! How a joining node comes to trust a cluster: `cluster-info`, its signatures, pins of the CA, files.
