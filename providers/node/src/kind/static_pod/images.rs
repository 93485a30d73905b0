//! Images are pulled before a manifest changes: a pod without its image would stop the old pod and not start.

use std::collections::BTreeSet;
use std::time::Duration;

use slipway_resource::{ErrorClass, ProviderError};

use super::manifest::Manifest;
use crate::cri::Runtime;
use crate::kind::Work;

/// How long pulling one image may take.
const PULL: Duration = Duration::from_secs(600);
/// How often a pull is tried, and the pause between attempts.
const ATTEMPTS: u32 = 3;
const PAUSE: Duration = Duration::from_secs(2);

/// The images that a manifest needs beyond those of the one before.
pub(super) fn new_ones(wanted: &Manifest, there: &Manifest) -> BTreeSet<String> {
    wanted.images.difference(&there.images).cloned().collect()
}

/// Makes sure that images are on the node, and pulls missing ones.
///
/// # Errors
/// When an image cannot be pulled: with its name, and the runtime's message.
pub(super) async fn need(
    work: &Work,
    runtime: &mut Runtime,
    images: &BTreeSet<String>,
) -> Result<(), ProviderError> {
    for image in images {
        if runtime.has_image(image).await? {
            continue;
        }
        work.tell(format!("pulls the image {image}"));
        let mut attempt = 1;
        while let Err(why) = runtime.pull_image(image, PULL).await {
            if attempt == ATTEMPTS {
                return Err(missing(work, image, &why));
            }
            attempt += 1;
            work.pause(PAUSE).await?;
        }
        if !runtime.has_image(image).await? {
            return Err(missing(work, image, "it is not there after it was pulled"));
        }
    }
    Ok(())
}

/// The error for a change of a manifest while the runtime does not answer.
pub(super) fn unverified(images: &BTreeSet<String>) -> ProviderError {
    let images: Vec<&str> = images.iter().map(String::as_str).collect();
    let text = format!(
        "the container runtime does not answer, so that nobody knows whether the image {} is there; the manifest is left as \
         it is",
        images.join(", ")
    );
    ProviderError::new(ErrorClass::Permanent, text).with_hint("start the container runtime and apply again")
}

fn missing(work: &Work, image: &str, why: &str) -> ProviderError {
    let text = format!("the image {image} cannot be had, and {} is left as it is: {why}", work.identity());
    ProviderError::new(ErrorClass::Permanent, text).with_hint(format!(
        "check the version and the image repository in the spec, let the host reach the registry, or put the image there \
         yourself (`ctr -n k8s.io images import FILE`, `crictl pull {image}`); then apply again"
    ))
}
