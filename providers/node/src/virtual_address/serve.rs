//! The program that takes part in the election, and has the address while it holds the Lease.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rustix::time::{ClockId, clock_gettime};
use slipway_resource::ProviderError;
use tokio::signal::unix::{SignalKind, signal};

use super::api::{Api, Asking, Readiness};
use super::election::{ANSWER, Election, Move, RENEW};
use super::lease::Lease;
use super::link::Link;
use super::settings::Settings;
use crate::error::permanent;
use crate::own_program::{OwnProgram, Version};

/// The longest time between two looks of a candidate at the Lease.
const LOOK: Duration = Duration::from_millis(250);

/// The time until the next attempt after a failed one: of a candidate, and of the holder.
const CANDIDATE_AGAIN: Duration = Duration::from_millis(100);
const HOLDER_AGAIN: Duration = Duration::from_millis(50);

/// How often a new holder announces the address with its renewals, and after how many renewals it does so again.
const FIRST_ANNOUNCEMENTS: u32 = 5;
const ANNOUNCED_AGAIN: u32 = 30;

/// How often the settings and the program are looked at.
const FOLLOW: Duration = Duration::from_secs(1);

/// Takes part in the election by the settings in a file, until this process is ended, its program is replaced, or its settings
/// change; says what changes. The address is gone when it returns.
///
/// # Errors
/// When the settings cannot be read at the start, or the address cannot be added to the interface or removed from it.
pub async fn serve_virtual_address(
    path: &Path,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), ProviderError> {
    let version = Version::of(path);
    let settings = Settings::read(path)?;
    let mut candidate = Candidate::new(&settings, tell)?;
    // A process before this one may have ended while it had the address.
    candidate.link.remove()?;
    tell(&format!("takes part in the election for {} on {}", settings.address, candidate.link.name()));
    let ended = tokio::select! {
        ended = ends(path, version) => ended,
        error = candidate.run() => Err(error),
    };
    // The former holder removes the address before it gives the Lease back.
    candidate.link.remove()?;
    tell(ended?);
    candidate.give_back().await;
    Ok(())
}

/// Waits until another process has to go on; returns why.
async fn ends(path: &Path, version: Option<Version>) -> Result<&'static str, ProviderError> {
    let failed = |error: std::io::Error| permanent(format!("signals cannot be received: {error}"));
    let mut terminate = signal(SignalKind::terminate()).map_err(failed)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(failed)?;
    let program = OwnProgram::now();
    loop {
        tokio::select! {
            _ = terminate.recv() => return Ok("it is ended"),
            _ = interrupt.recv() => return Ok("it is interrupted"),
            () = tokio::time::sleep(FOLLOW) => {}
        }
        if program.is_replaced() {
            return Ok("the program was replaced; the new one goes on");
        }
        let now = Version::of(path);
        // A file that is gone or cannot be read changes nothing: the next process would not start.
        if now != version && Settings::read(path).is_ok() {
            return Ok("the settings changed; the next process goes on with them");
        }
    }
}

struct Candidate<'a> {
    election: Election,
    api: Api,
    link: Link,
    /// The Lease as this process wrote it last, while it holds it.
    held: Option<Lease>,
    /// How often the Lease was renewed since the address was added.
    renewals: u32,
    /// The last complaint: a repeated one is not reported again.
    complaint: Option<String>,
    tell: &'a (dyn Fn(&str) + Send + Sync),
}

impl<'a> Candidate<'a> {
    fn new(settings: &Settings, tell: &'a (dyn Fn(&str) + Send + Sync)) -> Result<Self, ProviderError> {
        let begun = Timestamp::now().as_nanosecond();
        Ok(Self {
            election: Election::new(format!("{}_{begun:x}_{}", settings.node, std::process::id())),
            api: Api::new(settings.kubeconfig_path.clone()),
            link: Link::open(settings)?,
            held: None,
            renewals: 0,
            complaint: None,
            tell,
        })
    }

    /// Takes part until the interface cannot be used any more; returns why.
    async fn run(&mut self) -> ProviderError {
        loop {
            let done = match self.held.clone() {
                Some(lease) => self.renew(&lease).await,
                None => self.campaign().await,
            };
            match done {
                Ok(pause) => tokio::time::sleep(pause).await,
                Err(error) => return error,
            }
        }
    }

    /// Renews the Lease once, and extends the lifetime of the address. Returns the pause after it.
    async fn renew(&mut self, lease: &Lease) -> Result<Duration, ProviderError> {
        let sent = since_boot();
        let Some(left) = self.election.left(sent) else {
            self.let_go("the Lease was not renewed in time")?;
            return Ok(Duration::ZERO);
        };
        let asking = match self.api.now() {
            Ok(asking) => asking,
            Err(why) => {
                self.complain(why);
                return Ok(HOLDER_AGAIN.min(left));
            }
        };
        let limit = ANSWER.min(left);
        let wanted = lease.renewed(Timestamp::now());
        let (readiness, written) = tokio::join!(asking.is_ready(limit), asking.write(&wanted, limit));
        if let Ok(Some(written)) = &written {
            self.held = Some(written.clone());
            self.election.wrote(sent);
        }
        if let Readiness::Unready(why) = readiness {
            // Another machine serves the clients from now on.
            self.link.remove()?;
            self.give_back().await;
            self.let_go(&format!("the API server of this machine is not ready: {why}"))?;
            return Ok(LOOK);
        }
        match written {
            Ok(Some(_)) => {
                self.complaint = None;
                self.extend()?;
                Ok(RENEW)
            }
            Ok(None) => {
                self.look_again(&asking, limit).await?;
                Ok(HOLDER_AGAIN.min(left))
            }
            Err(why) => {
                self.complain(format!("the Lease is not renewed: {why}"));
                Ok(HOLDER_AGAIN.min(left))
            }
        }
    }

    /// Looks at a Lease that had another version than the one that this process wrote last. Somebody else may have changed it, or
    /// this process by a request whose answer came too late.
    async fn look_again(&mut self, asking: &Asking, limit: Duration) -> Result<(), ProviderError> {
        match asking.read(limit).await {
            Ok(Some(lease)) if lease.holder() == Some(self.election.identity()) => self.held = Some(lease),
            Ok(lease) => {
                let holder = lease.as_ref().and_then(Lease::holder).unwrap_or("nobody").to_owned();
                self.let_go(&format!("{holder} holds the Lease"))?;
            }
            Err(why) => self.complain(format!("the Lease is not renewed: {why}")),
        }
        Ok(())
    }

    /// Takes the Lease if it is free. Returns the pause until the next look.
    async fn campaign(&mut self) -> Result<Duration, ProviderError> {
        let asking = match self.api.now() {
            Ok(asking) => asking,
            Err(why) => {
                self.complain(why);
                return Ok(LOOK);
            }
        };
        let (readiness, found) = tokio::join!(asking.is_ready(ANSWER), asking.read(ANSWER));
        let found = match found {
            Ok(found) => found,
            Err(why) => {
                self.complain(format!("the Lease cannot be read: {why}"));
                return Ok(CANDIDATE_AGAIN);
            }
        };
        let now = Timestamp::now();
        let wanted = match (self.election.look(found.as_ref(), since_boot()), found) {
            (Move::Wait(rest), _) => {
                self.complaint = None;
                return Ok(rest.min(LOOK));
            }
            (Move::Take, Some(lease)) => lease.taken(self.election.identity(), now),
            (Move::Create | Move::Take, _) => Lease::created(self.election.identity(), now),
        };
        if let Readiness::Unready(why) | Readiness::Unknown(why) = readiness {
            self.complain(format!("the API server of this machine is not ready: {why}"));
            return Ok(CANDIDATE_AGAIN);
        }
        let sent = since_boot();
        match asking.write(&wanted, ANSWER).await {
            Ok(Some(written)) => {
                self.complaint = None;
                self.held = Some(written);
                self.election.wrote(sent);
                self.extend()?;
                Ok(RENEW)
            }
            // Another machine was faster.
            Ok(None) => Ok(LOOK),
            Err(why) => {
                self.complain(format!("the Lease cannot be taken: {why}"));
                Ok(CANDIDATE_AGAIN)
            }
        }
    }

    /// Adds the address or extends its lifetime, and announces it when that is due.
    fn extend(&mut self) -> Result<(), ProviderError> {
        // An answer that took too long extends nothing: the next one does.
        if !self.election.may_extend(since_boot()) {
            return Ok(());
        }
        let is_new = self.link.extend()?;
        if !self.election.may_extend(since_boot()) {
            // This process was stopped just now, for nobody knows how long.
            self.link.remove()?;
            return Ok(());
        }
        if is_new {
            self.renewals = 0;
            (self.tell)(&format!("has the address on {}", self.link.name()));
        }
        let is_due = self.renewals < FIRST_ANNOUNCEMENTS || self.renewals.is_multiple_of(ANNOUNCED_AGAIN);
        if is_due && let Err(why) = self.link.announce() {
            self.complain(why);
        }
        self.renewals = self.renewals.saturating_add(1);
        Ok(())
    }

    /// Removes the address, and is a candidate again.
    fn let_go(&mut self, why: &str) -> Result<(), ProviderError> {
        self.link.remove()?;
        self.election.lost();
        self.held = None;
        (self.tell)(&format!("does not have the address any more: {why}"));
        Ok(())
    }

    /// Gives the Lease back, so that others need not wait. The address was removed before.
    async fn give_back(&mut self) {
        let Some(lease) = self.held.take() else { return };
        let Ok(asking) = self.api.now() else { return };
        let given_back = lease.given_back(Timestamp::now());
        if let Err(why) = asking.write(&given_back, ANSWER).await {
            self.complain(format!("the Lease is not given back: {why}"));
        }
    }

    /// Tells a problem, once until another one or until it has passed.
    fn complain(&mut self, problem: String) {
        if self.complaint.as_ref() != Some(&problem) {
            (self.tell)(&problem);
            self.complaint = Some(problem);
        }
    }
}

/// Time since the machine was started, including the time in which it was suspended.
fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}
