//! The next action of one conditional write, as a pure state machine. [`super::Writer`] sends its requests,
//! and the model check of the store uses the same one.

/// The outcome of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome<V, T> {
    /// It is stored.
    Written(T),
    /// Another value is stored there; this one was not stored and will not be.
    Taken {
        /// The stored value.
        value: V,
        /// Its version.
        tag: T,
    },
}

impl<V, T> Outcome<V, T> {
    /// The same with the stored value converted.
    pub(crate) fn try_map<U, E>(self, map: impl FnOnce(V) -> Result<U, E>) -> Result<Outcome<U, T>, E> {
        Ok(match self {
            Self::Written(tag) => Outcome::Written(tag),
            Self::Taken { value, tag } => Outcome::Taken { value: map(value)?, tag },
        })
    }
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    /// The write itself, always the same bytes under the same condition.
    Write,
    /// A read of the conflicting value.
    Read,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer<V, T> {
    /// The write happened.
    Written(T),
    /// Its condition does not hold, possibly because an earlier attempt succeeded.
    Refused,
    /// This value is stored.
    Found(V, T),
    /// Nothing is stored.
    Absent,
    /// No answer: the write may have happened, may still happen, or may never happen.
    Lost,
}

/// The next action.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Next<V, T> {
    /// Sends the same request again.
    Again,
    /// Sends the other request.
    Look,
    /// The outcome is known.
    Done(Outcome<V, T>),
    /// The condition does not hold, and no value is stored.
    Missing,
}

/// One conditional write in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Put<V> {
    value: V,
    request: Request,
}

impl<V: PartialEq> Put<V> {
    /// A write of a value that no other writer writes, since it is random in part.
    pub(crate) fn new(value: V) -> Self {
        Self { value, request: Request::Write }
    }

    /// The request to send now.
    pub(crate) fn request(&self) -> Request {
        self.request
    }

    /// The value to write.
    pub(crate) fn value(&self) -> &V {
        &self.value
    }

    /// Processes an answer to [`Put::request`].
    pub(crate) fn answer<T>(&mut self, answer: Answer<V, T>) -> Next<V, T> {
        match answer {
            Answer::Written(tag) => Next::Done(Outcome::Written(tag)),
            Answer::Refused => {
                self.request = Request::Read;
                Next::Look
            }
            Answer::Found(value, tag) if value == self.value => Next::Done(Outcome::Written(tag)),
            Answer::Found(value, tag) => Next::Done(Outcome::Taken { value, tag }),
            Answer::Absent => Next::Missing,
            Answer::Lost => Next::Again,
        }
    }
}
