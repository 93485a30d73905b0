//! Where images come from.

use serde_json::Value;

/// Lets all containers of an object take their images from a registry that has copies of them: the registry's name
/// replaces that of the image's own.
pub(crate) fn from_registry(object: &mut Value, registry: &str) {
    let Some(pod) = object.pointer_mut("/spec/template/spec") else { return };
    for list in ["initContainers", "containers"] {
        let Some(containers) = pod.get_mut(list).and_then(Value::as_array_mut) else { continue };
        for container in containers {
            if let Some(image) = container.get("image").and_then(Value::as_str) {
                container["image"] = copied(image, registry).into();
            }
        }
    }
}

/// The name of an image's copy.
fn copied(image: &str, registry: &str) -> String {
    let registry = registry.trim_end_matches('/');
    if image.starts_with(&format!("{registry}/")) {
        return image.to_owned();
    }
    let is_registry = |first: &str| first.contains(['.', ':']) || first == "localhost";
    let path = match image.split_once('/') {
        Some((first, path)) if is_registry(first) => path,
        _ => image,
    };
    format!("{registry}/{path}")
}

#[cfg(test)]
mod tests {
    use super::copied;

    #[test]
    fn the_registry_replaces_that_of_the_image() {
        assert_eq!(
            copied("registry.k8s.io/coredns/coredns:v1", "r.example.com/a/"),
            "r.example.com/a/coredns/coredns:v1"
        );
        assert_eq!(copied("localhost:5000/a", "r.example.com"), "r.example.com/a");
        assert_eq!(copied("library/a:1", "r.example.com"), "r.example.com/library/a:1");
        assert_eq!(copied("r.example.com/a:1", "r.example.com"), "r.example.com/a:1");
    }
}
