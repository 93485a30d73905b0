//! Everything a provider executable needs: serving the contract, handshake, value helpers.
