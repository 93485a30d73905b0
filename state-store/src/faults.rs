//! A backend that fails, waits, or calls a hook at chosen writes, for tests of its callers.
//!
//! A crash test kills its process in a hook, at the n-th write of its choice; a test of a lost answer lets the write
//! happen and fail afterwards.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::backend::{Backend, Error, Key, Locality, Prefix, Result, Tag};

/// The kinds of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// [`Backend::create`].
    Create,
    /// [`Backend::get`].
    Get,
    /// [`Backend::update`].
    Update,
    /// [`Backend::delete`].
    Delete,
}

/// One call for one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The kind of the call.
    pub operation: Operation,
    /// To which object.
    pub key: Key,
}

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Without effect, and it may work later.
    Transient,
    /// Without effect, but the caller cannot know that.
    UnknownWithoutEffect,
    /// With its effect, but the caller cannot know that.
    UnknownWithEffect,
    /// Without effect, permanently.
    Permission,
}

/// The calls that fail, and their failure.
#[derive(Clone, Debug)]
pub struct Fault {
    operation: Operation,
    part: String,
    skip: usize,
    times: usize,
    failure: Failure,
}

impl Fault {
    /// The next call of this kind for an object whose key has `part` in it.
    pub fn new(operation: Operation, part: &str, failure: Failure) -> Self {
        Self { operation, part: part.to_owned(), skip: 0, times: 1, failure }
    }

    /// Not yet the first `skip` of such calls.
    #[must_use]
    pub fn after(self, skip: usize) -> Self {
        Self { skip, ..self }
    }

    /// So many of them.
    #[must_use]
    pub fn times(self, times: usize) -> Self {
        Self { times, ..self }
    }
}

/// When a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Before the write happens.
    Before,
    /// After it happened, before the caller knows.
    After,
}

/// Called around each write, which continues when the future is done.
pub type Hook = dyn Fn(Moment, Call) -> BoxFuture<'static, ()> + Send + Sync;

/// A backend in front of another, with injected faults.
pub struct Faulty {
    inner: Arc<dyn Backend>,
    locality: Locality,
    hook: Option<Box<Hook>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    faults: Vec<Fault>,
    calls: Vec<Call>,
}

impl Faulty {
    /// Does nothing but to keep record.
    pub fn new(inner: Arc<dyn Backend>) -> Self {
        Self { locality: inner.locality(), inner, hook: None, state: Mutex::default() }
    }

    /// Calls out around each write.
    #[must_use]
    pub fn hook(self, hook: impl Fn(Moment, Call) -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self { hook: Some(Box::new(hook)), ..self }
    }

    /// Pretends to be elsewhere.
    #[must_use]
    pub fn locality(self, locality: Locality) -> Self {
        Self { locality, ..self }
    }

    /// Fails at the calls that the fault names, from now on.
    pub fn fail(&self, fault: Fault) {
        self.lock().faults.push(fault);
    }

    /// All calls for objects so far, in order, with those that failed.
    pub fn calls(&self) -> Vec<Call> {
        self.lock().calls.clone()
    }

    /// How many calls of this kind there were for objects whose key has `part` in it.
    pub fn count(&self, operation: Operation, part: &str) -> usize {
        let matches = |call: &&Call| call.operation == operation && call.key.as_str().contains(part);
        self.lock().calls.iter().filter(matches).count()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps record, and says how the call fails, if it does.
    fn begin(&self, call: &Call) -> Option<Failure> {
        let mut state = self.lock();
        state.calls.push(call.clone());
        let mut failure = None;
        for fault in &mut state.faults {
            if fault.operation != call.operation || !call.key.as_str().contains(&fault.part) {
                continue;
            }
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if fault.times > 0 && failure.is_none() {
                fault.times -= 1;
                failure = Some(fault.failure);
            }
        }
        failure
    }

    async fn call<T>(&self, call: Call, effect: impl Future<Output = Result<T>> + Send) -> Result<T> {
        let failure = self.begin(&call);
        self.tell(Moment::Before, &call).await;
        let source = Arc::new(io::Error::other("a fault that a test asked for"));
        let key = call.key.to_string();
        match failure {
            Some(Failure::Transient) => return Err(Error::Transient { key, source }),
            Some(Failure::UnknownWithoutEffect) => return Err(Error::OutcomeUnknown { key, source }),
            Some(Failure::Permission) => return Err(Error::Permission { key, source }),
            Some(Failure::UnknownWithEffect) | None => {}
        }
        let result = effect.await;
        self.tell(Moment::After, &call).await;
        if failure.is_some() { Err(Error::OutcomeUnknown { key, source }) } else { result }
    }

    async fn tell(&self, moment: Moment, call: &Call) {
        if let Some(hook) = &self.hook
            && call.operation != Operation::Get
        {
            hook(moment, call.clone()).await;
        }
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Faulty").field(&self.inner).finish()
    }
}

#[async_trait]
impl Backend for Faulty {
    async fn create(&self, key: &Key, bytes: Bytes) -> Result<Tag> {
        let call = Call { operation: Operation::Create, key: key.clone() };
        self.call(call, self.inner.create(key, bytes)).await
    }

    async fn get(&self, key: &Key) -> Result<Option<(Bytes, Tag)>> {
        let call = Call { operation: Operation::Get, key: key.clone() };
        self.call(call, self.inner.get(key)).await
    }

    async fn update(&self, key: &Key, bytes: Bytes, tag: &Tag) -> Result<Tag> {
        let call = Call { operation: Operation::Update, key: key.clone() };
        self.call(call, self.inner.update(key, bytes, tag)).await
    }

    async fn list(&self, prefix: &Prefix) -> Result<Vec<Key>> {
        self.inner.list(prefix).await
    }

    async fn list_children(&self, prefix: &Prefix) -> Result<Vec<String>> {
        self.inner.list_children(prefix).await
    }

    async fn delete(&self, key: &Key) -> Result<()> {
        let call = Call { operation: Operation::Delete, key: key.clone() };
        self.call(call, self.inner.delete(key)).await
    }

    fn locality(&self) -> Locality {
        self.locality
    }
}
