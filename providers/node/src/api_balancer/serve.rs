//! The program of the balancer: forwards connections, watches its members, and follows its settings.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use slipway_resource::ProviderError;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::discover;
use super::forward::forward;
use super::members::{Finding, Health, Members};
use super::probe::{Asker, Asking};
use super::settings::Settings;
use crate::error::permanent;
use crate::own_program::{OwnProgram, Version};

/// The time between two questions to each member.
const ASK: Duration = Duration::from_secs(1);

/// The time between two lists of the cluster. Health does not depend on it, only how soon a new member is used.
const LIST: Duration = Duration::from_secs(30);

/// The time until the next attempt after a failed one.
const LIST_AGAIN: Duration = Duration::from_secs(5);

/// Forwards connections by the settings in a file, until this process is ended, its program is replaced, or its address
/// changes; says what changes.
///
/// # Errors
/// When the settings cannot be read at the start, or the address is in use.
pub async fn serve_api_balancer(
    path: &Path,
    tell: &(dyn Fn(&str) + Send + Sync),
) -> Result<(), ProviderError> {
    let version = Version::of(path);
    let settings = Settings::read(path)?;
    let listener = TcpListener::bind(settings.listen)
        .await
        .map_err(|error| permanent(format!("{}: cannot listen: {error}", settings.listen)))?;
    let members = Arc::new(Members::default());
    members.name(&settings.members, settings.own);
    let known = discover::remembered(&settings.known_path);
    if !known.is_empty() {
        members.list(&known);
    }
    tell(&format!("listens on {} for {} API servers", settings.listen, members.addresses().len()));
    let mut watch = Watch {
        path: path.to_owned(),
        version,
        asker: Asker::new(&settings),
        settings,
        members: Arc::clone(&members),
        program: OwnProgram::now(),
        asked: JoinSet::new(),
        waiting: BTreeSet::new(),
        lists_at: Instant::now(),
        complaint: None,
        tell,
    };
    tokio::select! {
        () = forward(listener, members) => Ok(()),
        () = watch.run() => Ok(()),
    }
}

/// An answer that was waited for.
enum Answer {
    Health(SocketAddr, Finding),
    List(Result<BTreeSet<SocketAddr>, String>),
}

struct Watch<'a> {
    path: PathBuf,
    version: Option<Version>,
    settings: Settings,
    members: Arc<Members>,
    asker: Asker,
    program: OwnProgram,
    asked: JoinSet<Answer>,
    /// Members that were asked and have not answered.
    waiting: BTreeSet<SocketAddr>,
    /// When the cluster is asked for its list.
    lists_at: Instant,
    /// The last complaint: a repeated one is not reported again.
    complaint: Option<String>,
    tell: &'a (dyn Fn(&str) + Send + Sync),
}

impl Watch<'_> {
    /// Watches until another process has to go on.
    async fn run(&mut self) {
        let mut tick = interval(ASK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = tick.tick() => {
                    if self.program.is_replaced() {
                        (self.tell)("the program was replaced; the new one goes on");
                        return;
                    }
                    if !self.follow() {
                        (self.tell)("the settings changed; the next process goes on with them");
                        return;
                    }
                    self.ask();
                }
                Some(answer) = self.asked.join_next(), if !self.asked.is_empty() => {
                    if let Ok(answer) = answer {
                        self.take(answer);
                    }
                }
            }
        }
    }

    /// Takes over changed settings. Returns whether this process can go on with them.
    fn follow(&mut self) -> bool {
        let version = Version::of(&self.path);
        if version == self.version {
            return true;
        }
        match Settings::read(&self.path) {
            Ok(settings) => {
                if settings.fixed() != self.settings.fixed() {
                    return false;
                }
                self.version = version;
                self.members.name(&settings.members, settings.own);
                self.settings = settings;
                (self.tell)(&format!("the settings changed: {} API servers", self.members.addresses().len()));
            }
            // The previous settings stay until the file can be read.
            Err(error) => self.complain(error.message),
        }
        true
    }

    /// Asks every member that owes no answer, and the cluster if its list is due.
    fn ask(&mut self) {
        let asking = match self.asker.now() {
            Ok(asking) => asking,
            Err(why) => return self.complain(format!("API servers cannot be asked: {why}")),
        };
        for member in self.members.addresses() {
            if self.waiting.insert(member) {
                let asking = asking.clone();
                self.asked.spawn(async move { Answer::Health(member, asking.is_ready(member).await) });
            }
        }
        if asking.has_identity && Instant::now() >= self.lists_at {
            self.lists_at = Instant::now() + LIST + Duration::from_secs(u64::from(std::process::id() % 10));
            self.ask_for_list(asking);
        }
    }

    fn ask_for_list(&mut self, asking: Asking) {
        let Some(member) = self.members.order().first().copied() else { return };
        self.asked.spawn(async move { Answer::List(discover::listed(&asking, member).await) });
    }

    fn take(&mut self, answer: Answer) {
        match answer {
            Answer::Health(member, finding) => {
                self.waiting.remove(&member);
                if let Some((_, after)) = self.members.found(member, &finding) {
                    (self.tell)(&described(member, after, &finding));
                }
            }
            Answer::List(Ok(listed)) => {
                self.complaint = None;
                if self.members.list(&listed) {
                    let all: Vec<String> = listed.iter().map(ToString::to_string).collect();
                    (self.tell)(&format!("the cluster lists {}", all.join(", ")));
                    let listed = self.members.listed();
                    if let Err(why) = discover::remember(&self.settings.known_path, &listed) {
                        self.complain(why);
                    }
                }
            }
            Answer::List(Err(why)) => {
                self.lists_at = Instant::now() + LIST_AGAIN;
                self.complain(why);
            }
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

fn described(member: SocketAddr, health: Health, finding: &Finding) -> String {
    match (health, finding) {
        (Health::Ready, _) => format!("{member} is ready"),
        (_, Finding::Unready(why)) => format!("{member} is not ready: {why}"),
        (_, Finding::Refused(why) | Finding::Silent(why)) => format!("{member} is down: {why}"),
        _ => format!("{member} is not known"),
    }
}
