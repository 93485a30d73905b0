//! Codes of errors that more than one part of the program reports, each with the title of its page in `docs/errors`.

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $title:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $id;)*
    };
}

codes! {
    /// A file cannot be read or written.
    FILE = "CLI0001", "a file cannot be read or written";
    /// Something that should not be possible.
    INTERNAL = "CLI0002", "an internal error";
    /// A question, and no terminal to ask it on.
    UNANSWERED = "CLI0014", "a confirmation is needed, and there is no terminal";
    /// The answer was not yes.
    DECLINED = "CLI0015", "the plan was not confirmed";
    /// Another name than the expected one.
    WRONG_NAME = "CLI0036", "the confirmation has the wrong name";
    /// The state was changed while a question was open.
    CHANGED_MEANWHILE = "CLI0110", "the state was changed in the meantime";
    /// A failure of a provider that was asked outside of a plan's steps.
    PROVIDER = "PROVIDER0000", "the provider reports a failure";
    /// The name of the actor can be taken for that of another person.
    ACTOR = "RUN0041", "the name of the actor can be taken for that of another person";
}
