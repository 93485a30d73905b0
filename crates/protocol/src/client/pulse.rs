//! Keep-alive of a provider: while calls are in progress, it is repeatedly asked for its description.
//!
//! A provider that is stopped, hangs, or has silently lost its connection does not answer. One with a
//! long-running call answers at once.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use slipway_resource::{ErrorClass, ProviderError};
use tokio::sync::Mutex;

use super::Connection;
use crate::generated as proto;

/// How long a call runs before the first keep-alive request, and the interval between two of them.
const BEAT: Duration = Duration::from_secs(1);

/// The signs of life of a connection.
#[derive(Debug, Default)]
pub(super) struct Pulse {
    /// Held by the one call that asks for all.
    asking: Mutex<()>,
    /// How many beats the last question has waited for its answer.
    missed: AtomicU32,
}

impl Connection {
    /// Waits for a call, as long as the provider gives signs of life.
    ///
    /// # Errors
    /// `permanent` when there were none for [`super::Deadlines::silence`].
    pub(super) async fn alive<T>(&self, call: impl Future<Output = T>) -> Result<T, ProviderError> {
        tokio::select! {
            biased;
            answer = call => Ok(answer),
            silence = self.silence() => Err(silence),
        }
    }

    /// Whether the provider gave no sign of life when it was asked last.
    pub(super) fn is_silent(&self) -> bool {
        self.pulse.missed.load(Ordering::Relaxed) >= self.beats()
    }

    /// The longest silence in beats. They are counted, not measured: a beat that this process slept through is one.
    fn beats(&self) -> u32 {
        u32::try_from(self.deadlines.silence.as_secs()).unwrap_or(u32::MAX).max(1)
    }

    /// Ends when the provider gives no sign of life.
    async fn silence(&self) -> ProviderError {
        let Pulse { asking, missed } = &self.pulse;
        loop {
            tokio::time::sleep(BEAT).await;
            if let Ok(_asks) = asking.try_lock() {
                let mut rpc = self.rpc.clone();
                let question = rpc.get_info(proto::GetInfoRequest {});
                tokio::pin!(question);
                loop {
                    tokio::select! {
                        biased;
                        // Whatever it says, it says something.
                        _ = &mut question => {
                            missed.store(0, Ordering::Relaxed);
                            break;
                        }
                        () = tokio::time::sleep(BEAT) => {
                            missed.fetch_add(1, Ordering::Relaxed);
                            if self.is_silent() {
                                break;
                            }
                        }
                    }
                }
            }
            if self.is_silent() {
                return self.silent();
            }
        }
    }

    fn silent(&self) -> ProviderError {
        let (name, seconds) = (self.life.name(), self.beats());
        let text = format!("provider {name} gives no sign of life: no answer at all for {seconds} s");
        ProviderError::new(ErrorClass::Permanent, text)
            .with_hint("its process may be stopped or hang; what it was doing is found out by the next run")
    }
}
