//! Collects spans that have ended.

use std::fmt::Debug;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::SystemTime;

use slipway_limits::{size, text::shorten};
use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// A span that has ended.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub trace: u128,
    pub id: u64,
    pub parent: Option<u64>,
    pub name: &'static str,
    pub begun: SystemTime,
    pub ended: SystemTime,
    pub fields: Fields,
}

/// The fields of a span in the order in which they were recorded.
#[derive(Clone, Debug, Default)]
pub(super) struct Fields(pub Vec<(&'static str, Value)>);

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Integer(i64),
    Flag(bool),
}

/// Hands spans over when they end.
#[derive(Debug)]
pub(super) struct Collector {
    spans: SyncSender<Span>,
    /// How many were lost since the exporter looked.
    lost: Arc<AtomicU64>,
    /// Makes ids out of numbers. Its keys are random in each process.
    random: RandomState,
    next: AtomicU64,
}

impl Collector {
    pub fn new(spans: SyncSender<Span>) -> Self {
        Self { spans, lost: Arc::default(), random: RandomState::new(), next: AtomicU64::new(0) }
    }

    /// The number of spans that found no place, for the exporter.
    pub fn lost(&self) -> Arc<AtomicU64> {
        self.lost.clone()
    }

    /// An id, which is never 0.
    fn id(&self) -> u64 {
        self.random.hash_one(self.next.fetch_add(1, Ordering::Relaxed)).max(1)
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Collector {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let above = span.parent().and_then(|parent| {
            let extensions = parent.extensions();
            extensions.get::<Span>().map(|above| (above.trace, above.id))
        });
        let trace = match above {
            Some((trace, _)) => trace,
            None => (u128::from(self.id()) << 64) | u128::from(self.id()),
        };
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        let begun = SystemTime::now();
        span.extensions_mut().insert(Span {
            trace,
            id: self.id(),
            parent: above.map(|(_, id)| id),
            name: span.name(),
            begun,
            ended: begun,
            fields,
        });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Span>() {
            values.record(&mut open.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(mut closed) = span.extensions_mut().remove::<Span>() else { return };
        closed.ended = SystemTime::now();
        if self.spans.try_send(closed).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Fields {
    fn push(&mut self, field: &Field, value: Value) {
        self.0.push((field.name(), value));
    }

    fn push_text(&mut self, field: &Field, text: &str) {
        self.push(field, Value::Text(shorten(text, size::KEY).into_owned()));
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.push_text(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push_text(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, Value::Integer(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, Value::Flag(value));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::sync_channel;

    use tracing_subscriber::layer::SubscriberExt as _;

    use super::*;

    #[test]
    fn spans_have_the_trace_of_their_parent_and_lost_ones_are_counted() {
        let (sender, receiver) = sync_channel(3);
        let collector = Collector::new(sender);
        let lost = collector.lost();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(collector), || {
            let plan = slipway_engine::trace::plan("dev");
            plan.in_scope(|| drop(slipway_engine::trace::pass("dev")));
            plan.record("error", "PLAN0001");
            drop(plan);
            for _ in 0..3 {
                drop(slipway_engine::trace::pass("other"));
            }
        });
        let spans: Vec<Span> = receiver.try_iter().collect();
        let [pass, plan, other] = spans.as_slice() else { panic!("{spans:?}") };
        assert_eq!((pass.name, plan.name, other.name), ("pass", "plan", "pass"));
        assert_eq!((pass.parent, plan.parent), (Some(plan.id), None));
        assert_eq!(pass.trace, plan.trace);
        assert_ne!(other.trace, plan.trace);
        let text = |text: &str| Value::Text(text.to_owned());
        assert_eq!(plan.fields.0, [("cluster", text("dev")), ("error", text("PLAN0001"))]);
        assert!(plan.begun <= pass.begun && pass.ended <= plan.ended);
        assert_eq!(lost.load(Ordering::Relaxed), 2);
    }
}
