//! The provider contract over gRPC: generated code, handshake, discovery and client.
