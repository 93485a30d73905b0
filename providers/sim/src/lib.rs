//! A simulated cloud in a directory: networks, machines, load balancers, with faults and latency on request.
