//! Disturbances of calls: they are counted, delayed, refused, lost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Result;
use slipway_testkit::proxy::{Request, Verdict};

use crate::permissions::Ledger;

/// How calls are disturbed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// How long each call takes longer.
    pub latency: Duration,
    /// The share of calls that fail: half of them before, half of them after their effect.
    pub failing: f64,
    /// How many calls a second each service takes; none for all.
    pub pace: Option<f64>,
    /// Where the choice of the failing ones begins.
    pub seed: u64,
    /// The disturbance of the first call of each name, for some calls.
    pub once: Option<(Once, Which)>,
    /// The disturbance of one call: the API's name of it, and how many calls of that name come before.
    pub one: Option<(Once, String, usize)>,
    /// The first calls of a name are throttled: their number.
    pub slow: Option<(&'static str, usize)>,
}

/// To which calls something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Calls with these names.
    Named(&'static [&'static str]),
    /// All calls that change something.
    Changing,
}

/// The disturbance of one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Once {
    /// The object in the call is denied, although it exists.
    Unseen,
    /// The connection is closed before the call arrives.
    LostBefore,
    /// AWS carries it out, and the connection is closed before the answer arrives.
    LostAfter,
}

/// A call, by the service of its signature and its name in the API.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub service: String,
    pub action: String,
}

#[derive(Debug)]
struct State {
    rules: Rules,
    random: u64,
    calls: BTreeMap<Call, usize>,
    ledger: Ledger,
    buckets: BTreeMap<String, (f64, Instant)>,
    failed: usize,
    refused: usize,
    /// Calls to which it has happened once.
    once: BTreeSet<String>,
    /// Calls that AWS does not carry out, for whatever reason.
    forbidden: Vec<String>,
    /// How many calls of the name of the one to be disturbed have come.
    counted: usize,
}

/// The judge of a proxy.
#[derive(Debug)]
pub struct Disturbance {
    state: Mutex<State>,
}

impl Disturbance {
    /// Creates one that disturbs nothing.
    pub fn new() -> Self {
        let state = State {
            rules: Rules::default(),
            random: 1,
            calls: BTreeMap::new(),
            ledger: Ledger::default(),
            buckets: BTreeMap::new(),
            failed: 0,
            refused: 0,
            once: BTreeSet::new(),
            forbidden: Vec::new(),
            counted: 0,
        };
        Self { state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// From now on calls are disturbed like this.
    pub fn set(&self, rules: Rules) {
        let mut state = self.state();
        state.random = rules.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        state.buckets.clear();
        state.once.clear();
        state.counted = 0;
        state.rules = rules;
    }

    /// From now on AWS refuses calls of these names as not allowed, and of no others.
    pub fn forbid(&self, actions: &[&str]) {
        self.state().forbidden = actions.iter().map(|action| (*action).to_owned()).collect();
    }

    /// The calls since the last time, by name.
    pub fn take(&self) -> BTreeMap<Call, usize> {
        std::mem::take(&mut self.state().calls)
    }

    /// Checks that no call was made without its permission having been checked in preflight.
    pub fn only_what_was_asked_for(&self) -> Result<()> {
        self.state().ledger.check()
    }

    /// How many calls have failed and how many were refused for their pace, since the last time.
    pub fn take_disturbed(&self) -> (usize, usize) {
        let mut state = self.state();
        (std::mem::take(&mut state.failed), std::mem::take(&mut state.refused))
    }

    /// The calls to which it has happened once.
    pub fn hit(&self) -> BTreeSet<String> {
        self.state().once.clone()
    }

    /// Decides about a request.
    pub fn judge(&self, request: &Request) -> Verdict {
        let call = Call::of(request);
        let answer = self.state().ledger.take(&call, request);
        match (self.verdict(&call, request), answer) {
            (Verdict::Pass | Verdict::Delay(_), Some(answer)) => answer,
            (verdict, _) => verdict,
        }
    }

    fn verdict(&self, call: &Call, request: &Request) -> Verdict {
        let mut state = self.state();
        *state.calls.entry(call.clone()).or_default() += 1;
        if state.forbidden.contains(&call.action) {
            return call.refused(request, 403, "AccessDenied");
        }
        let rules = state.rules.clone();
        let of_each = rules.once.filter(|(_, which)| which.has(call));
        if let Some((once, _)) = of_each
            && state.once.insert(call.action.clone())
        {
            return call.disturbed(once, request);
        }
        if let Some((once, action, before)) = &rules.one
            && *action == call.action
        {
            let number = state.counted;
            state.counted += 1;
            if number == *before {
                state.once.insert(call.action.clone());
                return call.disturbed(*once, request);
            }
        }
        if let Some((action, refusals)) = rules.slow
            && action == call.action
            && state.refused < refusals
        {
            state.refused += 1;
            return call.throttled(request);
        }
        if !state.has_turn(&call.service) {
            state.refused += 1;
            return call.throttled(request);
        }
        // The call that reads the account begins every run, and its failures are not tested here.
        if rules.failing > 0.0 && call.service != "sts" && state.chance() < rules.failing {
            state.failed += 1;
            return match (state.chance() * 4.0) as u32 {
                0 => Verdict::status(500),
                1 => Verdict::DropBefore,
                2 => Verdict::AnswerAfter(500),
                _ => Verdict::DropAfter,
            };
        }
        if rules.latency.is_zero() { Verdict::Pass } else { Verdict::Delay(rules.latency) }
    }
}

impl State {
    /// A number from 0 to 1.
    fn chance(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether a service still takes a call.
    fn has_turn(&mut self, service: &str) -> bool {
        let Some(pace) = self.rules.pace.filter(|_| service != "sts") else { return true };
        let now = Instant::now();
        let (tokens, last) = self.buckets.get(service).copied().unwrap_or((pace, now));
        let tokens = (tokens + now.duration_since(last).as_secs_f64() * pace).min(pace);
        let has_turn = tokens >= 1.0;
        self.buckets.insert(service.to_owned(), (if has_turn { tokens - 1.0 } else { tokens }, now));
        has_turn
    }
}

impl Which {
    fn has(self, call: &Call) -> bool {
        match self {
            Self::Named(actions) => actions.contains(&call.action.as_str()),
            Self::Changing => call.changes(),
        }
    }
}

impl Call {
    /// Whether it changes something, as its name or its verb says.
    pub fn changes(&self) -> bool {
        let reads = ["Describe", "Get", "List", "GET ", "HEAD ", "Simulate"];
        self.service != "sts" && !reads.iter().any(|read| self.action.starts_with(read))
    }

    fn disturbed(&self, once: Once, request: &Request) -> Verdict {
        match once {
            Once::Unseen => self.unseen(request),
            Once::LostBefore => Verdict::DropBefore,
            Once::LostAfter => Verdict::DropAfter,
        }
    }

    fn of(request: &Request) -> Self {
        let signature = request.header("authorization").unwrap_or_default();
        let scope = signature.split("Credential=").nth(1).unwrap_or_default();
        let service = scope.split('/').nth(3).unwrap_or_default().to_owned();
        let target = request.header("x-amz-target").and_then(|target| target.rsplit('.').next());
        let body = String::from_utf8_lossy(&request.body);
        let form = body.split('&').find_map(|field| field.strip_prefix("Action="));
        let action = match target.or(form) {
            Some(action) => action.to_owned(),
            None => {
                let path = request.target.split('?').next().unwrap_or_default();
                let parts = path.split('/').map(|part| if part.len() > 12 { "…" } else { part });
                format!("{} {}", request.method, parts.collect::<Vec<_>>().join("/"))
            }
        };
        Self { service, action }
    }

    /// Denies the object in the call, with the error of its service.
    fn unseen(&self, request: &Request) -> Verdict {
        let (status, code) = match self.service.as_str() {
            "ec2" => (
                400,
                if self.action == "CreateSubnet" { "InvalidVpcID.NotFound" } else { "InvalidID.NotFound" },
            ),
            "iam" => (404, "NoSuchEntity"),
            "autoscaling" => (400, "ValidationError"),
            "elasticloadbalancing" => (400, "TargetGroupNotFound"),
            "sqs" => (400, "QueueDoesNotExist"),
            _ => (400, "ResourceNotFoundException"),
        };
        self.refused(request, status, code)
    }

    /// A refusal with a code, in the form of the service's protocol.
    fn refused(&self, request: &Request, status: u16, code: &str) -> Verdict {
        let (kind, body) = if request.header("x-amz-target").is_some() {
            let body = format!(r#"{{"__type": "{code}", "message": "refused"}}"#);
            ("application/x-amz-json-1.0", body)
        } else if self.service == "ec2" {
            let error =
                format!("<Errors><Error><Code>{code}</Code><Message>refused</Message></Error></Errors>");
            ("text/xml", format!("<Response>{error}<RequestID>r</RequestID></Response>"))
        } else {
            let error =
                format!("<Error><Type>Sender</Type><Code>{code}</Code><Message>refused</Message></Error>");
            ("text/xml", format!("<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>"))
        };
        let headers = vec![("Content-Type".to_owned(), kind.to_owned())];
        Verdict::Answer { status, headers, body: body.into_bytes() }
    }

    /// A refusal in the form of the service's protocol.
    fn throttled(&self, request: &Request) -> Verdict {
        let code = if self.service == "ec2" { "RequestLimitExceeded" } else { "Throttling" };
        let (status, kind, body) = if request.header("x-amz-target").is_some() {
            let body = r#"{"__type": "ThrottlingException", "message": "slower"}"#.to_owned();
            (400, "application/x-amz-json-1.0", body)
        } else if self.service == "ec2" {
            let error =
                format!("<Errors><Error><Code>{code}</Code><Message>slower</Message></Error></Errors>");
            (503, "text/xml", format!("<Response>{error}<RequestID>r</RequestID></Response>"))
        } else if self.service == "s3" {
            (
                503,
                "application/xml",
                "<Error><Code>SlowDown</Code><Message>slower</Message></Error>".to_owned(),
            )
        } else {
            let error =
                format!("<Error><Type>Sender</Type><Code>{code}</Code><Message>slower</Message></Error>");
            (400, "text/xml", format!("<ErrorResponse>{error}<RequestId>r</RequestId></ErrorResponse>"))
        };
        let headers = vec![("Content-Type".to_owned(), kind.to_owned())];
        Verdict::Answer { status, headers, body: body.into_bytes() }
    }
}
