//! The pace of calls: one class for each family of AWS' own limits, slowed down when AWS says so.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use slipway_aws_model::types::rate;
use slipway_resource::provider::RateClass;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// A family of calls that share a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Describe calls of EC2.
    Ec2Read,
    /// Changing calls of EC2.
    Ec2Write,
    /// Auto Scaling.
    AutoScaling,
    /// Elastic Load Balancing.
    Balancing,
    /// IAM.
    Iam,
    /// Route 53.
    Route53,
    /// SQS.
    Sqs,
    /// EventBridge.
    Events,
    /// S3.
    S3,
    /// Systems Manager.
    Ssm,
    /// STS.
    Sts,
    /// KMS.
    Kms,
    /// Service Quotas.
    Quotas,
}

impl Class {
    /// Every class.
    pub const ALL: [Self; 13] = [
        Self::Ec2Read,
        Self::Ec2Write,
        Self::AutoScaling,
        Self::Balancing,
        Self::Iam,
        Self::Route53,
        Self::Sqs,
        Self::Events,
        Self::S3,
        Self::Ssm,
        Self::Sts,
        Self::Kms,
        Self::Quotas,
    ];

    /// The name of the class for the engine: classes that no resource type names count as EC2's.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ec2Read | Self::Ec2Write | Self::Ssm | Self::Sts | Self::Quotas => rate::EC2,
            Self::AutoScaling => rate::AUTOSCALING,
            Self::Balancing => rate::ELB,
            Self::Iam => rate::IAM,
            Self::Route53 => rate::ROUTE53,
            Self::Sqs => rate::SQS,
            Self::Events => rate::EVENTS,
            Self::S3 => rate::S3,
            Self::Kms => rate::KMS,
        }
    }

    /// The prefix of its actions in IAM policies.
    pub fn service(self) -> &'static str {
        match self {
            Self::Ssm => "ssm",
            Self::Sts => "sts",
            Self::Quotas => "servicequotas",
            other => other.name(),
        }
    }

    /// How many calls of it may be under way at once.
    fn concurrency(self) -> u32 {
        match self {
            Self::Ec2Read | Self::Ec2Write => 24,
            Self::Route53 | Self::Sts | Self::Quotas => 4,
            Self::S3 => 32,
            _ => 12,
        }
    }
}

/// The classes as the engine sees them. An action waits for more than its calls, so that more actions may be under way
/// than calls; the pace of calls is kept here.
pub(crate) fn rate_classes() -> BTreeMap<String, RateClass> {
    rate::classes()
        .into_iter()
        .map(|(name, class)| {
            let class = RateClass { concurrency: class.concurrency.saturating_mul(8), per_second: None };
            (name, class)
        })
        .collect()
}

/// The paces of one session.
#[derive(Debug)]
pub(crate) struct Paces(BTreeMap<Class, Pace>);

impl Paces {
    /// Every class at full speed.
    pub fn new() -> Self {
        Self(Class::ALL.into_iter().map(|class| (class, Pace::new(class.concurrency()))).collect())
    }

    /// The pace of a class.
    pub fn of(&self, class: Class) -> Option<&Pace> {
        self.0.get(&class)
    }
}

/// The pace of one class: no limit but of concurrency until AWS throttles, then an interval between calls that grows
/// with each refusal and shrinks with each success.
#[derive(Debug)]
pub(crate) struct Pace {
    slots: Semaphore,
    rhythm: Mutex<Rhythm>,
}

#[derive(Debug)]
struct Rhythm {
    interval: Duration,
    next: Instant,
}

/// The interval after the first refusal.
const FIRST: Duration = Duration::from_millis(50);
/// No interval is longer.
const LONGEST: Duration = Duration::from_secs(2);
/// A shorter interval is none.
const SHORTEST: Duration = Duration::from_millis(5);

impl Pace {
    fn new(concurrency: u32) -> Self {
        Self {
            slots: Semaphore::new(concurrency as usize),
            rhythm: Mutex::new(Rhythm { interval: Duration::ZERO, next: Instant::now() }),
        }
    }

    /// Waits for the turn of one call; the slot is held until what is returned is dropped.
    pub async fn turn(&self) -> Option<tokio::sync::SemaphorePermit<'_>> {
        let slot = self.slots.acquire().await.ok();
        let at = {
            let mut rhythm = self.rhythm.lock().unwrap_or_else(PoisonError::into_inner);
            let at = rhythm.next.max(Instant::now());
            rhythm.next = at + rhythm.interval;
            at
        };
        tokio::time::sleep_until(at).await;
        slot
    }

    /// AWS refused a call for its pace; `asked` is the wait it named.
    pub fn refused(&self, asked: Option<Duration>) {
        let mut rhythm = self.rhythm.lock().unwrap_or_else(PoisonError::into_inner);
        rhythm.interval = rhythm.interval.mul_f64(1.5).clamp(FIRST, LONGEST);
        let wait = asked.unwrap_or(rhythm.interval);
        rhythm.next = rhythm.next.max(Instant::now() + wait);
    }

    /// AWS took a call.
    pub fn accepted(&self) {
        let mut rhythm = self.rhythm.lock().unwrap_or_else(PoisonError::into_inner);
        if !rhythm.interval.is_zero() {
            rhythm.interval = rhythm.interval.mul_f64(0.95);
            if rhythm.interval < SHORTEST {
                rhythm.interval = Duration::ZERO;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn refusals_slow_down_and_successes_speed_up() {
        let pace = Pace::new(4);
        let started = Instant::now();
        for _ in 0..10 {
            let _slot = pace.turn().await;
        }
        assert_eq!(started.elapsed(), Duration::ZERO);
        for _ in 0..5 {
            pace.refused(None);
        }
        let started = Instant::now();
        for _ in 0..4 {
            let _slot = pace.turn().await;
        }
        assert!(started.elapsed() > Duration::from_millis(600), "{:?}", started.elapsed());
        for _ in 0..200 {
            pace.accepted();
        }
        let _slot = pace.turn().await;
        let started = Instant::now();
        for _ in 0..10 {
            let _slot = pace.turn().await;
        }
        assert_eq!(started.elapsed(), Duration::ZERO);
    }
}
