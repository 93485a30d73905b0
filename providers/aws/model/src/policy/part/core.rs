//! The permissions of a control plane's machines themselves: find their peers, attach etcd's volumes, read
//! the cluster's secrets, write etcd's backups.

use super::keys::keys;
use crate::policy::{Condition, Grants, Scope};

/// A folder of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The bucket's name.
    pub(crate) bucket: String,
    /// The key of the folder, without slashes around it; empty for all of the bucket.
    pub(crate) folder: String,
}

impl Place {
    /// The place that a URL such as `s3://bucket/folder` names.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let (_, rest) = url.split_once("://")?;
        let (bucket, folder) = rest.split_once('/').unwrap_or((rest, ""));
        let folder = folder.trim_matches('/').to_owned();
        (!bucket.is_empty()).then(|| Self { bucket: bucket.to_owned(), folder })
    }

    /// A folder below it.
    pub(crate) fn join(&self, below: &str) -> Self {
        let folder =
            if self.folder.is_empty() { below.to_owned() } else { format!("{}/{below}", self.folder) };
        Self { bucket: self.bucket.clone(), folder }
    }

    fn arn(&self, scope: &Scope<'_>) -> String {
        let slash = if self.folder.is_empty() { "" } else { "/" };
        format!("arn:{}:s3:::{}{slash}{}", scope.partition, self.bucket, self.folder)
    }
}

/// Where the machines find what they need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Store {
    /// The places that they read.
    pub(crate) read: Vec<Place>,
    /// Where etcd's backups go.
    pub(crate) backups: Vec<Place>,
    /// The state store, with the keys of the cluster.
    pub(crate) state: Option<Place>,
}

/// The machines of a control plane with etcd.
pub(crate) fn core(grants: &mut Grants, scope: &Scope<'_>, store: &Store) {
    grants.anywhere(["ec2:DescribeInstances", "ec2:DescribeVolumes"]);
    let masters = Condition::tagged(scope).and("StringEquals", "aws:ResourceTag/k8s.io/role/master", ["1"]);
    grants.allow(["*"], &masters, ["ec2:AttachVolume"]);
    keys(grants, scope);
    objects(grants, scope, store);
    if let Some(place) = &store.state {
        state(grants, scope, place);
    }
}

/// The objects of the cluster in the state store, and nothing of other clusters. Control planes write which of them begins
/// the cluster.
fn state(grants: &mut Grants, scope: &Scope<'_>, place: &Place) {
    let bucket = Place { bucket: place.bucket.clone(), folder: String::new() };
    let own = place.join(scope.cluster);
    let inside = format!("{}/*", own.folder);
    let listed = Condition::none().and("StringLike", "s3:prefix", [inside.as_str()]);
    grants.allow([bucket.arn(scope)], &listed, ["s3:ListBucket"]);
    let marker = place.join("_slipway/store");
    grants.allow([format!("{}/*", own.arn(scope)), marker.arn(scope)], &Condition::none(), ["s3:GetObject"]);
    let boot = format!("{}/*", own.join("boot").arn(scope));
    grants.allow([boot], &Condition::none(), ["s3:DeleteObject", "s3:PutObject"]);
}

/// Machines with an API server and nothing else of the control plane.
pub(crate) fn api_server(grants: &mut Grants, scope: &Scope<'_>, store: &Store) {
    keys(grants, scope);
    objects(grants, scope, &Store { read: store.read.clone(), ..Store::default() });
}

fn objects(grants: &mut Grants, scope: &Scope<'_>, store: &Store) {
    for place in store.read.iter().chain(&store.backups) {
        let bucket = Place { bucket: place.bucket.clone(), folder: String::new() };
        grants.allow(
            [bucket.arn(scope)],
            &Condition::none(),
            [
                "s3:GetBucketLocation",
                "s3:GetEncryptionConfiguration",
                "s3:ListBucket",
                "s3:ListBucketVersions",
            ],
        );
    }
    let inside = |place: &Place| format!("{}/*", place.arn(scope));
    grants.allow(store.read.iter().map(inside), &Condition::none(), ["s3:Get*"]);
    grants.allow(
        store.backups.iter().map(inside),
        &Condition::none(),
        ["s3:DeleteObject", "s3:DeleteObjectVersion", "s3:GetObject", "s3:PutObject"],
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_places() {
        let place = Place::parse("s3://bucket/a/b/").unwrap();
        assert_eq!((place.bucket.as_str(), place.folder.as_str()), ("bucket", "a/b"));
        assert_eq!(place.join("c").folder, "a/b/c");
        assert_eq!(Place::parse("s3://bucket").unwrap().join("c").folder, "c");
        assert_eq!(Place::parse("bucket/a"), None);
    }

    #[test]
    fn an_api_server_attaches_no_volume_and_writes_nothing() {
        let scope = Scope { cluster: "a", partition: "aws", region: "us-east-1" };
        let place = Place::parse("s3://bucket/a").unwrap();
        let store = Store { read: vec![place.clone()], backups: vec![place.join("backups")], state: None };
        let text = |part: fn(&mut Grants, &Scope<'_>, &Store)| {
            let mut grants = Grants::default();
            part(&mut grants, &scope, &store);
            grants.document().to_value().to_plain_text()
        };
        assert!(text(core).contains("ec2:AttachVolume") && text(core).contains("s3:PutObject"));
        assert!(!text(api_server).contains("ec2:") && !text(api_server).contains("s3:PutObject"));
        assert!(text(api_server).contains("arn:aws:s3:::bucket/a/*"));
    }

    #[test]
    fn a_control_plane_reads_the_state_of_its_own_cluster_only() {
        let scope = Scope { cluster: "a", partition: "aws", region: "us-east-1" };
        let store = Store { state: Place::parse("s3://bucket/states"), ..Store::default() };
        let text = |part: fn(&mut Grants, &Scope<'_>, &Store)| {
            let mut grants = Grants::default();
            part(&mut grants, &scope, &store);
            grants.document().to_value().to_plain_text()
        };
        let own = text(core);
        for granted in ["states/a/*", "states/a/boot/*", "states/_slipway/store"] {
            assert!(own.contains(&format!("arn:aws:s3:::bucket/{granted}\"")), "{granted}: {own}");
        }
        assert!(!own.contains("bucket/states/*") && !own.contains("bucket/*"), "{own}");
        assert!(!text(api_server).contains("s3:"), "{}", text(api_server));
    }
}
