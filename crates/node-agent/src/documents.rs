//! Configuration documents in files.

use std::path::Path;
use std::sync::Arc;

use slipway_bootstrap::configuration::{Configuration, Detected};
use slipway_bootstrap::kubeadm::{self, Reading};
use slipway_spec::diagnostic::{self, Diagnostic, Severity};
use slipway_spec::source::SourceFile;

use crate::error::Error;

/// Reads documents. All problems are reported at once, each at its place; remarks are returned.
pub fn read(path: &Path, detected: &Detected) -> Result<Reading, Error> {
    let text = slipway_limits::file::read_given_text(path, slipway_limits::size::SPEC)
        .map_err(|error| Error::file("the configuration", path, &error))?;
    let file = Arc::new(SourceFile::new(path.display().to_string(), text));
    let reading = kubeadm::read(&[file], detected);
    if reading.is_valid() { Ok(reading) } else { Err(invalid(path, &reading.diagnostics)) }
}

/// The configuration of a node that begins a cluster; defaults for missing fields.
pub fn init(path: &Path, detected: &Detected) -> Result<Configuration, Error> {
    Ok(read(path, detected)?.init.unwrap_or_else(|| Configuration::new(detected)))
}

/// The configuration of a node that joins.
pub fn join(path: &Path, detected: &Detected) -> Result<Configuration, Error> {
    read(path, detected)?.join.ok_or_else(|| {
        Error::missing(format!("{} has no JoinConfiguration", path.display()))
            .hint("`slipway node config print join-defaults` shows one with all defaults")
    })
}

fn invalid(path: &Path, diagnostics: &[Diagnostic]) -> Error {
    let count = diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
    let problems = if count == 1 { "1 problem".to_owned() } else { format!("{count} problems") };
    let text = diagnostic::render_all(diagnostics);
    Error::diagnostics(text, format!("{} has {problems}; nothing was done", path.display()))
}
