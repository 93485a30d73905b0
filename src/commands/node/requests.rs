//! `slipway node certs generate-csr`

use std::path::Path;
use std::process::ExitCode;

use slipway_bootstrap::configuration::{Configuration, EncryptionAlgorithm};
use slipway_bootstrap::kubeconfig::{Credentials, Kubeconfig, inventory as kubeconfigs};
use slipway_bootstrap::pki::{AlternativeNames, PrivateKey, Request, Subject, inventory};
use slipway_resource::SecretText;

use crate::cli::node::{GenerateRequestArguments, InitSettings, SourceArguments};
use crate::error::CommandError;
use crate::node::{facts, settings};
use crate::program::Context;

/// Writes keys and requests for an external CA: for every certificate, and for every kubeconfig, which has its key in it
/// and lacks its certificate. A key that is there is kept.
pub(super) fn run(context: &Context, arguments: &GenerateRequestArguments) -> Result<ExitCode, CommandError> {
    let source = SourceArguments { config: arguments.config.clone() };
    let mut configuration =
        settings::init(&source, &InitSettings::default(), &facts::detect(Path::new("/")))?;
    if let Some(folder) = &arguments.cert_dir {
        configuration.cluster.certificates_dir = folder.display().to_string();
    }
    let algorithm = configuration.cluster.key_algorithm();
    let mut written = Vec::new();
    for entry in inventory::certificates(&configuration).filter(|entry| !entry.is_authority()) {
        let (subject, names) = (entry.subject(&configuration), entry.names(&configuration));
        let key = key(Path::new(&entry.key_path(&configuration)), algorithm)?;
        let path = entry.request_path(&configuration);
        write(Path::new(&path), &request(&subject, &names, &key)?, 0o600)?;
        written.push(path);
    }
    for entry in &kubeconfigs::KUBECONFIGS {
        let path = arguments.kubeconfig_dir.join(entry.file);
        let key = match std::fs::read_to_string(&path) {
            Ok(text) => embedded(&path, &text)?,
            Err(_) => new_key(algorithm)?,
        };
        let subject = entry.subject(&configuration);
        write(&path, kubeconfig(entry, &configuration, &key)?.expose(), 0o600)?;
        let path = arguments.kubeconfig_dir.join(format!("{}.csr", entry.file));
        write(&path, &request(&subject, &AlternativeNames::default(), &key)?, 0o600)?;
        written.push(path.display().to_string());
    }
    context.output.result(&written.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::new("NODE0006", "a key or a request cannot be made").cause(error.to_string())
}

fn new_key(algorithm: EncryptionAlgorithm) -> Result<PrivateKey, CommandError> {
    PrivateKey::generate(algorithm).map_err(|error| failed(&error))
}

/// The key of a file: as it is there, or a new one.
fn key(path: &Path, algorithm: EncryptionAlgorithm) -> Result<PrivateKey, CommandError> {
    if let Ok(text) = std::fs::read_to_string(path) {
        return PrivateKey::from_pem(&text).map_err(|error| failed(&error));
    }
    let key = new_key(algorithm)?;
    write(path, key.to_pem().map_err(|error| failed(&error))?.expose(), 0o600)?;
    Ok(key)
}

fn embedded(path: &Path, text: &str) -> Result<PrivateKey, CommandError> {
    let key =
        Kubeconfig::parse(text).and_then(|kubeconfig| kubeconfig.key()).map_err(|error| failed(&error))?;
    key.ok_or_else(|| failed(&format!("{} holds no key", path.display())))
}

fn kubeconfig(
    entry: &kubeconfigs::Entry,
    configuration: &Configuration,
    key: &PrivateKey,
) -> Result<SecretText, CommandError> {
    let authority = format!("{}/ca.crt", configuration.cluster.certificates_dir);
    // The CA's certificate is put in by whoever signs, where it is not here yet.
    let authority = std::fs::read_to_string(authority).unwrap_or_default();
    let credentials = Credentials::Key(key.to_pem().map_err(|error| failed(&error))?);
    let server = entry.server(configuration).url();
    let user = entry.subject(configuration).common_name;
    Ok(Kubeconfig::new(&configuration.cluster.name, &server, &authority, &user, &credentials).to_yaml())
}

fn request(subject: &Subject, names: &AlternativeNames, key: &PrivateKey) -> Result<String, CommandError> {
    Request::new(subject, names, key).map(|request| request.to_pem()).map_err(|error| failed(&error))
}

fn write(path: &Path, text: &str, mode: u32) -> Result<(), CommandError> {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let unusable = |error: std::io::Error| CommandError::file("the file", path, &error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(unusable)?;
    }
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(mode).open(path).map_err(unusable)?;
    file.write_all(text.as_bytes()).map_err(unusable)
}
