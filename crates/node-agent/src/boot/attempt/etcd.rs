//! The member of etcd on the volume of a control plane: whether it is started before the cluster is asked, and how others find it.

use super::super::addresses::Addresses;
use super::super::claim::{Claim, Seen};
use super::super::{Stop, volume};
use super::{Preparing, store};

impl Preparing<'_> {
    /// Whether this machine starts the member of etcd on its volume before it asks the cluster: the member has the only vote, or no
    /// other control plane has answered for a while. Members that run are reached by their addresses in the data.
    pub(super) async fn continues(&mut self, claim: &Claim) -> Result<bool, Stop> {
        let Some(member) = &self.this.member else { return Ok(false) };
        let record = claim.record().await?;
        if !record.begun {
            return Ok(false);
        }
        let root = &self.machine.root;
        match volume::cluster(root) {
            Some(cluster) if record.etcd.as_ref() == Some(&cluster) => {}
            // Nothing else has the data of the only member. Its etcd is another one after a snapshot was restored.
            Some(_) if self.document.has_one_member() && volume::voters(root)? == 1 => {}
            None if self.document.has_one_member() => {
                return Err(Stop::Waits(format!(
                    "waits for the data of etcd: the cluster has begun, and the volume of its only member {member} is empty; \
                     attach the volume with the data, or restore a snapshot"
                )));
            }
            // It joins as a new member.
            _ => return Ok(false),
        }
        Ok(volume::voters(root)? == 1 || self.seen.as_deref_mut().is_some_and(Seen::has_waited))
    }

    /// The addresses of the members of etcd, among them that of this machine from now on. `None` without the data of one of several
    /// members, and while the store cannot be written: the member starts without it, and is not reached by members that moved too.
    pub(super) async fn addresses_of_members(&self) -> Option<Addresses> {
        let root = &self.machine.root;
        let is_one_of_several = volume::voters(root).is_ok_and(|count| count > 1);
        if self.seen.is_none() || self.this.member.is_none() || !is_one_of_several {
            return None;
        }
        let ids = volume::ids(root)?;
        let published = async {
            let backend = self.caller.backend_at(store(self.document, self.boot)?)?;
            let addresses = Addresses::new(backend, self.document.cluster_name(), ids);
            addresses.publish(self.this.detected.address).await?;
            Ok::<_, Stop>(addresses)
        };
        match published.await {
            Ok(addresses) => Some(addresses),
            Err(stop) => {
                let error = stop.into_error();
                tracing::warn!(%error, "the address of the member of etcd is not known to the others");
                None
            }
        }
    }
}
