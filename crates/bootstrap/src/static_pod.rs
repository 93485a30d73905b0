//! Static pods of the control plane.
