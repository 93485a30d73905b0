//! The open sessions of a process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use slipway_resource::{ErrorClass, ProviderError, Session};
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// One open session with the actions that run in it.
pub(crate) struct OpenSession {
    pub(crate) session: Arc<dyn Session>,
    /// Owns every task of the session; awaited when it closes.
    pub(crate) tasks: TaskTracker,
    /// One permit for each running action.
    pub(crate) slots: Arc<Semaphore>,
}

/// All open sessions.
pub(crate) struct Sessions {
    actions: usize,
    open: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    opened: u64,
    sessions: HashMap<String, Arc<OpenSession>>,
}

impl Sessions {
    pub(crate) fn new(actions: usize) -> Self {
        Self { actions, open: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a session and names it.
    pub(crate) fn insert(&self, session: Arc<dyn Session>) -> String {
        let mut table = self.table();
        table.opened += 1;
        let id = table.opened.to_string();
        let open =
            OpenSession { session, tasks: TaskTracker::new(), slots: Arc::new(Semaphore::new(self.actions)) };
        table.sessions.insert(id.clone(), Arc::new(open));
        id
    }

    /// The session of a name.
    pub(crate) fn get(&self, id: &str) -> Result<Arc<OpenSession>, ProviderError> {
        self.table().sessions.get(id).cloned().ok_or_else(|| unknown(id))
    }

    /// Forgets a session, waits for its actions, and closes it.
    pub(crate) async fn close(&self, id: &str) -> Result<(), ProviderError> {
        let open = self.table().sessions.remove(id).ok_or_else(|| unknown(id))?;
        open.tasks.close();
        open.tasks.wait().await;
        open.session.close().await
    }

    /// Cancels everything that runs and waits for it, not longer than `grace`; returns what was open.
    pub(crate) async fn end(&self, grace: Duration) -> Vec<Arc<OpenSession>> {
        let sessions: Vec<Arc<OpenSession>> = self.table().sessions.drain().map(|(_, open)| open).collect();
        let all = async {
            for open in &sessions {
                open.slots.close();
                open.tasks.close();
                if let Err(error) = open.session.cancel(None).await {
                    tracing::warn!(%error, "cannot cancel the actions of a session");
                }
            }
            for open in &sessions {
                open.tasks.wait().await;
                if let Err(error) = open.session.close().await {
                    tracing::warn!(%error, "cannot close a session");
                }
            }
        };
        if tokio::time::timeout(grace, all).await.is_err() {
            tracing::warn!("actions still run; they are found again by their tokens");
        }
        sessions
    }
}

fn unknown(id: &str) -> ProviderError {
    ProviderError::new(ErrorClass::Invalid, format!("session `{id}` is not open"))
}
