//! Waits until a component is ready: its URL answers, or its file exists.

use std::time::Duration;

use slipway_resource::schema::Operation;
use slipway_resource::{Attribute, ErrorClass, ProviderError, Type};
use tokio::time::Instant;

use crate::attributes::Attributes;
use crate::disk::Disk;
use crate::http::{Client, Trust};
use crate::kind::Work;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(5);
/// The shortest and longest pause between two checks: a fast start is noticed at once.
const SHORTEST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_millis(1000);
/// How often a wait is reported.
const TELL: Duration = Duration::from_secs(10);

/// The attributes with the readiness condition of an object.
pub(crate) fn attributes() -> [(&'static str, Attribute); 4] {
    let optional = |kind, text: &str| Attribute::optional(kind).write_only().describe(text);
    [
        ("ready_url", optional(Type::String, "The URL that answers with 200 as soon as it is ready.")),
        (
            "ready_ca_path",
            optional(
                Type::String,
                "The CA that the answer is trusted by; without, only this machine itself may answer.",
            ),
        ),
        ("ready_path", optional(Type::String, "The file or socket that is there as soon as it is ready.")),
        ("ready_timeout_seconds", optional(Type::Integer, "How long to wait for it, in seconds; else 240.")),
    ]
}

/// The gate that waits.
pub(crate) fn operation() -> Operation {
    Operation {
        description: "Waits until it is ready; the arguments are those of the attributes ready_….".to_owned(),
        duration_ms: 20_000,
        read_only: true,
    }
}

/// The name of that gate.
pub(crate) const VERIFY: &str = "verify";

/// When something is ready.
pub(crate) struct Condition {
    url: Option<String>,
    ca_path: Option<String>,
    path: Option<String>,
    timeout: Duration,
}

impl Condition {
    pub(crate) fn of(wanted: Attributes<'_>) -> Result<Self, ProviderError> {
        let text = |name: &str| wanted.optional_text(name).map(|text| text.map(str::to_owned));
        Ok(Self {
            url: text("ready_url")?,
            ca_path: text("ready_ca_path")?,
            path: text("ready_path")?,
            timeout: wanted.seconds("ready_timeout_seconds", 240),
        })
    }

    /// The condition without a URL or a path: it always holds.
    pub(crate) fn waived(self) -> Self {
        Self { url: None, path: None, ..self }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.url.is_none() && self.path.is_none()
    }

    /// How long to wait until it holds.
    pub(crate) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Whether it holds now; why not, otherwise.
    pub(crate) async fn look(&self, disk: &Disk) -> Result<(), String> {
        if let Some(path) = &self.path
            && disk.status(path).map_err(|error| error.message)?.is_none()
        {
            return Err(format!("{path} is not there"));
        }
        let Some(url) = &self.url else { return Ok(()) };
        let authorities = match &self.ca_path {
            // Another program may write the file a moment later.
            Some(path) => match disk.read(path).map_err(|error| error.message)? {
                Some(pem) => Some(pem),
                None => return Err(format!("{path} is not there")),
            },
            None => None,
        };
        let trust = Trust { authorities, client: None };
        let client = Client::new(&trust, ANSWER).map_err(|error| error.to_string())?;
        match client.get(url).await {
            Ok(answer) if (200..300).contains(&answer.status) => Ok(()),
            Ok(answer) => {
                let text = String::from_utf8_lossy(&answer.body);
                let failed: Vec<&str> = text.lines().filter(|line| line.starts_with("[-]")).collect();
                let reported = if failed.is_empty() {
                    text.lines().next().unwrap_or_default()
                } else {
                    &failed.join(" ")
                };
                Err(format!("{url} answers {}: {reported}", answer.status))
            }
            Err(error) => Err(format!("{url}: {error}")),
        }
    }

    /// Waits until it holds.
    pub(crate) async fn wait(&self, work: &Work) -> Result<(), ProviderError> {
        if self.is_empty() {
            return Ok(());
        }
        let begun = Instant::now();
        let until = work.deadline.min(begun + self.timeout);
        let (mut pause, mut reported) = (SHORTEST, begun);
        loop {
            let Err(why) = self.look(&work.host().disk).await else { return Ok(()) };
            if reported == begun || reported.elapsed() >= TELL {
                work.tell(format!("waits until it is ready: {why}"));
                reported = Instant::now();
            }
            if Instant::now() + pause >= until {
                let text = format!(
                    "{} was not ready within {} s: {why}",
                    work.identity(),
                    begun.elapsed().as_secs_f64().ceil()
                );
                return Err(ProviderError::new(ErrorClass::Permanent, text)
                    .with_hint("what it says in its log on the node; the step may be run again"));
            }
            work.pause(pause).await?;
            pause = (pause * 2).min(LONGEST);
        }
    }
}
