//! A bucket as a source, in moto behind a proxy that counts requests.
#![cfg(test)]

use std::path::Path;

use slipway_reconciler::Configuration;
use slipway_reconciler::source::{Reader, Revision};
use slipway_state_store::Settings;
use slipway_testkit::proxy::{Request, Verdict};
use slipway_testkit::{Moto, Proxy};

/// The names of the objects that were fetched since the last time.
fn fetched(proxy: &Proxy) -> Vec<String> {
    let seen = proxy.requests();
    proxy.reset();
    let name = |request: &Request| {
        let path = request.target.split('?').next().unwrap_or_default();
        (request.method == "GET").then(|| path.strip_prefix("/specs/fleet/").map(str::to_owned)).flatten()
    };
    seen.iter().filter_map(name).filter(|name| !name.is_empty()).collect()
}

fn read_file(revision: &Revision, path: &str) -> String {
    std::fs::read_to_string(revision.folder.path().join(path)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn only_changed_objects_of_a_bucket_are_read() {
    let moto = Moto::start().unwrap();
    moto.create_bucket("specs").unwrap();
    let put = |key: &str, text: &str| moto.put_object("specs", key, text.as_bytes()).unwrap();
    put("fleet/clusters/dev/spec.yaml", "dev 1");
    put("fleet/clusters/prod/spec.yaml", "prod 1");
    put("fleet/README.md", "not read");
    put("elsewhere/clusters/x/spec.yaml", "not in the prefix");
    let proxy = Proxy::start(moto.port(), |_: &mut Request| Verdict::Pass).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "data = 'd'\n[[source]]\nname = 'fleet'\npaths = ['clusters/*']\n\
         bucket = {{ url = 's3://specs/fleet', endpoint = '{}' }}\n",
        proxy.endpoint()
    );
    let read = Configuration::parse(&text, Path::new("controller.toml"), folder.path()).unwrap();
    let settings = || Settings::new(moto.environment());
    let mut reader = Reader::with_settings(&read.sources[0], folder.path(), settings);

    let first = reader.read(None).await.unwrap();
    assert_eq!(first.units.keys().collect::<Vec<_>>(), ["clusters/dev", "clusters/prod"]);
    assert_eq!(read_file(&first, "clusters/dev/spec.yaml"), "dev 1");
    assert_eq!(fetched(&proxy), ["clusters/dev/spec.yaml", "clusters/prod/spec.yaml"]);
    assert!(!first.folder.path().join("README.md").exists());

    let same = reader.read(Some(&first)).await.unwrap();
    assert_eq!(same.id, first.id);
    assert_eq!(fetched(&proxy), Vec::<String>::new(), "nothing changed");

    put("fleet/clusters/prod/spec.yaml", "prod 2");
    let second = reader.read(Some(&same)).await.unwrap();
    assert_ne!(second.id, first.id);
    assert_eq!(second.units["clusters/dev"], first.units["clusters/dev"]);
    assert_ne!(second.units["clusters/prod"], first.units["clusters/prod"]);
    assert_eq!(fetched(&proxy), ["clusters/prod/spec.yaml"]);
    assert_eq!(read_file(&first, "clusters/prod/spec.yaml"), "prod 1", "a revision never changes");
    assert_eq!(read_file(&second, "clusters/prod/spec.yaml"), "prod 2");
    let place = first.folder.path().to_owned();
    drop((first, same));
    assert!(!place.exists(), "a revision that nobody uses is removed");
    assert_eq!(read_file(&second, "clusters/dev/spec.yaml"), "dev 1");

    put("fleet/clusters/evil%5Cspec.yaml", "x");
    assert_eq!(reader.read(Some(&second)).await.unwrap_err().code(), "RECON0007");
}
