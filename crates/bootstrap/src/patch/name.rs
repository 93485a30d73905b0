//! The names of patch files.

use super::{Kind, PatchError, Target};

/// The parts of a file's name.
pub(super) struct Name {
    pub target: Target,
    pub kind: Kind,
}

impl Name {
    /// Reads a file's name; `None` for a file that is no patch.
    pub fn read(file: &str) -> Result<Option<Self>, PatchError> {
        let base = file.rsplit('/').next().unwrap_or(file);
        let known = base
            .rsplit_once('.')
            .is_some_and(|(stem, extension)| !stem.is_empty() && matches!(extension, "json" | "yaml"));
        let Some((target, rest)) = Target::ALL
            .into_iter()
            .find_map(|target| base.strip_prefix(target.as_str()).map(|rest| (target, rest)))
            .filter(|_| known)
        else {
            return Ok(None);
        };
        // The suffix ends at the first dot or plus.
        let Some(stop) = rest.find(['.', '+', '\n']) else { return Ok(None) };
        let kind = match rest.get(stop..).unwrap_or_default().strip_prefix('+') {
            None => Kind::Strategic,
            Some(kind) if kind.starts_with("json") => Kind::Json,
            Some(kind) if kind.starts_with("merge") => Kind::Merge,
            Some(kind) if kind.starts_with("strategic") => Kind::Strategic,
            Some(_) => return Err(PatchError::Type { file: file.to_owned() }),
        };
        Ok(Some(Self { target, kind }))
    }
}
