//! `slipway node identity`

use std::path::Path;
use std::process::ExitCode;

use slipway_bootstrap::configuration::Endpoint;
use slipway_node_agent::api::Api;
use slipway_node_agent::boot::attempt;
use slipway_node_agent::facts::below;
use slipway_node_agent::identity::Identifier;
use slipway_node_agent::identity::desk::Desk;
use slipway_node_agent::identity::server::{self, Keys};
use slipway_node_agent::machine::Machine;

use crate::cli::node::IdentityArguments;
use crate::code;
use crate::error::CommandError;
use crate::program::Context;

/// Serves until the process is ended.
pub(super) async fn run(context: &Context, arguments: &IdentityArguments) -> Result<ExitCode, CommandError> {
    let machine = Machine::open(context, Path::new("/")).await?;
    let spec = machine.spec()?;
    let boot = spec.as_ref().and_then(|spec| Some((spec, spec.boot.as_ref()?)));
    let Some((spec, boot)) = boot.filter(|(spec, _)| spec.configuration.is_control_plane()) else {
        return Err(CommandError::new(
            code::IDENTITY,
            "this machine is no control plane that booted in a cloud",
        )
        .hint("listed hosts join over SSH, or with `slipway node join`"));
    };
    let document = attempt::document(boot)?;
    let dialled = boot.endpoint.as_deref().and_then(|text| text.parse::<Endpoint>().ok());
    let names = dialled.map(|endpoint| endpoint.host().to_owned()).into_iter();
    let names = names.chain(document.internal_endpoint().map(str::to_owned)).collect();
    // The API server of this machine: behind a load balancer a machine may not reach itself.
    let server = spec.configuration.local_endpoint().url();
    let api = Api::of_administrator_at(&machine.root, &server)?;
    let identifier = Identifier::start(document.provider(), document.region()).await?;
    let session = identifier.session().clone();
    let desk = Desk::new(document.cluster_name().to_owned(), names, session, api);
    let keys = Keys { folder: below(&machine.root, &spec.configuration.cluster.certificates_dir) };
    context.output.message(&format!("Listens on {} for machines of {}.", arguments.listen, desk.cluster));
    tokio::select! {
        served = server::serve(arguments.listen, desk, keys) => match served? {},
        // The unit restarts both.
        how = identifier.ended() => {
            Err(CommandError::new(code::IDENTITY, "the provider of the cloud has ended").cause(how))
        }
    }
}
