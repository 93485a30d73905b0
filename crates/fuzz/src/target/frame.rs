use anyhow::Result;
use prost::Message;
use slipway_protocol::generated as proto;
use slipway_resource::provider::{
    Applied, Catalog, Located, Planned, PreflightFinding, PriceReport, Rollout, Unlisted,
};
use slipway_resource::{Address, Desired, ErrorClass, Identity, Observation, Observed, ProviderError, Value};

use super::words;

/// Reads bytes as a message, and the message as what the engine takes it for.
fn read<M: Message + Default, T: TryFrom<M>>(bytes: &[u8]) -> String
where
    T::Error: std::fmt::Display,
{
    match M::decode(bytes) {
        Err(error) => error.to_string(),
        Ok(message) => words(T::try_from(message)),
    }
}

/// The first byte chooses the message.
const READERS: &[fn(&[u8]) -> String] = &[
    read::<proto::Error, ProviderError>,
    read::<proto::Observed, Observed>,
    read::<proto::Planned, Planned>,
    read::<proto::Applied, Applied>,
    read::<proto::CatalogResponse, Catalog>,
    read::<proto::Desired, Desired>,
    read::<proto::PriceResponse, PriceReport>,
    read::<proto::Located, Located>,
    read::<proto::Unlisted, Unlisted>,
    read::<proto::PreflightFinding, PreflightFinding>,
    read::<proto::Rollout, Rollout>,
];

pub(super) fn frame(input: &[u8]) -> String {
    let Some((first, rest)) = input.split_first() else { return "nothing".to_owned() };
    let number = usize::from(*first) % READERS.len();
    format!("{number} {}", READERS.get(number).map(|read| read(rest)).unwrap_or_default())
}

pub(super) fn frames() -> Result<Vec<Vec<u8>>> {
    let address: Address = "sim_network.main".parse()?;
    let attributes = Value::from_json(&serde_json::json!({
        "name": "main", "count": 3, "ratio": 0.5, "on": true, "none": null, "list": ["a", ["b", {"c": [[[["d"]]]]}]],
    }));
    let error = ProviderError::new(ErrorClass::Dependency { blockers: vec!["a".to_owned()] }, "it is in use")
        .with_hint("wait")
        .with_address(&address);
    let observed = Observed {
        address: address.clone(),
        identity: Identity::new("net-1"),
        token: None,
        owner: None,
        observation: Observation::Present(attributes.clone()),
    };
    let desired = Desired::new(address, attributes.clone());
    let mut all: Vec<Vec<u8>> =
        (0..READERS.len()).map(|number| vec![u8::try_from(number).unwrap_or_default()]).collect();
    let mut add = |number: u8, bytes: Vec<u8>| all.push([vec![number], bytes].concat());
    add(0, proto::Error::from(error).encode_to_vec());
    add(1, proto::Observed::from(observed).encode_to_vec());
    add(5, proto::Desired::from(desired).encode_to_vec());
    Ok(all)
}
