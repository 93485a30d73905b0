//! The two authorities of an `EtcdStorage`, and the Secret that keeps their keys.
//!
//! Whoever writes the Secret names the version that was read, so that two controllers never replace each other's authorities.

use std::collections::BTreeMap;

use jiff::Timestamp;
use slipway_bootstrap::pki::{Certificate, Error, PrivateKey};
use slipway_controller::k8s_openapi::ByteString;
use slipway_controller::k8s_openapi::api::core::v1::Secret;

use super::authority::{Authority, Next, Pair};

/// The authorities.
#[derive(Debug)]
pub(crate) struct Signers {
    /// Signs certificates of clients.
    pub(crate) client: Authority,
    /// Signs the certificate of the proxy.
    pub(crate) serving: Authority,
}

/// The names of the authorities: the first part of their keys in the Secret.
pub(crate) const NAMES: [&str; 2] = ["client-ca", "serving-ca"];

/// The Secret cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DamagedSigners {
    #[error("{0} is missing or no text")]
    Entry(String),
    #[error("{0} is not a time")]
    Time(String),
    #[error(transparent)]
    Pki(#[from] Error),
}

type Data = BTreeMap<String, ByteString>;

impl Signers {
    /// Reads them from their Secret.
    pub(crate) fn read(secret: &Secret) -> Result<Self, DamagedSigners> {
        let data = secret.data.clone().unwrap_or_default();
        let [client, serving] = NAMES;
        Ok(Self { client: read(&data, client)?, serving: read(&data, serving)? })
    }

    /// The content of their Secret.
    pub(crate) fn data(&self) -> Result<Data, Error> {
        let mut data = Data::new();
        for (name, authority) in NAMES.into_iter().zip([&self.client, &self.serving]) {
            write(&mut data, name, authority)?;
        }
        Ok(data)
    }
}

fn text<'a>(data: &'a Data, key: &str) -> Option<&'a str> {
    data.get(key).and_then(|bytes| std::str::from_utf8(&bytes.0).ok())
}

fn pair(data: &Data, name: &str) -> Result<Pair, DamagedSigners> {
    let entry = |ending: &str| {
        let key = format!("{name}.{ending}");
        text(data, &key).ok_or(DamagedSigners::Entry(key))
    };
    let pair = Pair {
        certificate: Certificate::from_pem(entry("crt")?)?,
        key: PrivateKey::from_pem(entry("key")?)?,
    };
    if pair.certificate.public_key() == pair.key.public_key() {
        Ok(pair)
    } else {
        Err(DamagedSigners::Entry(format!("the key of {name}.crt")))
    }
}

fn read(data: &Data, name: &str) -> Result<Authority, DamagedSigners> {
    let next_name = format!("{name}-next");
    let next = if data.contains_key(&format!("{next_name}.crt")) {
        let key = format!("{next_name}.trusted-since");
        let trusted_since = match text(data, &key) {
            Some(time) => Some(time.parse::<Timestamp>().map_err(|_| DamagedSigners::Time(key))?),
            None => None,
        };
        Some(Next { pair: pair(data, &next_name)?, trusted_since })
    } else {
        None
    };
    let previous = match text(data, &format!("{name}-previous.crt")) {
        Some(pem) => Certificate::chain_from_pem(pem)?,
        None => Vec::new(),
    };
    Ok(Authority { current: pair(data, name)?, next, previous })
}

fn write(data: &mut Data, name: &str, authority: &Authority) -> Result<(), Error> {
    let mut put = |key: String, text: &str| data.insert(key, ByteString(text.as_bytes().to_vec()));
    let mut put_pair = |name: &str, pair: &Pair| {
        put(format!("{name}.crt"), &pair.certificate.to_pem());
        pair.key.to_pem().map(|key| put(format!("{name}.key"), key.expose()))
    };
    put_pair(name, &authority.current)?;
    if let Some(next) = &authority.next {
        put_pair(&format!("{name}-next"), &next.pair)?;
        if let Some(since) = next.trusted_since {
            put(format!("{name}-next.trusted-since"), &since.to_string());
        }
    }
    if !authority.previous.is_empty() {
        let bundle: String = authority.previous.iter().map(Certificate::to_pem).collect();
        put(format!("{name}-previous.crt"), &bundle);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::authority::{Wanted, after};
    use super::*;

    #[test]
    fn authorities_in_every_stage_are_read_as_they_were_written() {
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let wanted = Wanted { name: "signer".to_owned(), validity: Duration::from_secs(1000) };
        let mut client = Authority::new(&wanted, start).unwrap();
        let serving = Authority::new(&wanted, start).unwrap();
        for second in [500, 750, 1250] {
            client.advance(&wanted, after(start, Duration::from_secs(second))).unwrap();
            client.is_trusted(after(start, Duration::from_secs(second)));
        }
        assert!(client.next.is_some() && client.previous.is_empty());
        client.previous.push(serving.current.certificate.clone());
        let signers = Signers { client, serving };
        let secret = Secret { data: Some(signers.data().unwrap()), ..Secret::default() };
        let read = Signers::read(&secret).unwrap();
        assert_eq!(read.client.bundle(), signers.client.bundle());
        assert_eq!(read.client.signs_from(), signers.client.signs_from());
        assert_eq!(read.serving.bundle(), signers.serving.bundle());
        assert_eq!(read.data().unwrap(), signers.data().unwrap());
    }

    #[test]
    fn a_damaged_secret_is_refused() {
        assert!(Signers::read(&Secret::default()).is_err());
        let start = Timestamp::from_second(1_800_000_000).unwrap();
        let wanted = Wanted { name: "signer".to_owned(), validity: Duration::from_secs(1000) };
        let [client, serving] = [(); 2].map(|()| Authority::new(&wanted, start).unwrap());
        let mut data = Signers { client, serving }.data().unwrap();
        let other = data["client-ca.key"].clone();
        data.insert("serving-ca.key".to_owned(), other);
        let secret = Secret { data: Some(data), ..Secret::default() };
        assert!(Signers::read(&secret).unwrap_err().to_string().contains("serving-ca"));
    }
}
