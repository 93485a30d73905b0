//! Leader election by a Lease of the cluster, with the rules of client-go's leader election.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, PostParams};
use tokio_util::sync::CancellationToken;

use crate::clock::since_boot;
use crate::fence::Fence;
use crate::lease::{self, Seen};

/// How long work may take to end after the lease was lost or a stop was asked for.
const ENDING: Duration = Duration::from_secs(20);

/// The times of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// How long others wait for a holder that does not renew, at least a second.
    pub lease_duration: Duration,
    /// How long a holder tries to renew before it gives up, shorter than `lease_duration`.
    pub renew_deadline: Duration,
    /// The time between two attempts, shorter than `renew_deadline`.
    pub retry_period: Duration,
}

/// These terms cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TermsError {
    /// Another process could lead while this one still writes.
    #[error(
        "--leader-elect-lease-duration must be greater than --leader-elect-renew-deadline, and at least 1s"
    )]
    LeaseDuration,
    /// There would be no second attempt.
    #[error(
        "--leader-elect-renew-deadline must be greater than --leader-elect-retry-period, which must be greater than 0"
    )]
    RenewDeadline,
}

impl Default for Terms {
    /// 15 s, 10 s, 2 s: the defaults of Kubernetes' own controllers.
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { lease_duration: seconds(15), renew_deadline: seconds(10), retry_period: seconds(2) }
    }
}

impl Terms {
    /// Checks that the times fit to each other.
    ///
    /// # Errors
    /// If they do not.
    pub fn check(self) -> Result<Self, TermsError> {
        if self.lease_duration <= self.renew_deadline || self.lease_duration < Duration::from_secs(1) {
            return Err(TermsError::LeaseDuration);
        }
        if self.renew_deadline <= self.retry_period || self.retry_period.is_zero() {
            return Err(TermsError::RenewDeadline);
        }
        Ok(self)
    }
}

/// An election: its Lease, and the name of this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Election {
    /// The namespace of the Lease.
    pub namespace: String,
    /// The name of the Lease.
    pub name: String,
    /// The name of this process, unique among all candidates ([`process_identity`](crate::process_identity)).
    pub identity: String,
    /// The times.
    pub terms: Terms,
}

/// The tools of the leader.
#[derive(Clone)]
pub struct Leader {
    /// The client. It writes nothing after the lease was lost.
    pub client: kube::Client,
    /// Cancelled when the work must end: a stop was asked for, or the lease was lost.
    pub stop: CancellationToken,
    /// The fence of the client, for writes without this client, such as calls to a cloud.
    pub fence: Fence,
}

impl std::fmt::Debug for Leader {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { client: _, stop, fence } = self;
        formatter.debug_struct("Leader").field("stop", stop).field("fence", fence).finish_non_exhaustive()
    }
}

/// An election ended otherwise than by a stop.
#[derive(Debug, thiserror::Error)]
pub enum ElectionError {
    /// Another process may lead now.
    #[error("the lease {namespace}/{name} was lost: {reason}")]
    Lost {
        /// The namespace of the Lease.
        namespace: String,
        /// The name of the Lease.
        name: String,
        /// Why.
        reason: String,
    },
}

impl Election {
    /// Waits until this process leads, does the work, and releases the lease when the work has ended. Returns
    /// `None` if a stop was requested before this process led.
    ///
    /// # Errors
    /// If the lease was lost. The work was cancelled, and its client refuses to write. The process should
    /// end.
    pub async fn lead<F, Work>(
        &self,
        client: &kube::Client,
        stop: &CancellationToken,
        work: F,
    ) -> Result<Option<Work::Output>, ElectionError>
    where
        F: FnOnce(Leader) -> Work,
        Work: Future,
    {
        let leases: Api<Lease> = Api::namespaced(client.clone(), &self.namespace);
        let fence = Fence::default();
        let acquired = tokio::select! {
            () = stop.cancelled() => return Ok(None),
            lease = self.acquire(&leases, &fence) => lease,
        };
        tracing::info!(lease = %self.name, identity = %self.identity, "this process leads");
        let ending = stop.child_token();
        let work = work(Leader { client: fence.client(client), stop: ending.clone(), fence: fence.clone() });
        let mut work = std::pin::pin!(work);
        let mut held = acquired;
        let lost = {
            let keep = self.keep(&leases, &fence, &mut held);
            tokio::select! {
                done = &mut work => Ok(done),
                reason = keep => Err(reason),
            }
        };
        match lost {
            Ok(done) => {
                fence.close();
                self.release(&leases, held).await;
                Ok(Some(done))
            }
            Err(reason) => {
                fence.close();
                ending.cancel();
                // Its later writes are refused.
                let _ = tokio::time::timeout(ENDING, work).await;
                Err(ElectionError::Lost {
                    namespace: self.namespace.clone(),
                    name: self.name.clone(),
                    reason,
                })
            }
        }
    }

    async fn acquire(&self, leases: &Api<Lease>, fence: &Fence) -> Lease {
        let mut seen = Seen::default();
        loop {
            let sent = since_boot();
            match self.try_to_acquire(leases, &mut seen).await {
                Ok(Some(lease)) => {
                    fence.open_until(sent + self.terms.renew_deadline);
                    return lease;
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(lease = %self.name, %error, "the lease cannot be read or taken"),
            }
            tokio::time::sleep(self.terms.retry_period).await;
        }
    }

    /// Takes the lease if it is free; `None` if another process holds it, or took it at the same time.
    async fn try_to_acquire(&self, leases: &Api<Lease>, seen: &mut Seen) -> kube::Result<Option<Lease>> {
        let parameters = PostParams::default();
        let written = match leases.get_opt(&self.name).await? {
            None => leases.create(&parameters, &lease::created(self, Timestamp::now())).await,
            Some(lease) if seen.may_be_taken(&lease, self.terms, since_boot()) => {
                // The resource version in it makes this a compare-and-swap.
                leases.replace(&self.name, &parameters, &lease::taken(lease, self, Timestamp::now())).await
            }
            Some(_) => return Ok(None),
        };
        match written {
            Ok(lease) => Ok(Some(lease)),
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Renews the lease until that fails; returns why. `held` is the lease that this process wrote last.
    async fn keep(&self, leases: &Api<Lease>, fence: &Fence, held: &mut Lease) -> String {
        let mut last_error = String::from("it was not renewed in time");
        loop {
            let Some(left) = fence.remaining() else { return last_error };
            tokio::time::sleep(self.terms.retry_period.min(left)).await;
            let Some(left) = fence.remaining() else { return last_error };
            let sent = since_boot();
            match tokio::time::timeout(left, self.renew(leases, held)).await {
                Ok(Ok(())) => fence.open_until(sent + self.terms.renew_deadline),
                Ok(Err(RenewError::Taken(holder))) => return format!("{holder} holds it"),
                Ok(Err(RenewError::Api(error))) => {
                    tracing::warn!(lease = %self.name, %error, "the lease cannot be renewed");
                    last_error = error.to_string();
                }
                Err(_) => return last_error,
            }
        }
    }

    async fn renew(&self, leases: &Api<Lease>, held: &mut Lease) -> Result<(), RenewError> {
        let wanted = lease::renewed(held.clone(), Timestamp::now());
        match leases.replace(&self.name, &PostParams::default(), &wanted).await {
            Ok(lease) => {
                *held = lease;
                Ok(())
            }
            Err(kube::Error::Api(status)) if status.code == 409 => {
                // The lease was changed: another process took it, or a person set a label.
                let lease = leases.get(&self.name).await.map_err(RenewError::Api)?;
                match lease::holder(&lease) {
                    Some(holder) if holder == self.identity => *held = lease,
                    holder => return Err(RenewError::Taken(holder.unwrap_or("nobody").to_owned())),
                }
                let wanted = lease::renewed(held.clone(), Timestamp::now());
                *held = leases
                    .replace(&self.name, &PostParams::default(), &wanted)
                    .await
                    .map_err(RenewError::Api)?;
                Ok(())
            }
            Err(error) => Err(RenewError::Api(error)),
        }
    }

    /// Releases the lease, so that other processes need not wait for its end.
    async fn release(&self, leases: &Api<Lease>, held: Lease) {
        let released = lease::released(held, Timestamp::now());
        let parameters = PostParams::default();
        let written = leases.replace(&self.name, &parameters, &released);
        match tokio::time::timeout(self.terms.retry_period, written).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(lease = %self.name, %error, "the lease was not given back"),
            Err(_) => tracing::warn!(lease = %self.name, "the lease was not given back in time"),
        }
    }
}

enum RenewError {
    /// Another process holds the lease.
    Taken(String),
    /// There is no answer, or a refusal.
    Api(kube::Error),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_leave_no_time_in_which_two_processes_lead() {
        let seconds = Duration::from_secs;
        let terms = |lease, renew, retry| Terms {
            lease_duration: seconds(lease),
            renew_deadline: seconds(renew),
            retry_period: seconds(retry),
        };
        assert_eq!(Terms::default().check(), Ok(terms(15, 10, 2)));
        assert_eq!(terms(10, 10, 2).check(), Err(TermsError::LeaseDuration));
        assert_eq!(terms(15, 2, 2).check(), Err(TermsError::RenewDeadline));
        assert_eq!(terms(15, 10, 0).check(), Err(TermsError::RenewDeadline));
    }
}
