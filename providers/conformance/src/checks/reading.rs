//! Read.

use slipway_resource::provider::ReadRequest;
use slipway_resource::{Identity, Observation};

use crate::bench::{Bench, count};
use crate::stop::{Checked, ensure, skip};

pub(crate) async fn read_absent(bench: &mut Bench<'_>) -> Checked {
    let sample = bench.spare()?;
    let made = bench.make(&sample).await?;
    // An identity of the right form, of an object that is no more.
    let gone = slipway_resource::provider::Action::Delete { identity: made.identity.clone() };
    bench.apply(bench.request(&sample.address, gone)).await.0?;
    let is_absent = |observation: &Observation| *observation == Observation::Absent;
    let found = bench.read(&sample.address, &made.identity, is_absent).await?;
    ensure(is_absent(&found), || format!("{} was deleted, and is read as {found:?}", sample.address))
}

pub(crate) async fn read_order(bench: &mut Bench<'_>) -> Checked {
    let mut requests = Vec::new();
    let mut expected = Vec::new();
    for number in 1..=3 {
        let sample = bench.bulk(number)?;
        let made = bench.make(&sample).await?;
        let is_present = |observation: &Observation| matches!(observation, Observation::Present(_));
        expected.push(bench.read(&sample.address, &made.identity, is_present).await?);
        requests.push(ReadRequest { address: sample.address, identity: made.identity });
    }
    for order in [[0, 1, 2], [2, 0, 1], [1, 2, 0]] {
        let asked = order.map(|position: usize| requests[position].clone()).to_vec();
        let answers = bench.session.read(asked.clone()).await?;
        for ((answer, asked), position) in answers.iter().zip(&asked).zip(order) {
            let fits = answer.address == asked.address
                && answer.identity == asked.identity
                && answer.observation == expected[position];
            ensure(fits, || format!("the answer for {} is that of {}", asked.address, answer.address))?;
        }
    }
    Ok(())
}

pub(crate) async fn unreadable_is_not_absent(bench: &mut Bench<'_>) -> Checked {
    let Some(place) = bench.suite.scenario.unreadable.clone() else {
        return skip("the scenario has no session that may not read");
    };
    let sample = bench.first()?;
    let made = bench.make(&sample).await?;
    bench.discover(|discovery| count(discovery, &sample.address) == 1).await?;
    let blind = bench.open_at(&place).await?;
    let request =
        ReadRequest { address: sample.address.clone(), identity: Identity::new(made.identity.as_str()) };
    if let Ok(answers) = blind.read(vec![request]).await {
        let is_absent = answers.iter().any(|observed| observed.observation == Observation::Absent);
        ensure(!is_absent, || format!("{} cannot be read, and is called absent", sample.address))?;
    }
    let request = slipway_resource::provider::DiscoverRequest {
        uid: Some(bench.uid.clone()),
        cluster: crate::bench::CLUSTER.to_owned(),
        types: Vec::new(),
    };
    if let Ok(discovery) = blind.discover(request).await {
        let is_told = count(&discovery, &sample.address) > 0
            || discovery.unlisted.iter().any(|unlisted| unlisted.kind == sample.address.kind());
        ensure(is_told, || {
            format!("{} cannot be listed, and Discover does not say so", sample.address.kind())
        })?;
    }
    Ok(())
}
