use std::fmt::Display;
use std::path::Path;

use anyhow::{Context as _, Result};
use prost::Message;
use serde::de::DeserializeOwned;
use slipway_protocol::generated as proto;
use slipway_resource::provider::{
    Applied, ApplyRequest, Catalog, InstanceAnswer, LoadBalancer, Located, Node, Planned, PreflightFinding,
    PriceReport, Rollout, Route, Unlisted,
};
use slipway_resource::{Desired, Observed, ProviderError};

use super::{READ_BACK, Verdict};
use crate::corpus::{ends, files};

/// Reads bytes as a message, and the message as what the engine takes it for.
fn read<M, T>(bytes: &[u8]) -> Result<T, Verdict>
where
    M: Message + Default,
    T: TryFrom<M>,
    T::Error: Display,
{
    let message = M::decode(bytes).map_err(Verdict::syntax)?;
    T::try_from(message).map_err(Verdict::content)
}

/// The same. What is taken is written, read and written again as the same bytes: a secret's text is not written, so that the
/// values may differ.
fn read_back<M, T>(bytes: &[u8]) -> Verdict
where
    M: Message + Default + From<T>,
    T: TryFrom<M>,
    T::Error: Display,
{
    match read::<M, T>(bytes) {
        Err(verdict) => verdict,
        Ok(value) => {
            let written = M::from(value).encode_to_vec();
            let again = read::<M, T>(&written).map(|value| M::from(value).encode_to_vec());
            Verdict::lawful(again.is_ok_and(|again| again == written), READ_BACK)
        }
    }
}

/// A message that is read only.
fn read_only<M, T>(bytes: &[u8]) -> Verdict
where
    M: Message + Default,
    T: TryFrom<M>,
    T::Error: Display,
{
    match read::<M, T>(bytes) {
        Err(verdict) => verdict,
        Ok(_) => Verdict::taken("taken"),
    }
}

/// The first byte of an input chooses the message.
const READERS: &[fn(&[u8]) -> Verdict] = &[
    read_back::<proto::Error, ProviderError>,
    read_back::<proto::Observed, Observed>,
    read_back::<proto::Planned, Planned>,
    read_back::<proto::Applied, Applied>,
    read_only::<proto::CatalogResponse, Catalog>,
    read_back::<proto::Desired, Desired>,
    read_back::<proto::PriceResponse, PriceReport>,
    read_back::<proto::Located, Located>,
    read_back::<proto::Unlisted, Unlisted>,
    read_back::<proto::PreflightFinding, PreflightFinding>,
    read_back::<proto::Rollout, Rollout>,
    read_back::<proto::ApplyRequest, ApplyRequest>,
    read_back::<proto::Node, Node>,
    read_back::<proto::InstanceAnswer, InstanceAnswer>,
    read_back::<proto::LoadBalancer, LoadBalancer>,
    read_back::<proto::Route, Route>,
];

pub(super) fn frame(input: &[u8]) -> Verdict {
    let Some((first, rest)) = input.split_first() else { return Verdict::syntax("nothing") };
    let number = usize::from(*first) % READERS.len();
    let mut verdict = READERS.get(number).map_or_else(|| Verdict::syntax("nothing"), |read| read(rest));
    // A letter, since numbers are left out where outcomes are compared.
    verdict.words.push(char::from(b'A' + u8::try_from(number).unwrap_or_default()));
    verdict
}

/// The values of `fixtures/fuzz/frame/*.json` as messages, an empty message of each kind, and kept inputs.
pub(super) fn frames() -> Result<Vec<Vec<u8>>> {
    let mut all: Vec<Vec<u8>> =
        (0..READERS.len()).map(|number| vec![u8::try_from(number).unwrap_or_default()]).collect();
    for (path, bytes) in files(&["fixtures/fuzz/frame"], |_| true)? {
        if ends(&path, &[".json"]) {
            all.push(message(&path, &bytes).with_context(|| path.display().to_string())?);
        } else {
            all.push(bytes);
        }
    }
    Ok(all)
}

/// The message of a value, by the first word of the name of its file.
fn message(path: &Path, json: &[u8]) -> Result<Vec<u8>> {
    fn encoded<M: Message + From<T>, T: DeserializeOwned>(number: u8, json: &[u8]) -> Result<Vec<u8>> {
        let value: T = serde_json::from_slice(json)?;
        Ok([vec![number], M::from(value).encode_to_vec()].concat())
    }
    let name = path.file_stem().map(|name| name.to_string_lossy()).unwrap_or_default();
    match name.split('-').next().unwrap_or_default() {
        "error" => encoded::<proto::Error, ProviderError>(0, json),
        "observed" => encoded::<proto::Observed, Observed>(1, json),
        "planned" => encoded::<proto::Planned, Planned>(2, json),
        "applied" => encoded::<proto::Applied, Applied>(3, json),
        "catalog" => {
            let Catalog { digest, data } = serde_json::from_slice(json)?;
            let data = data.to_string().into_bytes();
            let message =
                proto::CatalogResponse { digest: digest.as_str().to_owned(), data, ..Default::default() };
            Ok([vec![4], message.encode_to_vec()].concat())
        }
        "desired" => encoded::<proto::Desired, Desired>(5, json),
        "prices" => encoded::<proto::PriceResponse, PriceReport>(6, json),
        "located" => encoded::<proto::Located, Located>(7, json),
        "unlisted" => encoded::<proto::Unlisted, Unlisted>(8, json),
        "finding" => encoded::<proto::PreflightFinding, PreflightFinding>(9, json),
        "rollout" => encoded::<proto::Rollout, Rollout>(10, json),
        "request" => encoded::<proto::ApplyRequest, ApplyRequest>(11, json),
        "node" => encoded::<proto::Node, Node>(12, json),
        other => anyhow::bail!("no message is called {other}"),
    }
}
