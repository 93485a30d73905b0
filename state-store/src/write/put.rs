//! What to do next with one conditional write, as a pure state machine: [`super::Writer`] sends what it asks for, and
//! the model check of the store drives the very same one.

/// What became of a write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Outcome<V, T> {
    /// It is stored.
    Written(T),
    /// Something else is stored there; this was not and will not be.
    Taken {
        /// What is stored.
        value: V,
        /// Its version.
        tag: T,
    },
}

impl<V, T> Outcome<V, T> {
    /// The same with another form of what is stored.
    pub(crate) fn try_map<U, E>(self, map: impl FnOnce(V) -> Result<U, E>) -> Result<Outcome<U, T>, E> {
        Ok(match self {
            Self::Written(tag) => Outcome::Written(tag),
            Self::Taken { value, tag } => Outcome::Taken { value: map(value)?, tag },
        })
    }
}

/// What is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Request {
    /// The write itself, always the same bytes under the same condition.
    Write,
    /// A look at what is in its way.
    Read,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Answer<V, T> {
    /// The write happened.
    Written(T),
    /// Its condition does not hold, possibly because an earlier attempt of it happened.
    Refused,
    /// This is stored.
    Found(V, T),
    /// Nothing is stored.
    Absent,
    /// None: it may have happened, may still happen, or may never.
    Lost,
}

/// How it goes on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Next<V, T> {
    /// The same request once more.
    Again,
    /// The other request.
    Look,
    /// It is known.
    Done(Outcome<V, T>),
    /// The condition does not hold, and there is nothing.
    Missing,
}

/// One conditional write under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Put<V> {
    value: V,
    request: Request,
}

impl<V: PartialEq> Put<V> {
    /// A write of a value that nobody else writes: it is random in part.
    pub(crate) fn new(value: V) -> Self {
        Self { value, request: Request::Write }
    }

    /// What is to be sent now.
    pub(crate) fn request(&self) -> Request {
        self.request
    }

    /// What is written.
    pub(crate) fn value(&self) -> &V {
        &self.value
    }

    /// Takes in an answer to [`Put::request`].
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
