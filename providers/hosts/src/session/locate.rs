//! Finds objects of another tool inside hosts: the agents look for them.

use std::collections::BTreeMap;

use futures_util::future::join_all;
use slipway_resource::ProviderError;
use slipway_resource::provider::{LocateItem, LocateRequest, Located};

use super::actual::named;
use super::plan::on_host;
use super::{HostsSession, identity_on, split, without_host};

impl HostsSession {
    /// Asks each host once. Only Slipway makes claims and agents, so there are none to find.
    pub(super) async fn look_for(&self, request: LocateRequest) -> Result<Vec<Located>, ProviderError> {
        let mut answers: Vec<Located> = Vec::with_capacity(request.items.len());
        let mut by_host: BTreeMap<String, Vec<(usize, LocateItem)>> = BTreeMap::new();
        for (position, item) in request.items.into_iter().enumerate() {
            answers.push(Located::nothing(item.address.clone()));
            if !self.is_inside(item.address.kind()) {
                continue;
            }
            let (desired, host) = without_host(&item.desired);
            let existing = item.existing.as_ref().map(|identity| split(identity).map(|(_, inner)| inner));
            let existing = existing.transpose()?;
            if let Some(host) = host {
                let item = LocateItem { desired, existing, ..item };
                by_host.entry(host).or_default().push((position, item));
            }
        }
        let cluster = &request.cluster;
        let looks = by_host.into_iter().map(|(host, items)| async move {
            let (positions, items): (Vec<usize>, Vec<LocateItem>) = items.into_iter().unzip();
            let agent = self.agents.to_look(&host).await?;
            let request = LocateRequest { cluster: cluster.clone(), items };
            let found = agent.session.locate(request).await.map_err(|error| named(&host, error))?;
            let outside = |found: Located| Located {
                identities: found.identities.iter().map(|identity| identity_on(&host, identity)).collect(),
                attributes: on_host(found.attributes, &host),
                ..found
            };
            let found: Vec<Located> = found.into_iter().map(outside).collect();
            Ok::<_, ProviderError>((positions, found))
        });
        for looked in join_all(looks).await {
            let (positions, found) = looked?;
            for (position, located) in positions.into_iter().zip(found) {
                if let Some(answer) = answers.get_mut(position) {
                    *answer = located;
                }
            }
        }
        Ok(answers)
    }
}
