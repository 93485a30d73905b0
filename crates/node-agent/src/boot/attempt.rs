//! One attempt to make the machine a node.

mod etcd;

use std::path::Path;

use slipway_bootstrap::boot::{Bootstrap, NodeBootstrap, Part, ThisMachine};
use slipway_bootstrap::configuration::{Configuration, Detected, LocalEndpoint};
use slipway_bootstrap::expand::{Facts, Phased};
use slipway_bootstrap::preflight::Purpose;
use slipway_bootstrap::version::Images;
use slipway_resource::provider::executable_name;
use slipway_spec::model::Architecture;

use super::addresses::Addresses;
use super::claim::{self, Claim, Founder, Seen};
use super::control_plane::{Administrator, secret, waits};
use super::keys::{self, Keys};
use super::{Stop, credential, identity, reference, settings, volume};
use crate::api::{Api, Credentials, Trust};
use crate::caller::Caller;
use crate::code;
use crate::error::Error;
use crate::facts::{below, program};
use crate::identity::Identifier;
use crate::machine::Machine;
use crate::secrets::NodeSecrets;
use crate::spec::{Boot, Joined, NodeSpec};
use crate::{begin, join};

/// The desired state of a machine, with the texts of its secrets.
pub struct Prepared {
    /// The machine and its part in the cluster.
    pub spec: NodeSpec,
    /// The resources of the machine, by phase.
    pub phased: Vec<Phased>,
    /// The texts of its secrets.
    pub secrets: NodeSecrets,
    /// The record that this machine begins the cluster, as long as its API has not answered.
    pub founding: Option<Claim>,
    /// The same record, where this machine joins the cluster.
    pub joining: Option<Claim>,
    /// Whether this machine continues the cluster with the data on its volume.
    pub continues: bool,
    /// The addresses of the other members of etcd, where it continues one of several.
    pub addresses: Option<Addresses>,
}

/// How a control plane comes into the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Entry {
    /// It begins the cluster.
    Begins,
    /// It has the data of a member of etcd, and continues the cluster without asking others first.
    Continues,
    /// It joins other control planes.
    Joins,
}

/// The document of a machine that has it.
pub fn document(boot: &Boot) -> Result<NodeBootstrap, Error> {
    match bootstrap(boot)? {
        Bootstrap::Document(document) => Ok(*document),
        Bootstrap::Reference(found) => reference::kept(&found, Path::new("/"))?.ok_or_else(|| {
            Error::new(
                code::DOCUMENT,
                "this machine has not got its bootstrap document from a control plane yet",
            )
            .hint("`journalctl --unit slipway-boot` shows what it waits for")
        }),
    }
}

/// Reads the file that the user data of a machine wrote.
pub fn bootstrap(boot: &Boot) -> Result<Bootstrap, Error> {
    let path = Path::new(&boot.document);
    let bytes = slipway_limits::file::read_given(path, slipway_limits::size::SPEC)
        .map_err(|error| Error::file("the bootstrap document", path, &error))?;
    let unusable = |text: String| {
        Error::new(code::DOCUMENT, text)
            .hint("replace the machine: a new one gets the document of the last apply")
    };
    let found = Bootstrap::read(&bytes, &boot.digest).map_err(|error| unusable(error.to_string()))?;
    let own = match std::env::consts::ARCH {
        "x86_64" => Some(Architecture::Amd64),
        "aarch64" => Some(Architecture::Arm64),
        _ => None,
    };
    if own.is_some_and(|own| own != found.architecture()) {
        let text = format!(
            "the bootstrap document is for {:?}, and this machine is {}",
            found.architecture(),
            std::env::consts::ARCH
        );
        return Err(unusable(text));
    }
    Ok(found)
}

/// Learns everything that the machine's plan needs. Changes nothing on the machine. A boot says what it has `seen` of the
/// record of the first control plane; without that, the record is neither read nor written.
pub async fn prepare(
    caller: &dyn Caller,
    machine: &Machine,
    document: &NodeBootstrap,
    boot: &Boot,
    (before, seen): (Option<&NodeSpec>, Option<&mut Seen>),
) -> Result<Prepared, Stop> {
    let detected = settled(machine)?;
    let facts = begin::expansion(&machine.root, &Configuration::new(&detected))?;
    let (member, former_address) = match document.is_control_plane() {
        true => {
            volume::is_there(&machine.root)?;
            (volume::member(&machine.root)?, volume::former(&machine.root)?)
        }
        false => (None, None),
    };
    let provider_id = boot.provider_id.clone();
    let mut this = ThisMachine { detected, facts, provider_id, member, former_address };
    // An authority is never elsewhere: its key comes with its certificate, also when a run ended between the two.
    this.facts.external_authorities.clear();
    // A unit in /etc is the machine's own: its plan keeps it.
    let has = |name: &str| UNITS.iter().any(|folder| below(&machine.root, folder).join(name).exists());
    this.facts.kubelet_unit_missing = !has("kubelet.service");
    this.facts.kubelet_drop_in_missing = !has("kubelet.service.d/10-kubeadm.conf");
    let secrets = NodeSecrets::new(&machine.root);
    let (claim, addresses) = (None, None);
    let preparing =
        Preparing { caller, machine, document, boot, before, this, secrets, seen, claim, addresses };
    if document.is_control_plane() { preparing.control_plane().await } else { preparing.worker().await }
}

/// Holds that the machine has an address.
pub fn has_address(machine: &Machine) -> Result<(), Stop> {
    let address = machine.detected.address;
    if address == Detected::default().address || address.is_unspecified() {
        return Err(Stop::Waits("waits for a network address: no interface has a default route".to_owned()));
    }
    Ok(())
}

/// The image of the pause container that the Kubernetes version of a document has.
pub fn pause_image(document: &NodeBootstrap) -> String {
    let endpoint = LocalEndpoint { host: "localhost".to_owned(), port: document.api_port() };
    let nobody = ThisMachine {
        detected: Detected::default(),
        facts: Facts::default(),
        provider_id: None,
        member: None,
        former_address: None,
    };
    Images::of(&document.configuration(&nobody, &endpoint, true).cluster).pause
}

/// Folders in which packages have systemd units.
const UNITS: [&str; 3] = ["/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"];

/// The machine with an address and the programs of a node.
fn settled(machine: &Machine) -> Result<Detected, Stop> {
    has_address(machine)?;
    let detected = &machine.detected;
    if detected.cri_sockets.is_empty() {
        return Err(Stop::Waits("waits for the container runtime: it has no socket in /run".to_owned()));
    }
    if program("kubelet").is_none() {
        return Err(Stop::Waits("waits for the program kubelet: it is not on the path".to_owned()));
    }
    Ok(detected.clone())
}

struct Preparing<'a> {
    caller: &'a dyn Caller,
    machine: &'a Machine,
    document: &'a NodeBootstrap,
    boot: &'a Boot,
    before: Option<&'a NodeSpec>,
    this: ThisMachine,
    secrets: NodeSecrets,
    seen: Option<&'a mut Seen>,
    claim: Option<Claim>,
    addresses: Option<Addresses>,
}

impl Preparing<'_> {
    async fn control_plane(mut self) -> Result<Prepared, Stop> {
        let endpoint = self.endpoint()?;
        let (keys, entry) =
            match (self.before, keys::on_disk(self.document, self.machine, &mut self.secrets)?) {
                (Some(before), Some(keys)) if !self.is_founding(before) => (keys, self.entry_of(before)),
                _ => self.keys().await?,
            };
        if entry == Entry::Continues {
            self.addresses = self.addresses_of_members().await;
        }
        let begins = entry != Entry::Joins;
        let Keys { certificates } = keys;
        let document = self.with_settings_of_control_planes(&endpoint, &certificates, begins).await?;
        let configuration = document.configuration(&self.this, &endpoint, begins);
        if begins {
            let part = match entry {
                Entry::Continues => Part::Continues { certificates },
                _ => Part::Begins { certificates },
            };
            return self.done(Purpose::Init, &document, configuration, (&endpoint, part, None));
        }
        let joined = match self.before.and_then(|before| before.joined.clone()).filter(|_| self.has_joined())
        {
            Some(joined) => joined,
            None => self.join_control_plane(&configuration, &endpoint, &certificates).await?,
        };
        let part = Part::JoinsControlPlane {
            certificates,
            discovered: joined.discovered(),
            etcd_endpoints: joined.etcd_endpoints.clone(),
        };
        self.done(Purpose::JoinControlPlane, &document, configuration, (&endpoint, part, Some(joined)))
    }

    /// How this machine came into the cluster.
    fn entry_of(&self, before: &NodeSpec) -> Entry {
        match before.role {
            Purpose::Init if claim::has_continued_here(&self.machine.root) => Entry::Continues,
            Purpose::Init => Entry::Begins,
            _ => Entry::Joins,
        }
    }

    /// The keys of the cluster, and how this machine comes into it.
    async fn keys(&mut self) -> Result<(Keys, Entry), Stop> {
        let cluster = self.document.cluster_name();
        let store = store(self.document, self.boot)?;
        let (keys, uid) = keys::in_state(self.caller, self.document, store, &mut self.secrets).await?;
        if let Some(before) = self.before.filter(|before| !self.is_founding(before)) {
            return Ok((keys, self.entry_of(before)));
        }
        let own = Founder {
            node: self.this.detected.hostname.clone(),
            address: self.this.detected.address.to_string(),
            machine: self.machine_id()?,
            begun: false,
            renewals: 0,
            etcd: None,
        };
        let claim = Claim::new(self.caller.backend_at(store)?, cluster, &uid, own)?;
        let seen = self.seen.as_deref_mut().ok_or_else(|| {
            Stop::Waits(
                "waits for its boot to end: it is not known which machine begins the cluster".to_owned(),
            )
        })?;
        let begins = claim.begins(seen).await?;
        if !begins && self.before.is_some() {
            return Err(claim::step_down(&self.machine.root));
        }
        if !begins && self.continues(&claim).await? {
            return Ok((keys, Entry::Continues));
        }
        if !begins {
            // Members that continue find this one although it joins.
            self.addresses_of_members().await;
        }
        self.claim = Some(claim);
        Ok((keys, if begins { Entry::Begins } else { Entry::Joins }))
    }

    /// Whether this boot began the cluster, and its API has not answered yet.
    fn is_founding(&self, before: &NodeSpec) -> bool {
        self.seen.is_some() && before.role == Purpose::Init && !claim::has_begun_here(&self.machine.root)
    }

    fn machine_id(&self) -> Result<String, Stop> {
        let path = below(&self.machine.root, "/etc/machine-id");
        let text = slipway_limits::file::read_text(&path, slipway_limits::size::KEY_FILE)
            .map_err(|error| Error::file("the id of the machine", &path, &error))?;
        match text.trim() {
            "" | "uninitialized" => {
                Err(Stop::Waits("waits for the id of the machine in /etc/machine-id".to_owned()))
            }
            id => Ok(id.to_owned()),
        }
    }

    async fn join_control_plane(
        &mut self,
        configuration: &Configuration,
        endpoint: &LocalEndpoint,
        certificates: &std::collections::BTreeMap<String, String>,
    ) -> Result<Joined, Stop> {
        let authority = certificates.get("ca.crt").cloned().unwrap_or_default();
        let administrator = self.administrator(configuration, endpoint, &authority)?;
        let etcd_endpoints = administrator.etcd_endpoints().await?;
        if let Some(claim) = &self.claim {
            claim.has_begun(false).await?;
        }
        self.secrets.learn(&secret(administrator.token().await?));
        Ok(Joined { server: endpoint.url(), authority, etcd_endpoints, ..Joined::default() })
    }

    /// The cluster as its administrator sees it.
    fn administrator(
        &self,
        configuration: &Configuration,
        endpoint: &LocalEndpoint,
        authority: &str,
    ) -> Result<Administrator, Error> {
        let key = self.secrets.text_of(&NodeBootstrap::key("ca.key", None)).ok_or_else(|| {
            Error::new(
                code::CLUSTER_CONFIGURATION,
                "the key of the cluster's CA is not known to this machine",
            )
        })?;
        Administrator::new(configuration, &endpoint.url(), authority, &key)
    }

    /// The document with the settings that the cluster has for the pool. The machine that begins the cluster has those of its
    /// document, and so has one that joins before the cluster has any. They are read once; then `slipway node settings` follows
    /// them.
    async fn with_settings_of_control_planes(
        &self,
        endpoint: &LocalEndpoint,
        certificates: &std::collections::BTreeMap<String, String>,
        begins: bool,
    ) -> Result<NodeBootstrap, Stop> {
        let Some(name) = self.document.settings_name() else { return Ok(self.document.clone()) };
        let kept = settings::Kept::of(&self.machine.root);
        let text = match kept.current()? {
            Some(text) => text,
            None => {
                let configuration = self.document.configuration(&self.this, endpoint, begins);
                let authority = certificates.get("ca.crt").map_or("", String::as_str);
                let found = match begins {
                    true => None,
                    false => self.administrator(&configuration, endpoint, authority)?.settings(name).await?,
                };
                let first = self.document.first_settings();
                let text = found.or_else(|| first.map(str::to_owned)).ok_or_else(|| {
                    Error::new(
                        code::POOL_SETTINGS,
                        "the bootstrap document of this control plane has no settings",
                    )
                })?;
                kept.begin_with(&text)?;
                text
            }
        };
        Ok(self.document.with_settings(&settings::read(&text)?))
    }

    async fn worker(mut self) -> Result<Prepared, Stop> {
        let joined = match self.before.and_then(|before| before.joined.clone()).filter(|_| self.has_joined())
        {
            Some(joined) => joined,
            None => self.join_worker().await?,
        };
        let server = joined.server.trim_start_matches("https://");
        let endpoint = parsed(server, self.document.api_port())?;
        let document = self.with_settings(&joined).await?;
        let configuration = document.configuration(&self.this, &endpoint, false);
        let part = Part::JoinsAsWorker { discovered: joined.discovered() };
        self.done(Purpose::JoinWorker, &document, configuration, (&endpoint, part, Some(joined)))
    }

    /// The document with the settings that the cluster has for the pool. They are read once; then `slipway node settings`
    /// follows them.
    async fn with_settings(&self, joined: &Joined) -> Result<NodeBootstrap, Stop> {
        let Some(name) = self.document.settings_name() else { return Ok(self.document.clone()) };
        let kept = settings::Kept::of(&self.machine.root);
        let text = match kept.current()? {
            Some(text) => text,
            None => {
                let text = settings::fetch(&self.machine.root, name, joined).await?;
                kept.begin_with(&text)?;
                text
            }
        };
        Ok(self.document.with_settings(&settings::read(&text)?))
    }

    async fn join_worker(&mut self) -> Result<Joined, Stop> {
        if let Some(authority) = &self.boot.authority
            && !Path::new(&self.boot.credential).exists()
        {
            return self.join_by_identity(authority).await;
        }
        let credential = credential::read(Path::new(&self.boot.credential))?;
        let trust = Trust::Authorities(credential.authority.clone());
        let api = Api::new(&credential.server, &trust, &Credentials::Token(credential.token.clone()))?;
        if self.before.is_none() {
            let name = &self.this.detected.hostname;
            let ready = join::is_ready(name, &api).await.map_err(|error| waits(&credential.server, error))?;
            if ready {
                return Err(Stop::Refused(join::name_is_taken(name)));
            }
        }
        self.secrets.learn(&secret(credential.token));
        Ok(Joined { server: credential.server, authority: credential.authority, ..Joined::default() })
    }

    /// Joins with a client certificate that a control plane gives to this machine, because the cloud says which one it is.
    async fn join_by_identity(&self, authority: &str) -> Result<Joined, Stop> {
        let endpoint = self.endpoint()?;
        let provider = self.document.provider();
        if Identifier::find(provider).is_none() {
            let name = executable_name(provider);
            return Err(Stop::Waits(format!("waits for the program {name}: it is not on the path")));
        }
        let authority = reference::authorities(authority)?;
        let cluster = identity::Cluster {
            cloud: (provider, self.document.region()),
            host: endpoint.host.clone(),
            authority: authority.clone(),
            document: None,
        };
        let root = &self.machine.root;
        // It came with the document, or the machine waited for its settings since then.
        let is_kept = self.document.settings_name().is_some() || reference::is_given(root);
        let path = match identity::recent(root).filter(|_| is_kept) {
            Some(path) => path,
            None => identity::ask(cluster, &self.this.detected.hostname, root).await?.credential,
        };
        Ok(Joined { server: endpoint.url(), authority, client_certificate: Some(path), ..Joined::default() })
    }

    /// Whether the kubelet has its own credentials: then the cluster is not asked again.
    fn has_joined(&self) -> bool {
        below(&self.machine.root, "/etc/kubernetes/kubelet.conf").exists()
    }

    fn endpoint(&self) -> Result<LocalEndpoint, Stop> {
        endpoint(self.boot, self.document.api_port())
    }

    fn done(
        self,
        role: Purpose,
        document: &NodeBootstrap,
        configuration: Configuration,
        (endpoint, part, joined): (&LocalEndpoint, Part, Option<Joined>),
    ) -> Result<Prepared, Stop> {
        let continues = matches!(part, Part::Continues { .. });
        let phased = document.expand(&self.this, &configuration, endpoint, &part);
        let phased = phased.map_err(|error| Error::new(error.code(), error.to_string()))?;
        let mut spec = NodeSpec::new(role, configuration);
        spec.joined = joined;
        spec.boot = Some(self.boot.clone());
        let (founding, joining) = match role {
            Purpose::Init => (self.claim, None),
            _ => (None, self.claim),
        };
        let (secrets, addresses) = (self.secrets, self.addresses);
        Ok(Prepared { spec, phased, secrets, founding, joining, continues, addresses })
    }
}

/// The address of the cluster, with this port unless it has one.
pub(super) fn endpoint(boot: &Boot, port: u16) -> Result<LocalEndpoint, Stop> {
    let named = boot.endpoint.as_deref().filter(|endpoint| !endpoint.is_empty());
    let named = named.ok_or_else(|| {
        let error = Error::new(code::DOCUMENT, "nothing says at which address the cluster is reached");
        Stop::Refused(error.hint("name it with --endpoint"))
    })?;
    parsed(named, port)
}

/// Where the state of the cluster is.
fn store<'a>(document: &'a NodeBootstrap, boot: &'a Boot) -> Result<&'a str, Stop> {
    let store = boot.state.as_deref().or(document.store()).ok_or_else(|| {
        let error = Error::new(code::DOCUMENT, "nothing says where the state of the cluster is");
        Stop::Refused(error.hint("name it with --state, or in the document as `cluster.store`"))
    })?;
    // kOps names the folder of the cluster, and not the one above.
    let folder = format!("/{}", document.cluster_name());
    Ok(store.trim_end_matches('/').strip_suffix(&folder).unwrap_or(store))
}

/// An address as a host with a port.
fn parsed(text: &str, port: u16) -> Result<LocalEndpoint, Stop> {
    let endpoint: slipway_bootstrap::configuration::Endpoint =
        text.parse().map_err(|error: slipway_bootstrap::configuration::EndpointError| {
            Stop::Refused(
                Error::new(code::DOCUMENT, format!("`{text}` is no address of a cluster"))
                    .cause(error.to_string()),
            )
        })?;
    Ok(LocalEndpoint { host: endpoint.host().to_owned(), port: endpoint.port().unwrap_or(port) })
}
