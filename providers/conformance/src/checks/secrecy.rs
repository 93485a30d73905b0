//! Secrets.

use std::fmt::Debug;

use slipway_resource::provider::{Action, EventSink, ReadRequest, ResumeRequest};
use slipway_resource::{Mode, Path, Secret, SecretText, Value};

use crate::bench::{Bench, without_unknown};
use crate::stop::{Checked, Stop, ensure, skip};

/// A text that must not appear in any output.
struct Watch {
    text: String,
}

impl Watch {
    fn see(&self, place: &str, answer: &impl Debug) -> Checked {
        // A secret's own text does not print; whatever prints here is not a secret any more.
        ensure(!format!("{answer:?}").contains(&self.text), || {
            format!("the text of a secret is shown by {place}")
        })
    }
}

pub(crate) async fn no_secret_shown(bench: &mut Bench<'_>) -> Checked {
    let watch = Watch { text: format!("secret-{}", bench.suite.unique()) };
    let mut proved = false;
    for sample in bench.samples()? {
        let mut attributes = sample.attributes.clone();
        let names = sensitive(bench, &sample)?;
        if names.is_empty() {
            continue;
        }
        proved = true;
        for name in &names {
            let secret = Secret {
                text: Some(SecretText::new(watch.text.as_str())),
                fingerprint: Some("00".repeat(32)),
                ..Secret::new("env:CONFORMANCE")
            };
            attributes.set(&Path::key(name.as_str()), secret.into());
        }
        bench.make_needed(&attributes).await?;
        let attributes = bench.resolve(&attributes);
        let address = &sample.address;
        let planned = bench.plan_one(address, Some(attributes.clone()), None, None).await?;
        watch.see("Plan", &planned)?;

        // The engine puts the texts back, which Plan does not return.
        let mut desired = without_unknown(&planned.normalised);
        for name in &names {
            let path = Path::key(name.as_str());
            desired.set(&path, attributes.at(&path).cloned().unwrap_or_default());
        }
        let create = bench.request(address, Action::Create { desired: desired.clone() });
        let (outcome, events) = bench.apply(create.clone()).await;
        watch.see("Apply", &(&outcome, events))?;
        let applied = outcome?;
        let question = ResumeRequest {
            request: create,
            identity: applied.identity.clone(),
            handle: None,
            superseded: false,
        };
        let resolution = bench.session.resume(question, EventSink::discard()).await;
        watch.see("Resume", &resolution)?;
        watch.see("Discover", &bench.discover(|_| true).await?)?;
        if let Some(identity) = applied.identity {
            let request = ReadRequest { address: address.clone(), identity: identity.clone() };
            watch.see("Read", &bench.session.read(vec![request]).await)?;
            let delete = bench.request(address, Action::Delete { identity });
            watch.see("a delete", &bench.apply(delete).await)?;
        }
        let required = bench.kind(address)?.attributes.iter();
        let required = required.filter(|(_, attribute)| attribute.mode == Mode::Required);
        for name in required.map(|(name, _)| name.clone()).collect::<Vec<_>>() {
            let mut desired = desired.clone();
            desired.set(&Path::key(name.as_str()), Value::Null);
            let create = bench.request(address, Action::Create { desired });
            watch.see("a refused create", &bench.apply(create).await)?;
        }
    }
    watch.see("its standard error", &bench.running.client().life().last_words())?;
    if proved { Ok(()) } else { skip("no sample has a sensitive attribute") }
}

/// The sample's sensitive texts.
fn sensitive(bench: &Bench<'_>, sample: &crate::scenario::Ready) -> Result<Vec<String>, Stop> {
    let attributes = &bench.kind(&sample.address)?.attributes;
    let names = sample.attributes.as_map().into_iter().flatten().map(|(name, _)| name);
    Ok(names
        .filter(|name| attributes.get(*name).is_some_and(|attribute| attribute.sensitive))
        .cloned()
        .collect())
}
