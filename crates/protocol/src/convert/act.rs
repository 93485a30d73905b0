//! Actions and what they leave.

use slipway_resource::provider::{Action, Applied, ApplyEvent, ApplyRequest, Resolution, ResumeRequest};
use slipway_resource::{ClusterUid, Identity, Ownership, Token};

use super::{Malformed, address, optional_identity, paths, texts, value};
use crate::generated as proto;
use crate::generated::apply_event::Event;
use crate::generated::resume_response::Answer;
use crate::wire::WireValue;

impl From<ApplyRequest> for proto::ApplyRequest {
    fn from(request: ApplyRequest) -> Self {
        Self {
            token: request.token.as_str().to_owned(),
            uid: request.ownership.uid.as_str().to_owned(),
            cluster: request.ownership.cluster,
            address: request.ownership.address.to_string(),
            timeout_ms: request.timeout_ms,
            action: Some(request.action.into()),
        }
    }
}

impl TryFrom<proto::ApplyRequest> for ApplyRequest {
    type Error = Malformed;

    fn try_from(message: proto::ApplyRequest) -> Result<Self, Malformed> {
        Ok(Self {
            token: Token::new(message.token),
            ownership: Ownership {
                uid: ClusterUid::new(message.uid),
                cluster: message.cluster,
                address: address(&message.address)?,
            },
            action: message.action.ok_or_else(|| Malformed::missing("action"))?.try_into()?,
            timeout_ms: message.timeout_ms,
        })
    }
}

impl From<Action> for proto::apply_request::Action {
    fn from(action: Action) -> Self {
        let text = |identity: Identity| identity.as_str().to_owned();
        match action {
            Action::Create { desired } => {
                Self::Create(proto::Create { desired: Some(WireValue::with_texts(&desired)) })
            }
            Action::Update { identity, prior, desired } => Self::Update(proto::Update {
                identity: text(identity),
                prior: Some(WireValue::new(&prior)),
                desired: Some(WireValue::with_texts(&desired)),
            }),
            Action::Delete { identity } => Self::Delete(proto::Delete { identity: text(identity) }),
            Action::Tag { identity } => Self::Tag(proto::Tag { identity: text(identity) }),
            Action::Operation { identity, name, arguments } => Self::Operation(proto::RunOperation {
                identity: text(identity),
                name,
                arguments: Some(WireValue::with_texts(&arguments)),
            }),
        }
    }
}

impl TryFrom<proto::apply_request::Action> for Action {
    type Error = Malformed;

    fn try_from(message: proto::apply_request::Action) -> Result<Self, Malformed> {
        use proto::apply_request::Action as Message;
        Ok(match message {
            Message::Create(create) => Self::Create { desired: value(create.desired)? },
            Message::Update(update) => Self::Update {
                identity: Identity::new(update.identity),
                prior: value(update.prior)?,
                desired: value(update.desired)?,
            },
            Message::Delete(delete) => Self::Delete { identity: Identity::new(delete.identity) },
            Message::Tag(tag) => Self::Tag { identity: Identity::new(tag.identity) },
            Message::Operation(operation) => Self::Operation {
                identity: Identity::new(operation.identity),
                name: operation.name,
                arguments: value(operation.arguments)?,
            },
        })
    }
}

impl From<ApplyEvent> for Event {
    fn from(event: ApplyEvent) -> Self {
        match event {
            ApplyEvent::Started => Self::Started(proto::Started {}),
            ApplyEvent::Identity(identity) => Self::Identity(identity.as_str().to_owned()),
            ApplyEvent::Progress(text) => Self::Progress(text),
            ApplyEvent::Handle(handle) => Self::Handle(handle),
        }
    }
}

impl From<Applied> for proto::Applied {
    fn from(applied: Applied) -> Self {
        Self {
            identity: applied.identity.map(|identity| identity.as_str().to_owned()),
            attributes: Some(WireValue::new(&applied.attributes)),
            not_shown: texts(&applied.not_shown),
        }
    }
}

impl TryFrom<proto::Applied> for Applied {
    type Error = Malformed;

    fn try_from(message: proto::Applied) -> Result<Self, Malformed> {
        Ok(Self {
            identity: optional_identity(message.identity),
            attributes: value(message.attributes)?,
            not_shown: paths(&message.not_shown)?,
        })
    }
}

impl From<ResumeRequest> for proto::ResumeRequest {
    fn from(request: ResumeRequest) -> Self {
        Self {
            session: String::new(),
            request: Some(request.request.into()),
            identity: request.identity.map(|identity| identity.as_str().to_owned()),
            handle: request.handle,
            superseded: request.superseded,
        }
    }
}

impl TryFrom<proto::ResumeRequest> for ResumeRequest {
    type Error = Malformed;

    fn try_from(message: proto::ResumeRequest) -> Result<Self, Malformed> {
        Ok(Self {
            request: message.request.ok_or_else(|| Malformed::missing("request"))?.try_into()?,
            identity: optional_identity(message.identity),
            handle: message.handle,
            superseded: message.superseded,
        })
    }
}

impl From<Resolution> for Answer {
    fn from(resolution: Resolution) -> Self {
        match resolution {
            Resolution::Done(applied) => Self::Done(applied.into()),
            Resolution::NotDone => Self::NotDone(proto::NotDone {}),
            Resolution::Unknown => Self::Unknown(proto::CannotTell {}),
        }
    }
}

/// An event that does not end its action; `None` for an unknown one.
pub(crate) fn passing(event: Option<Event>) -> Option<ApplyEvent> {
    match event? {
        Event::Started(_) => Some(ApplyEvent::Started),
        Event::Identity(identity) => Some(ApplyEvent::Identity(Identity::new(identity))),
        Event::Progress(mut text) => {
            slipway_limits::text::shorten_in_place(&mut text, slipway_limits::size::MESSAGE);
            Some(ApplyEvent::Progress(text))
        }
        Event::Handle(handle) => Some(ApplyEvent::Handle(handle)),
        Event::Done(_) | Event::Failed(_) => None,
    }
}

/// One message of Resume.
#[derive(Clone, Debug, PartialEq)]
pub enum Resumed {
    /// An event of the action that still runs; `None` for an event of a later contract.
    Event(Option<ApplyEvent>),
    /// The outcome of the action. It is the last message.
    End(Resolution),
}

impl TryFrom<proto::ResumeResponse> for Resumed {
    type Error = Malformed;

    fn try_from(message: proto::ResumeResponse) -> Result<Self, Malformed> {
        Ok(match message.answer {
            Some(Answer::Event(event)) => Self::Event(passing(event.event)),
            Some(Answer::Done(applied)) => Self::End(Resolution::Done(applied.try_into()?)),
            Some(Answer::NotDone(_)) => Self::End(Resolution::NotDone),
            Some(Answer::Unknown(_)) => Self::End(Resolution::Unknown),
            None => Self::Event(None),
        })
    }
}
