//! One account in one region, and its calls: each call with its rate, each failure with its class.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use aws_sdk_ec2::config::http::HttpResponse;
use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use slipway_resource::provider::Scope;
use slipway_resource::{ErrorClass, ProviderError};
use tokio::time::Instant;

use crate::batch::{Batcher, Family, Gather};
use crate::clients::Clients;
use crate::error::{Call, Effect, of_call, permanent};
use crate::peers::Peers;
use crate::rate::{Class, Paces};

/// A handle to one account in one region. Cloning is cheap.
#[derive(Clone)]
pub(crate) struct Cloud {
    inner: Arc<Inner>,
    gather: Gather,
}

/// The shared data of the handles.
struct Inner {
    clients: Clients,
    known: OnceLock<Known>,
    region: String,
    leaving: bool,
    paces: Paces,
    families: Mutex<HashMap<TypeId, Arc<dyn Any + Send + Sync>>>,
    started: Instant,
}

/// The facts that the session read when it was opened.
#[derive(Default)]
struct Known {
    scope: Scope,
    partition: String,
    caller: Option<String>,
}

impl Deref for Cloud {
    type Target = Clients;

    fn deref(&self) -> &Clients {
        &self.inner.clients
    }
}

impl Cloud {
    /// A handle without facts about the account. `leaving` tells that the whole cluster is deleted.
    pub fn new(clients: Clients, region: String, leaving: bool) -> Self {
        let inner = Inner {
            clients,
            known: OnceLock::new(),
            region,
            leaving,
            paces: Paces::new(),
            families: Mutex::default(),
            started: Instant::now(),
        };
        Self { inner: Arc::new(inner), gather: Gather::Shortly }
    }

    /// Stores the account, the partition of its ARNs, and the ARN of the caller.
    pub fn learn(&self, account: &str, partition: &str, caller: Option<&str>) {
        let scope = Scope { account: account.to_owned(), region: Some(self.inner.region.clone()) };
        let caller = caller.map(str::to_owned);
        self.inner.known.get_or_init(|| Known { scope, partition: partition.to_owned(), caller });
    }

    /// The same, for confirming reads: they wait for others with which they share a call.
    pub fn patient(&self, peers: Option<Peers>) -> Self {
        Self { inner: Arc::clone(&self.inner), gather: Gather::Patiently(peers) }
    }

    /// The account and region.
    pub fn scope(&self) -> &Scope {
        &self.known().scope
    }

    /// The account's id.
    pub fn account(&self) -> &str {
        &self.scope().account
    }

    /// The region.
    pub fn region(&self) -> &str {
        &self.inner.region
    }

    /// Whether the whole cluster is deleted: no later plan uses what reads show of it.
    pub fn leaving(&self) -> bool {
        self.inner.leaving
    }

    /// The partition in ARNs, as `aws`.
    pub fn partition(&self) -> &str {
        &self.known().partition
    }

    /// The ARN of the caller.
    pub fn caller(&self) -> Option<&str> {
        self.known().caller.as_deref()
    }

    fn known(&self) -> &Known {
        self.inner.known.get_or_init(Known::default)
    }

    /// The ARN of an object of EC2; of this account's unless another owns it.
    pub fn ec2_arn(&self, owner: Option<&str>, kind: &str, id: &str) -> String {
        let owner = owner.unwrap_or(self.account());
        format!("arn:{}:ec2:{}:{owner}:{kind}/{id}", self.partition(), self.region())
    }

    /// When the session began.
    pub fn started(&self) -> Instant {
        self.inner.started
    }

    /// One object of a family, read together with all that are requested at the same time; `None` when it
    /// does not exist.
    ///
    /// # Errors
    /// As the read says.
    pub async fn get<F: Family>(&self, key: &str) -> Result<Option<Arc<F::Item>>, ProviderError> {
        self.batcher::<F>().get(self, key, &self.gather).await
    }

    /// Objects of a family by key, read together.
    ///
    /// # Errors
    /// As the read says.
    pub async fn get_all<F: Family>(
        &self,
        keys: impl IntoIterator<Item = &str>,
    ) -> Result<Vec<Arc<F::Item>>, ProviderError> {
        let reads = keys.into_iter().map(|key| self.get::<F>(key));
        let found = futures_util::future::try_join_all(reads).await?;
        Ok(found.into_iter().flatten().collect())
    }

    /// The one of its type in this session.
    pub fn shared<T: Default + Send + Sync + 'static>(&self) -> Arc<T> {
        let mut families = self.inner.families.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = families.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(T::default()));
        // Each entry is stored under the id of its own type.
        Arc::clone(entry).downcast::<T>().unwrap_or_default()
    }

    fn batcher<F: Family>(&self) -> Arc<Batcher<F>> {
        self.shared::<Batcher<F>>()
    }

    /// A read call. It is sent once: the engine repeats it if possible, and reports that.
    ///
    /// # Errors
    /// By class.
    pub async fn read<T, E, S>(
        &self,
        class: Class,
        action: &'static str,
        send: impl Fn() -> S + Send + Sync,
    ) -> Result<T, ProviderError>
    where
        S: Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send,
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        self.paced(Call { class, action, effect: Effect::None }, &send).await
    }

    /// All pages of a read call: `send` gets the token of a page, and `next` finds the token of the page
    /// after it.
    ///
    /// # Errors
    /// As [`Cloud::read`], and `permanent` when a page names itself as the next one: its list would have no end.
    pub async fn pages<T, E, S>(
        &self,
        class: Class,
        action: &'static str,
        send: impl Fn(Option<String>) -> S + Send + Sync,
        next: impl Fn(&T) -> Option<&str> + Send + Sync,
    ) -> Result<Vec<T>, ProviderError>
    where
        T: Send,
        S: Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send,
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let mut pages = Vec::new();
        let mut name: Option<String> = None;
        loop {
            let page = self.read(class, action, || send(name.clone())).await?;
            let after = next(&page).filter(|name| !name.is_empty()).map(str::to_owned);
            if after.is_some() && after == name {
                return Err(permanent(format!("the answer to {action} names itself as the next page")));
            }
            name = after;
            pages.push(page);
            if name.is_none() {
                return Ok(pages);
            }
        }
    }

    /// A call that changes something. It is sent once.
    ///
    /// # Errors
    /// By class; `outcome-unknown` when the answer was lost.
    pub async fn write<T, E, S>(
        &self,
        class: Class,
        action: &'static str,
        send: impl Fn() -> S + Send + Sync,
    ) -> Result<T, ProviderError>
    where
        S: Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send,
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        self.paced(Call { class, action, effect: Effect::Possible }, &send).await
    }

    /// Sends a call in its turn. A refusal for its pace slows down the calls that follow.
    async fn paced<T, E, S>(
        &self,
        call: Call,
        send: &(impl Fn() -> S + Send + Sync),
    ) -> Result<T, ProviderError>
    where
        S: Future<Output = Result<T, SdkError<E, HttpResponse>>> + Send,
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let Some(pace) = self.inner.paces.of(call.class) else {
            return send().await.map_err(|failure| of_call(call, &failure));
        };
        let answer = {
            let _slot = pace.turn().await;
            send().await
        };
        match answer {
            Ok(answer) => {
                pace.accepted();
                Ok(answer)
            }
            Err(failure) => {
                let error = of_call(call, &failure);
                if let ErrorClass::Throttled { retry_after_ms, .. } = &error.class {
                    pace.refused(retry_after_ms.map(Duration::from_millis));
                }
                Err(error)
            }
        }
    }
}
