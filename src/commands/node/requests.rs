//! `slipway node certs generate-csr`

use std::path::Path;
use std::process::ExitCode;

use slipway_bootstrap::configuration::{Configuration, EncryptionAlgorithm};
use slipway_bootstrap::kubeconfig::{Credentials, Kubeconfig, inventory as kubeconfigs};
use slipway_bootstrap::pki::{AlternativeNames, PrivateKey, Request, Subject, inventory};
use slipway_node_agent::facts;
use slipway_node_agent::machine::root_of_files;
use slipway_resource::SecretText;

use crate::cli::node::{GenerateRequestArguments, InitSettings, SourceArguments};
use crate::code;
use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::node::settings;
use crate::program::Context;

/// Writes keys and requests for an external CA: for each certificate, and for each kubeconfig. The kubeconfig
/// contains its key and lacks its certificate. An existing key and a kubeconfig that has its certificate are
/// kept.
pub(super) fn run(context: &Context, arguments: &GenerateRequestArguments) -> Result<ExitCode, CommandError> {
    let source = SourceArguments { config: arguments.config.clone() };
    let root = root_of_files(&arguments.rootfs)?;
    let mut configuration = settings::init(&source, &InitSettings::default(), &facts::detect(&root), None)?;
    if let Some(folder) = &arguments.cert_dir {
        configuration.cluster.certificates_dir = folder.display().to_string();
    }
    let algorithm = configuration.cluster.key_algorithm();
    let mut written = Vec::new();
    for entry in inventory::certificates(&configuration).filter(|entry| !entry.is_authority()) {
        let (subject, names) = (entry.subject(&configuration), entry.names(&configuration));
        let key = key(&facts::named(&root, Path::new(&entry.key_path(&configuration))), algorithm)?;
        let path = facts::named(&root, Path::new(&entry.request_path(&configuration)));
        write(&path, &request(&subject, &names, &key)?)?;
        written.push(path.display().to_string());
    }
    let folder = facts::named(&root, &arguments.kubeconfig_dir);
    for entry in &kubeconfigs::KUBECONFIGS {
        let path = folder.join(entry.file);
        let there = match read(&path)? {
            Some(text) => Some(Kubeconfig::parse(&text).map_err(|error| failed(&error))?),
            None => None,
        };
        let key = match &there {
            Some(there) => embedded(&path, there)?,
            None => new_key(algorithm)?,
        };
        let subject = entry.subject(&configuration);
        // A kubeconfig that has its certificate may be in use.
        if !there.is_some_and(|there| there.certificate().is_ok_and(|certificate| certificate.is_some())) {
            write(&path, kubeconfig(entry, &configuration, &root, &key)?.expose())?;
        }
        let path = folder.join(format!("{}.csr", entry.file));
        write(&path, &request(&subject, &AlternativeNames::default(), &key)?)?;
        written.push(path.display().to_string());
    }
    context.output.result(&written.join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &dyn std::fmt::Display) -> CommandError {
    CommandError::new(code::NOT_CREATED, "a key or a request cannot be made").cause(error.to_string())
}

fn new_key(algorithm: EncryptionAlgorithm) -> Result<PrivateKey, CommandError> {
    PrivateKey::generate(algorithm).map_err(|error| failed(&error))
}

/// The key in a file, or a new one.
fn key(path: &Path, algorithm: EncryptionAlgorithm) -> Result<PrivateKey, CommandError> {
    if let Some(text) = read(path)? {
        return PrivateKey::from_pem(&text).map_err(|error| failed(&error));
    }
    let key = new_key(algorithm)?;
    write(path, key.to_pem().map_err(|error| failed(&error))?.expose())?;
    Ok(key)
}

fn embedded(path: &Path, kubeconfig: &Kubeconfig) -> Result<PrivateKey, CommandError> {
    let key = kubeconfig.key().map_err(|error| failed(&error))?;
    key.ok_or_else(|| failed(&format!("{} holds no key", path.display())))
}

fn kubeconfig(
    entry: &kubeconfigs::Entry,
    configuration: &Configuration,
    root: &Path,
    key: &PrivateKey,
) -> Result<SecretText, CommandError> {
    let authority = format!("{}/ca.crt", configuration.cluster.certificates_dir);
    // If the CA's certificate is not on this machine yet, the operator of the external CA adds it.
    let authority = std::fs::read_to_string(facts::named(root, Path::new(&authority))).unwrap_or_default();
    let credentials = Credentials::Key(key.to_pem().map_err(|error| failed(&error))?);
    let server = entry.server(configuration).url();
    let user = entry.subject(configuration).common_name;
    Ok(Kubeconfig::new(&configuration.cluster.name, &server, &authority, &user, &credentials).to_yaml())
}

/// The text of a file; `None` when the file does not exist.
fn read(path: &Path) -> Result<Option<String>, CommandError> {
    files::read(path).map_err(|error| CommandError::file("the file", path, error))
}

fn request(subject: &Subject, names: &AlternativeNames, key: &PrivateKey) -> Result<String, CommandError> {
    Request::new(subject, names, key).map(|request| request.to_pem()).map_err(|error| failed(&error))
}

fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    let unusable = |error: std::io::Error| CommandError::file("the file", path, error);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(unusable)?;
    }
    files::write(path, text.as_bytes(), Readers::Owner).map_err(unusable)
}
