//! `slipway node config`

use std::process::ExitCode;

use serde_json::{Map, Value as Json};
use slipway_bootstrap::configuration::{
    Configuration, Detected, Discovery, EndpointError, Join, NodeSettings, Reset, TokenDiscovery, Upgrade,
};
use slipway_bootstrap::expand::Facts;
use slipway_bootstrap::kubeadm::{self, Reading};
use slipway_bootstrap::version::Images;
use slipway_bootstrap::{addon, kubelet};
use slipway_node_agent::cri::Cri;
use slipway_node_agent::{documents, facts};
use slipway_resource::{Secret, SecretText};
use slipway_spec::diagnostic;

use crate::cli::node::{
    ConfigCommand, ConfigDefaults, ImagesArguments, ImagesCommand, InitSettings, NodeSettingsArguments,
    SourceArguments,
};
use crate::code;
use crate::error::CommandError;
use crate::files::{self, Readers};
use crate::node::settings;
use crate::program::Context;

pub(super) async fn run(context: &Context, command: &ConfigCommand) -> Result<ExitCode, CommandError> {
    match command {
        ConfigCommand::Print { which, component_configs } => {
            context.output.result(&print(*which, component_configs)?)?;
        }
        ConfigCommand::Validate { config } => {
            let reading = documents::read(config, &Detected::default())?;
            context.output.message(&diagnostic::render_all(&reading.diagnostics));
            context.output.result("ok")?;
        }
        ConfigCommand::Migrate { old_config, new_config } => {
            let reading = documents::read(old_config, &Detected::default())?;
            context.output.message(&diagnostic::render_all(&reading.diagnostics));
            let text = migrated(&reading);
            match new_config {
                // The document may contain tokens.
                Some(path) => files::write(path, text.expose().as_bytes(), Readers::Owner)
                    .map_err(|error| CommandError::file("the new document", path, error))?,
                None => context.output.result(text.expose())?,
            }
        }
        ConfigCommand::Images(ImagesCommand::List(arguments)) => {
            let (images, _) = images(arguments)?;
            context.output.result(&images.join("\n"))?;
        }
        ConfigCommand::Images(ImagesCommand::Pull(arguments)) => pull(context, arguments).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Documents with all defaults.
fn print(which: ConfigDefaults, components: &[String]) -> Result<String, CommandError> {
    let detected = Detected::default();
    let mut configuration = Configuration::new(&detected);
    let example = |index: usize| Secret {
        text: Some(SecretText::new("abcdef.0123456789abcdef")),
        ..Secret::new(format!("example:{index}"))
    };
    match which {
        ConfigDefaults::Init => {
            for (index, token) in configuration.node.bootstrap_tokens.iter_mut().enumerate() {
                token.token = Some(example(index));
            }
            for kind in components {
                match kind.as_str() {
                    "KubeletConfiguration" => configuration.kubelet = Some(kubelet_defaults(&configuration)?),
                    "KubeProxyConfiguration" => {
                        configuration.kube_proxy = Some(proxy_defaults(&configuration)?)
                    }
                    other => {
                        return Err(settings::invalid(format!("there is no component document {other}"))
                            .hint("there are KubeletConfiguration and KubeProxyConfiguration"));
                    }
                }
            }
            Ok(kubeadm::write(&configuration).expose().to_owned())
        }
        ConfigDefaults::Join => {
            configuration.node = NodeSettings::worker(&detected);
            configuration.join = Some(Join {
                discovery: Discovery::Token(TokenDiscovery {
                    token: example(0),
                    api_server_endpoint: "kube-apiserver:6443".parse().map_err(|error: EndpointError| {
                        CommandError::internal("the example cannot be written", error)
                    })?,
                    ca_cert_hashes: Vec::new(),
                    unsafe_skip_ca_verification: true,
                }),
                tls_bootstrap_token: Some(example(1)),
                ca_cert_path: "/etc/kubernetes/pki/ca.crt".to_owned(),
                control_plane: false,
            });
            Ok(kubeadm::write(&configuration).expose().to_owned())
        }
        ConfigDefaults::Reset => Ok(kubeadm::write_reset(&Reset::default())),
        ConfigDefaults::Upgrade => Ok(kubeadm::write_upgrade(&Upgrade::default())),
    }
}

fn kubelet_defaults(configuration: &Configuration) -> Result<Map<String, Json>, CommandError> {
    mapping(&kubelet::config_map_text(configuration, &Facts::default()))
}

fn proxy_defaults(configuration: &Configuration) -> Result<Map<String, Json>, CommandError> {
    let objects = addon::kube_proxy(configuration, &Facts::default());
    let text = objects.iter().find_map(|object| object.pointer("/data/config.conf")?.as_str());
    mapping(text.unwrap_or("{}"))
}

fn mapping(text: &str) -> Result<Map<String, Json>, CommandError> {
    let document: Json = serde_yaml::from_str(text)
        .map_err(|error| CommandError::internal("the defaults cannot be read", error))?;
    Ok(document.as_object().cloned().unwrap_or_default())
}

/// Documents in the newest version: everything that the old ones say.
fn migrated(reading: &Reading) -> SecretText {
    let nodes =
        reading.init.iter().chain(&reading.join).map(|found| kubeadm::write(found).expose().to_owned());
    let others = reading.reset.iter().map(kubeadm::write_reset);
    let upgrades = reading.upgrade.iter().map(kubeadm::write_upgrade);
    SecretText::new(nodes.chain(others).chain(upgrades).collect::<Vec<_>>().join("---\n"))
}

/// The images of a control plane, and the runtime that would fetch them.
fn images(arguments: &ImagesArguments) -> Result<(Vec<String>, Option<String>), CommandError> {
    let options = InitSettings {
        node: NodeSettingsArguments {
            cri_socket: arguments.cri_socket.clone(),
            ..NodeSettingsArguments::default()
        },
        kubernetes_version: arguments.kubernetes_version.clone(),
        image_repository: arguments.image_repository.clone(),
        ..InitSettings::default()
    };
    let source = SourceArguments { config: arguments.config.clone() };
    let configuration = settings::init(&source, &options, &facts::detect("/".as_ref()), None)?;
    let images = Images::of(&configuration.cluster).for_control_plane(&configuration.cluster);
    Ok((images, configuration.node.cri_socket))
}

async fn pull(context: &Context, arguments: &ImagesArguments) -> Result<(), CommandError> {
    let (images, socket) = images(arguments)?;
    let Some(socket) = socket else {
        return Err(
            settings::missing("this host has several container runtimes").hint("name one with --cri-socket")
        );
    };
    let failed = |text: String| CommandError::new(code::IMAGE, "an image cannot be fetched").cause(text);
    let mut runtime = Cri::connect(&socket).await.map_err(failed)?;
    for image in images {
        runtime.pull_image(&image).await.map_err(|reason| failed(format!("{image}: {reason}")))?;
        context.output.message(&image);
    }
    Ok(())
}
