//! `slipway node kubeconfig`

use std::process::ExitCode;

use jiff::Timestamp;
use slipway_bootstrap::kubeconfig::{Credentials, Kubeconfig, client_certificate};
use slipway_bootstrap::pki::{Certificate, PrivateKey, Subject};
use slipway_node_agent::facts::below;
use slipway_node_agent::machine::Machine;
use slipway_resource::SecretText;

use crate::cli::node::{InitSettings, KubeconfigArguments, SourceArguments};
use crate::code;
use crate::error::CommandError;
use crate::node::settings;
use crate::program::Context;

/// Signs a certificate for a user with the cluster's CA on this machine, or puts a token into a kubeconfig.
pub(super) async fn run(
    context: &Context,
    arguments: &KubeconfigArguments,
) -> Result<ExitCode, CommandError> {
    let machine = Machine::open(context, &arguments.rootfs).await?;
    let configuration = match (&arguments.config, machine.spec()?) {
        (None, Some(spec)) => spec.configuration,
        (config, _) => {
            let source = SourceArguments { config: config.clone() };
            settings::init(&source, &InitSettings::default(), &machine.detected, None)?
        }
    };
    let cluster = &configuration.cluster;
    let read = |name: &str| {
        let path = below(&machine.root, &format!("{}/{name}", cluster.certificates_dir));
        slipway_limits::file::read_text(&path, slipway_limits::size::KUBECONFIG).map_err(|error| {
            CommandError::file("the cluster's CA", &path, error)
                .hint("this works on a control plane whose CA key is on its disk")
        })
    };
    let unusable = |error: &dyn std::fmt::Display| {
        CommandError::new(code::NOT_CREATED, "the kubeconfig cannot be made").cause(error.to_string())
    };
    let authority_text = read("ca.crt")?;
    let credentials = match &arguments.token {
        Some(token) => Credentials::Token(SecretText::new(token.as_str())),
        None => {
            let authority = Certificate::from_pem(&authority_text).map_err(|error| unusable(&error))?;
            let key = PrivateKey::from_pem(&read("ca.key")?).map_err(|error| unusable(&error))?;
            let subject = Subject::new(&arguments.client_name).with_organizations(arguments.org.clone());
            let validity = settings::duration("--validity-period", &arguments.validity_period)?;
            let (algorithm, now) = (cluster.key_algorithm(), Timestamp::now());
            client_certificate(&subject, algorithm, &authority, &key, now, validity.get())
                .map_err(|error| unusable(&error))?
        }
    };
    let server = configuration.server_endpoint().url();
    let kubeconfig =
        Kubeconfig::new(&cluster.name, &server, &authority_text, &arguments.client_name, &credentials);
    context.output.result(kubeconfig.to_yaml().expose())?;
    Ok(ExitCode::SUCCESS)
}
