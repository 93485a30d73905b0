//! Files and objects that kubeadm would make for many configurations, beside those of the expansion.

mod compare;
mod differences;
mod join;
mod output;
mod random;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value as Json;

use slipway_bootstrap::configuration::{Configuration, Detected};
use slipway_bootstrap::expand::{Facts, Inputs, UploadedFile, init, upload_certificates};
use slipway_bootstrap::{kubeadm, pki};
use slipway_resource::SecretText;
use slipway_spec::source::SourceFile;
use tempfile::TempDir;

use self::output::DryRun;
use self::random::Random;

/// How many configurations are compared; the first is kubeadm's own default.
const CONFIGURATIONS: u64 = 96;

/// One configuration as documents and as they are read, and the host that kubeadm runs on here.
struct Case {
    documents: String,
    configuration: Configuration,
    facts: Facts,
    _patches: TempDir,
}

impl Case {
    fn new(seed: u64) -> Self {
        let mut facts = facts();
        let mut random = Random::new(seed);
        let mut written = random::configuration(&mut random, seed == 0, &facts.hostname);
        if seed != 0 {
            facts.patches = random::patches(&mut random);
            facts.proxy_environment = random::proxies(&mut random);
        }
        // kubeadm reads from the API server also in a dry run. A name is not resolved and fails at once. With
        // an address it would wait for an answer, so it gets a proxy that refuses.
        if written.server_endpoint().host.parse::<std::net::IpAddr>().is_ok() {
            facts.proxy_environment.insert("https_proxy".to_owned(), "http://127.0.0.1:9".to_owned());
        }
        let patches = patches(&facts, &mut written);
        let documents = kubeadm::write(&written).expose().to_owned();
        let configuration = read(&documents, &facts.hostname);
        Self { documents, configuration, facts, _patches: patches }
    }
}

/// The facts that kubeadm detects on this host.
fn facts() -> Facts {
    let folders = Facts::CA_FOLDERS.into_iter().filter(|folder| Path::new(folder).exists());
    Facts {
        hostname: hostname(),
        ca_folders: folders.map(str::to_owned).collect::<BTreeSet<_>>(),
        ..Facts::default()
    }
}

/// The patches in a folder of their own, which the configuration names.
fn patches(facts: &Facts, configuration: &mut Configuration) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in &facts.patches {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    if !facts.patches.is_empty() {
        configuration.node.patches_directory = Some(folder.path().display().to_string());
    }
    folder
}

/// The content of the documents: both sides begin with the same text.
fn read(documents: &str, hostname: &str) -> Configuration {
    let file = std::sync::Arc::new(SourceFile::new("config.yaml", documents));
    let detected = Detected { hostname: hostname.to_owned(), ..Detected::default() };
    let reading = kubeadm::read(&[file], &detected);
    assert!(reading.is_valid(), "{:#?}\n{documents}", reading.diagnostics);
    reading.init.unwrap()
}

fn hostname() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_lowercase()
}

/// Files, certificates, kubeconfigs and objects of one configuration: the differences, by subject.
fn compare(seed: u64) -> BTreeMap<String, String> {
    let case = Case::new(seed);
    let theirs = DryRun::of("init", &case.documents, &case.facts);
    let ours = init(&case.configuration, &case.facts, &Inputs::default()).unwrap();
    let mut wrong = BTreeMap::new();
    compare::files(&theirs, &ours, &mut wrong);
    compare::certificates(&theirs, &ours, &case.configuration.cluster.certificates_dir, &mut wrong);
    compare::kubeconfigs(&theirs, &ours, &mut wrong);
    compare::objects(&theirs, &ours, &mut wrong);
    wrong.into_iter().map(|(about, what)| (format!("seed {seed}, {about}"), what)).collect()
}

#[test]
fn many_configurations_become_what_kubeadm_would_make_of_them() {
    crate::support::kubeadm();
    let next = std::sync::atomic::AtomicU64::new(0);
    let wrong = std::sync::Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if seed >= CONFIGURATIONS {
                        break;
                    }
                    let found = compare(seed);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    let texts: Vec<String> = wrong.iter().map(|(about, what)| format!("{about}:\n{what}\n")).collect();
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), texts.join("\n"));
}

/// Shared certificates in the cluster: the same objects, for the same readers, ending with a token of the same form.
#[test]
fn uploaded_certificates_are_kept_as_kubeadm_keeps_them() {
    let case = Case::new(0);
    let theirs = DryRun::of("init --upload-certs", &case.documents, &case.facts);
    let found = |start: &str| {
        let mut found = theirs.objects.iter().filter(|(name, _)| name.starts_with(start));
        let (name, object) = found.find(|(name, _)| !name.ends_with("abcdef")).unwrap();
        (name.clone(), object.clone())
    };
    let (owner, token) = found("Secret/kube-system/bootstrap-token-");
    let id = owner.rsplit('-').next().unwrap();
    let files: Vec<UploadedFile> = pki::inventory::shared_files(&case.configuration)
        .into_iter()
        .map(|name| UploadedFile { name: name.to_owned(), encrypted: Vec::new() })
        .collect();
    let secret = BASE64_STANDARD.decode(token["data"]["token-secret"].as_str().unwrap()).unwrap();
    let secret = SecretText::new(String::from_utf8(secret).unwrap());
    let ours = upload_certificates(&files, id, &secret, jiff::Timestamp::now());
    let expected: BTreeMap<String, Json> = theirs
        .objects
        .iter()
        .filter(|(name, _)| **name == owner || name.ends_with("kubeadm-certs"))
        .map(|(name, object)| (name.clone(), object.clone()))
        .collect();
    assert_eq!(expected.len(), 4, "{expected:#?}");
    let mut wrong = BTreeMap::new();
    compare::against(&expected, &ours, &mut wrong);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A comparison that cannot fail shows nothing: a changed flag, a changed object and a lost name are seen.
#[test]
fn what_differs_is_seen() {
    let mut case = Case::new(0);
    let theirs = DryRun::of("init", &case.documents, &case.facts);
    case.configuration.cluster.networking.dns_domain = "other.test".to_owned();
    let ours = init(&case.configuration, &case.facts, &Inputs::default()).unwrap();
    let mut wrong = BTreeMap::new();
    compare::files(&theirs, &ours, &mut wrong);
    compare::certificates(&theirs, &ours, &case.configuration.cluster.certificates_dir, &mut wrong);
    compare::objects(&theirs, &ours, &mut wrong);
    for about in ["kube-apiserver.yaml", "config.yaml", "apiserver.crt", "ConfigMap/kube-system/coredns"] {
        assert!(wrong.keys().any(|key| key.contains(about)), "{about}: {wrong:#?}");
    }
}
