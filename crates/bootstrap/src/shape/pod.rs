//! `Pod` of the core API, as far as a static pod of the control plane may be patched. Unlisted fields are
//! kept.

use serde_json::Value;

use super::{Field, Shape, always, filled, given};

/// A whole pod.
pub(crate) const POD: Shape = Shape::Object(&[
    always(
        "metadata",
        Shape::Object(&[
            filled("labels", TEXT_MAP),
            filled("annotations", TEXT_MAP),
            filled("finalizers", TEXTS),
            filled("ownerReferences", Shape::Any),
        ]),
    ),
    always("spec", POD_SPEC),
    always("status", Shape::Object(&[])),
]);

/// A Deployment, as far as its pods go.
pub(crate) const DEPLOYMENT: Shape = Shape::Object(&[always(
    "spec",
    Shape::Object(&[always("template", Shape::Object(&[always("spec", POD_SPEC)]))]),
)]);

/// The variables of a container, as kubeadm takes them from a user's document: a field's version is `v1` unless given.
pub(crate) fn environment(variables: &[Value]) -> Value {
    let complete = variables.iter().map(|variable| {
        let mut variable = variable.clone();
        if let Some(field) = variable.pointer_mut("/valueFrom/fieldRef").and_then(Value::as_object_mut) {
            field.entry("apiVersion").or_insert_with(|| "v1".into());
        }
        ENVIRONMENT_VARIABLE.encode(Some(&variable))
    });
    complete.collect()
}

/// The specification of a pod, alone or in a template.
const POD_SPEC: Shape = Shape::Object(&[
    filled("volumes", Shape::List(&VOLUME)),
    filled("initContainers", Shape::List(&CONTAINER)),
    always("containers", Shape::List(&CONTAINER)),
    filled("restartPolicy", Shape::Text),
    given("terminationGracePeriodSeconds", Shape::Number),
    given("activeDeadlineSeconds", Shape::Number),
    filled("dnsPolicy", Shape::Text),
    filled("nodeSelector", TEXT_MAP),
    filled("serviceAccountName", Shape::Text),
    filled("nodeName", Shape::Text),
    filled("hostNetwork", Shape::Bool),
    filled("hostPID", Shape::Bool),
    filled("hostIPC", Shape::Bool),
    given("shareProcessNamespace", Shape::Bool),
    given(
        "securityContext",
        Shape::Object(&[filled("supplementalGroups", Shape::Any), filled("sysctls", Shape::Any)]),
    ),
    filled("imagePullSecrets", Shape::Any),
    filled("hostname", Shape::Text),
    filled("subdomain", Shape::Text),
    filled("schedulerName", Shape::Text),
    filled("tolerations", Shape::Any),
    filled("hostAliases", Shape::Any),
    filled("priorityClassName", Shape::Text),
    given("priority", Shape::Number),
    filled("overhead", QUANTITIES),
    filled("topologySpreadConstraints", Shape::Any),
]);

const TEXTS: Shape = Shape::List(&Shape::Text);
const TEXT_MAP: Shape = Shape::Map(&Shape::Text);
const QUANTITIES: Shape = Shape::Map(&Shape::Quantity);

const CONTAINER: Shape = Shape::Object(CONTAINER_FIELDS);

const CONTAINER_FIELDS: &[Field] = &[
    always("name", Shape::Text),
    filled("image", Shape::Text),
    filled("command", TEXTS),
    filled("args", TEXTS),
    filled("workingDir", Shape::Text),
    filled("ports", Shape::List(&PORT)),
    filled("envFrom", Shape::Any),
    filled("env", Shape::List(&ENVIRONMENT_VARIABLE)),
    always(
        "resources",
        Shape::Object(&[
            filled("limits", QUANTITIES),
            filled("requests", QUANTITIES),
            filled("claims", Shape::Any),
        ]),
    ),
    filled("resizePolicy", Shape::Any),
    filled("volumeMounts", Shape::List(&VOLUME_MOUNT)),
    filled("volumeDevices", Shape::Any),
    given("livenessProbe", PROBE),
    given("readinessProbe", PROBE),
    given("startupProbe", PROBE),
    filled("terminationMessagePath", Shape::Text),
    filled("terminationMessagePolicy", Shape::Text),
    filled("imagePullPolicy", Shape::Text),
    filled("stdin", Shape::Bool),
    filled("stdinOnce", Shape::Bool),
    filled("tty", Shape::Bool),
];

const PORT: Shape = Shape::Object(&[
    filled("name", Shape::Text),
    filled("hostPort", Shape::Number),
    always("containerPort", Shape::Number),
    filled("protocol", Shape::Text),
    filled("hostIP", Shape::Text),
]);

const ENVIRONMENT_VARIABLE: Shape = Shape::Object(&[
    always("name", Shape::Text),
    filled("value", Shape::Text),
    given("valueFrom", Shape::Any),
]);

const VOLUME_MOUNT: Shape = Shape::Object(&[
    always("name", Shape::Text),
    filled("readOnly", Shape::Bool),
    always("mountPath", Shape::Text),
    filled("subPath", Shape::Text),
    filled("subPathExpr", Shape::Text),
]);

const PROBE: Shape = Shape::Object(&[
    filled("initialDelaySeconds", Shape::Number),
    filled("timeoutSeconds", Shape::Number),
    filled("periodSeconds", Shape::Number),
    filled("successThreshold", Shape::Number),
    filled("failureThreshold", Shape::Number),
    given(
        "httpGet",
        Shape::Object(&[
            filled("path", Shape::Text),
            filled("host", Shape::Text),
            filled("scheme", Shape::Text),
            filled("httpHeaders", Shape::Any),
        ]),
    ),
]);

const VOLUME: Shape = Shape::Object(&[
    always("name", Shape::Text),
    given("hostPath", Shape::Object(&[always("path", Shape::Text)])),
    given("emptyDir", Shape::Object(&[filled("medium", Shape::Text), given("sizeLimit", Shape::Quantity)])),
]);
