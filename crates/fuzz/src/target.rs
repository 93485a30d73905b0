//! Readers of foreign data, each as a function of bytes.

mod cloud;
mod document;
mod faulty;
mod frame;
mod secret;
mod state;
mod store;

use std::fmt::Display;

use anyhow::Result;

use crate::large::{self, Large};
use crate::mutate::Form;

/// Something that reads bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// The form of its inputs, which decides how they are mutated.
    pub form: Form,
    /// The initial inputs of mutations.
    pub corpus: fn() -> Result<Vec<Vec<u8>>>,
    /// The large inputs.
    pub large: fn() -> Result<Vec<Large>>,
    /// Reads an input.
    pub run: fn(&[u8]) -> Verdict,
}

/// The result of reading an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// How far the reader came.
    pub reached: Reached,
    /// The result in a few words: the message of an error, or the kind of the content.
    pub words: String,
}

/// How far a reader came with an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// The syntax is refused.
    Syntax,
    /// The syntax is right, the content is refused.
    Content,
    /// The input is taken.
    Taken,
    /// The input is taken, but a law of the reader does not hold for it.
    Unlawful,
}

impl Verdict {
    /// An input whose syntax is refused.
    #[must_use]
    pub fn syntax(error: impl Display) -> Self {
        Self { reached: Reached::Syntax, words: error.to_string() }
    }

    /// An input whose content is refused.
    #[must_use]
    pub fn content(error: impl Display) -> Self {
        Self { reached: Reached::Content, words: error.to_string() }
    }

    /// A taken input.
    #[must_use]
    pub fn taken(words: impl Into<String>) -> Self {
        Self { reached: Reached::Taken, words: words.into() }
    }

    /// A taken input for which a law has to hold.
    #[must_use]
    pub fn lawful(holds: bool, law: &str) -> Self {
        if holds {
            Self::taken("taken")
        } else {
            Self { reached: Reached::Unlawful, words: format!("does not hold: {law}") }
        }
    }

    /// A refusal of an input that should be JSON.
    fn of_json(input: &[u8], error: impl Display) -> Self {
        match serde_json::from_slice::<serde::de::IgnoredAny>(input) {
            Ok(_) => Self::content(error),
            Err(_) => Self::syntax(error),
        }
    }
}

/// The law of everything that is read and written.
const READ_BACK: &str = "what is written is read back unchanged";

/// Every target.
pub const ALL: &[Target] = &[
    Target {
        name: "spec",
        form: Form::Yaml,
        corpus: document::specs,
        large: document::large_specs,
        run: document::spec,
    },
    Target {
        name: "kops",
        form: Form::Yaml,
        corpus: document::kops,
        large: document::large_kops,
        run: document::spec,
    },
    Target {
        name: "kubeadm",
        form: Form::Yaml,
        corpus: document::kubeadm,
        large: large::none,
        run: document::read_kubeadm,
    },
    Target {
        name: "kubeconfig",
        form: Form::Yaml,
        corpus: document::kubeconfigs,
        large: large::none,
        run: document::kubeconfig,
    },
    Target {
        name: "manifest",
        form: Form::Yaml,
        corpus: document::manifests,
        large: large::none,
        run: document::manifest,
    },
    Target { name: "plan", form: Form::Json, corpus: state::plans, large: large::none, run: state::plan },
    Target { name: "head", form: Form::Json, corpus: store::heads, large: large::none, run: store::head },
    Target {
        name: "journal",
        form: Form::Json,
        corpus: store::segments,
        large: large::none,
        run: store::journal,
    },
    Target {
        name: "snapshot",
        form: Form::Json,
        corpus: state::snapshots,
        large: large::none,
        run: state::snapshot,
    },
    Target {
        name: "envelope",
        form: Form::Json,
        corpus: secret::envelopes,
        large: large::none,
        run: secret::envelope,
    },
    Target {
        name: "sops",
        form: Form::Yaml,
        corpus: secret::sops_files,
        large: large::none,
        run: secret::sops,
    },
    Target {
        name: "age",
        form: Form::Bytes,
        corpus: secret::age_files,
        large: large::none,
        run: secret::age,
    },
    Target {
        name: "frame",
        form: Form::Message,
        corpus: frame::frames,
        large: large::none,
        run: frame::frame,
    },
    Target {
        name: "aws",
        form: Form::Json,
        corpus: cloud::resources,
        large: large::none,
        run: cloud::resource,
    },
];

/// Targets that are faulty on purpose, for tests of campaigns.
pub const FAULTY: &[Target] = faulty::ALL;

/// The verdict on an input that is text only.
fn text(input: &[u8], read: impl FnOnce(&str) -> Verdict) -> Verdict {
    match std::str::from_utf8(input) {
        Ok(text) => read(text),
        Err(_) => Verdict::syntax("no text"),
    }
}
