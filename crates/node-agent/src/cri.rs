//! The container runtime, asked by the CRI: <https://github.com/kubernetes/cri-api>, `runtime.v1`.
//!
//! Only what a bootstrap needs of it: versions, readiness, images. The messages name the fields that are read here; all
//! others are skipped, as protobuf has it.

use std::path::Path;
use std::time::{Duration, Instant};

use slipway_provider_node::cri::Client;
use tonic::Code;

/// How long the runtime may take to answer a question.
const ANSWER: Duration = Duration::from_secs(15);
/// How long a runtime that has just started may say that it is not there yet.
const STARTING: Duration = Duration::from_secs(30);
/// A call that a runtime answers as soon as it runs.
const VERSION: &str = "RuntimeService/Version";
/// How long an image may take.
const PULL: Duration = Duration::from_secs(600);

/// A container runtime.
pub struct Cri {
    client: Client,
}

impl Cri {
    /// Connects to the runtime at a socket, a `unix://` URL or a path.
    pub async fn connect(socket: &str) -> Result<Self, String> {
        let path = Path::new(socket.strip_prefix("unix://").unwrap_or(socket));
        match Client::connect(path).await {
            Some(client) => Ok(Self { client }),
            None if path.exists() => Err(format!("{socket}: nothing listens there")),
            None => Err(format!("{socket}: there is no such socket")),
        }
    }

    /// Name and version, as `containerd 1.6.20`.
    pub async fn version(&mut self) -> Result<String, String> {
        let request = VersionRequest { version: "v1".to_owned() };
        let answer: VersionResponse = self.ask(VERSION, request, ANSWER).await?;
        Ok(format!("{} {}", answer.runtime_name, answer.runtime_version))
    }

    /// The conditions for which the runtime is not ready; its network comes later and does not matter here.
    pub async fn not_ready(&mut self) -> Result<Vec<String>, String> {
        let answer: StatusResponse = self.ask("RuntimeService/Status", StatusRequest {}, ANSWER).await?;
        let conditions = answer.status.map(|status| status.conditions).unwrap_or_default();
        let bad =
            conditions.into_iter().filter(|condition| condition.kind == "RuntimeReady" && !condition.status);
        Ok(bad
            .map(|condition| {
                format!("{} is false: {} {}", condition.kind, condition.reason, condition.message)
            })
            .collect())
    }

    /// How the runtime groups processes; none when it is too old to tell.
    pub async fn cgroup_driver(&mut self) -> Option<String> {
        let answer: RuntimeConfigResponse =
            self.ask("RuntimeService/RuntimeConfig", RuntimeConfigRequest {}, ANSWER).await.ok()?;
        match answer.linux?.cgroup_driver {
            0 => Some("systemd".to_owned()),
            1 => Some("cgroupfs".to_owned()),
            _ => None,
        }
    }

    /// Whether the runtime has an image.
    pub async fn has_image(&mut self, image: &str) -> Result<bool, String> {
        let request = ImageRequest { image: Some(ImageSpec { image: image.to_owned() }) };
        let answer: ImageStatusResponse = self.ask("ImageService/ImageStatus", request, ANSWER).await?;
        Ok(answer.image.is_some())
    }

    /// Lets the runtime fetch an image.
    pub async fn pull_image(&mut self, image: &str) -> Result<(), String> {
        let request = ImageRequest { image: Some(ImageSpec { image: image.to_owned() }) };
        let _: PullImageResponse = self.ask("ImageService/PullImage", request, PULL).await?;
        Ok(())
    }

    async fn ask<Q, A>(&mut self, method: &'static str, request: Q, patience: Duration) -> Result<A, String>
    where
        Q: prost::Message + Clone + Default + 'static,
        A: prost::Message + Default + 'static,
    {
        let begin = Instant::now();
        loop {
            match self.client.ask(method, request.clone(), patience).await {
                Ok(answer) => return Ok(answer),
                Err(failure) if is_starting(method, failure.code) && begin.elapsed() < STARTING => {
                    tokio::time::sleep(Duration::from_millis(200)).await;
                }
                Err(failure) => return Err(failure.text),
            }
        }
    }
}

/// Whether a failure is that of a runtime that is not there yet. containerd has no code for that, and there is nothing else
/// that can go wrong with the question for its version.
fn is_starting(method: &str, code: Option<Code>) -> bool {
    code == Some(Code::Unavailable) || (code == Some(Code::Unknown) && method == VERSION)
}

#[derive(Clone, PartialEq, prost::Message)]
struct VersionRequest {
    #[prost(string, tag = "1")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct VersionResponse {
    #[prost(string, tag = "2")]
    runtime_name: String,
    #[prost(string, tag = "3")]
    runtime_version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusRequest {}

#[derive(Clone, PartialEq, prost::Message)]
struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<RuntimeStatus>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RuntimeStatus {
    #[prost(message, repeated, tag = "1")]
    conditions: Vec<RuntimeCondition>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RuntimeCondition {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(bool, tag = "2")]
    status: bool,
    #[prost(string, tag = "3")]
    reason: String,
    #[prost(string, tag = "4")]
    message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct RuntimeConfigRequest {}

#[derive(Clone, PartialEq, prost::Message)]
struct RuntimeConfigResponse {
    #[prost(message, optional, tag = "1")]
    linux: Option<LinuxRuntimeConfiguration>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct LinuxRuntimeConfiguration {
    /// 0 is systemd, 1 is cgroupfs.
    #[prost(int32, tag = "1")]
    cgroup_driver: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ImageRequest {
    #[prost(message, optional, tag = "1")]
    image: Option<ImageSpec>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ImageSpec {
    #[prost(string, tag = "1")]
    image: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ImageStatusResponse {
    #[prost(message, optional, tag = "1")]
    image: Option<Image>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Image {
    #[prost(string, tag = "1")]
    id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct PullImageResponse {
    #[prost(string, tag = "1")]
    image_ref: String,
}
