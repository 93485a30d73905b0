use slipway_spec::{diagnostic::Diagnostic, reader::Document};

use super::{context::Context, node, v1beta4};
use crate::configuration::{Detected, Reset};

/// Reads how a node is reset.
pub(super) fn read(document: &Document, detected: &Detected, diagnostics: &mut Vec<Diagnostic>) -> Reset {
    let (mut context, given) = Context::read::<v1beta4::ResetConfiguration>(Some(document), diagnostics);
    let context = &mut context;
    let default = Reset::default();
    let certificates_dir =
        if given.certificates_dir.is_empty() { default.certificates_dir } else { given.certificates_dir };
    context.absolute("certificatesDir", &certificates_dir);
    node::ignored_errors(context, "ignorePreflightErrors", &given.ignore_preflight_errors);
    Reset {
        cleanup_tmp_dir: given.cleanup_tmp_dir,
        certificates_dir,
        cri_socket: node::socket(context, "criSocket", &given.cri_socket, detected),
        dry_run: given.dry_run,
        force: given.force,
        ignore_preflight_errors: given.ignore_preflight_errors,
        skip_phases: given.skip_phases,
        unmount_flags: given.unmount_flags,
        timeouts: context.timeouts(given.timeouts),
    }
}
