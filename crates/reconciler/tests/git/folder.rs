//! A source that is a folder: its files are used where they are, and change at any moment.

use std::time::Duration;

use slipway_reconciler::Configuration;

use crate::world::{World, on_one_thread};

/// Writes the spec of the cluster with this number of workers.
fn write(world: &World, workers: u32) {
    let folder = world.path().join("specs/clusters/dev");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("spec.yaml"), world.spec("dev", workers)).unwrap();
}

/// A configuration whose source is a folder that is hardly ever read.
fn configuration(world: &World) -> Configuration {
    let policy = "[[source.cluster]]\nname = '*'\napply = 'always'";
    let mut configuration = world.configuration("a", "", policy);
    let source = &mut configuration.sources[0];
    source.git = None;
    source.folder = Some(world.path().join("specs"));
    source.interval = Duration::from_secs(600);
    configuration
}

#[tokio::test]
async fn a_changed_folder_is_read_before_its_clusters_are_planned() {
    on_one_thread(async {
        let world = World::new();
        write(&world, 1);
        let controller = world.start(configuration(&world)).await;
        let first = world.until_reason("dev", "InSync", "").await.revision;
        write(&world, 2);
        let status = world.request("dev").await;
        assert_eq!(world.machines("dev"), 3, "{status:#?}");
        assert_ne!(status.revision, first);
        assert_eq!(status.applied.map(|applied| applied.revision), Some(status.revision));

        // A spec that was removed is gone, and not one that cannot be read.
        std::fs::remove_dir_all(world.path().join("specs/clusters/dev")).unwrap();
        let status = world.request("dev").await;
        assert_eq!(status.ready().unwrap().reason, "SpecVanished", "{status:#?}");
        write(&world, 2);
        controller.handle.changed("fleet");
        world.until_reason("dev", "InSync", "").await;
        controller.stop().await;
    })
    .await;
}
