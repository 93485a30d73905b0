//! The rules of the contract, in the order of `docs/design/provider-contract.md`.

use futures_util::future::BoxFuture;

use crate::bench::Bench;
use crate::checks::{
    acting, balancing, desiring, ending, evolving, finding, instances, keys, lifecycle, looking, planning,
    reading, routing, secrecy,
};
use crate::stop::Checked;
use crate::suite::Suite;

/// One rule.
#[derive(Debug)]
pub struct Rule {
    /// Its name.
    pub id: &'static str,
    /// Whether every provider has to keep it.
    pub mandatory: bool,
    /// The requirement, in one sentence.
    pub text: &'static str,
    pub(crate) check: Check,
}

/// How a rule is proved.
#[derive(Debug)]
pub(crate) enum Check {
    /// With processes of its own.
    Process(for<'a> fn(&'a Suite) -> BoxFuture<'a, Checked>),
    /// With a session in a new place.
    Session(for<'a> fn(&'a mut Bench<'_>) -> BoxFuture<'a, Checked>),
}

macro_rules! rules {
    ($($kind:ident $id:literal $mandatory:ident $check:path, $text:literal;)*) => {
        /// All rules.
        pub static RULES: &[Rule] = &[$(Rule {
            id: $id,
            mandatory: rules!($mandatory),
            text: $text,
            check: Check::$kind(|subject| Box::pin($check(subject))),
        }),*];
    };
    (must) => { true };
    (should) => { false };
}

rules! {
    Process "handshake" must lifecycle::handshake,
        "The process announces itself within ten seconds with one line of at most 8 kB that repeats the nonce and names a socket in the directory it was given.";
    Process "ends-with-stdin" must lifecycle::ends_with_stdin,
        "The process ends by itself soon after its standard input closes.";
    Process "info" must lifecycle::info,
        "GetInfo gives the name and version of the announcement, a batch of at least one, and rate classes that let calls through.";
    Process "schema-stable" must lifecycle::schema_stable,
        "The schema and its digest are the same in every call and every process of one version.";
    Process "schema-lint" must lifecycle::schema_lint,
        "Types and attributes are well formed, described, and refer to rate classes, types and attributes that exist.";
    Process "capabilities" must lifecycle::capabilities,
        "GetInfo declares the optional parts of the contract that the provider has, the same in every process, and each declared part works.";
    Process "config-validated" must lifecycle::config_validated,
        "ValidateConfig finds nothing in a good configuration and something in a bad one.";
    Process "offline" must lifecycle::offline,
        "An offline session opens without credentials, and plans.";
    Session "sessions-isolated" must lifecycle::sessions_isolated,
        "Sessions at different places see nothing of each other, and the end of one leaves the other alone.";
    Session "catalog-digest" must desiring::catalog_digest,
        "A catalog carries the digest of its data, and stays the same while the cloud does.";
    Session "expand-pure" must desiring::expand_pure,
        "Expand gives the same answer for the same input, byte for byte.";
    Session "expand-order" must desiring::expand_order,
        "Expand does not depend on an order that has no meaning.";
    Session "expand-fits" must desiring::expand_fits,
        "What Expand returns is sorted by address, names each address once, refers to what is there, and fits the schema.";
    Session "expand-ignores-unknown" must desiring::expand_ignores_unknown,
        "Expand ignores a field of the cluster that it does not know, and returns a note with the path of the field.";
    Session "expand-must-understand" must desiring::expand_must_understand,
        "Expand refuses a field that it does not know and that `mustUnderstand` names: `invalid`, with the field and the code `PROVIDER0020`.";
    Session "plan-pure" must planning::plan_pure,
        "Plan gives the same answer for the same input, byte for byte, in every session and process.";
    Session "plan-order" must planning::plan_order,
        "Plan gives one answer for each item, in their order, and none depends on its neighbours.";
    Session "plan-idempotent" must planning::plan_idempotent,
        "Normalised values are normalised: planning them changes nothing.";
    Session "plan-keeps-values" must planning::plan_keeps_values,
        "Normalising changes the form of a wanted value, never the value.";
    Session "plan-keeps-texts" must planning::plan_keeps_texts,
        "A normalised text differs from the desired one only in the forms that the schema declares.";
    Session "plan-takes-unknown" must planning::plan_takes_unknown,
        "Plan takes references and unknown values for any attribute, and does not claim to know them.";
    Session "batch" must planning::batch,
        "Ten thousand items go through Plan and Read in batches of the size that GetInfo names.";
    Session "preflight-changes-nothing" must planning::preflight_changes_nothing,
        "Preflight answers, and changes nothing.";
    Session "read-only" must looking::read_only,
        "A session that was opened to look only writes nothing, neither in the cloud nor on the machine of the provider.";
    Session "rehearse" should planning::dry_run,
        "Rehearse answers every item, in their order, with what Plan takes, and changes nothing.";
    Session "ownership" must finding::ownership,
        "A created object is found by Discover under its address at once, or within the consistency window.";
    Session "discover-complete" must finding::discover_complete,
        "Discover returns every object of the cluster, once, sorted by address and identity.";
    Session "discover-one-cluster" must finding::discover_one_cluster,
        "Discover returns no object of another cluster.";
    Session "discover-by-name" must finding::discover_by_name,
        "Discover by a cluster's name finds its objects and tells the unique id in their tags.";
    Session "read-absent" must reading::read_absent,
        "Read answers `absent` for an identity that does not exist; it does not fail.";
    Session "read-order" must reading::read_order,
        "Read gives one answer for each request, in their order.";
    Session "unreadable-is-not-absent" must reading::unreadable_is_not_absent,
        "What cannot be read is unreadable, or the call fails; it is never absent.";
    Session "apply-as-planned" must acting::apply_as_planned,
        "What a create returns, what Read finds and what Plan said agree where Plan knew, and planning again changes nothing.";
    Session "identity-early" must acting::identity_early,
        "The identity of a new object is announced before any waiting is told of, and before the end.";
    Session "token-once" must acting::token_once,
        "A repeated token has one effect and the same answer.";
    Session "update" must acting::update,
        "An update in place changes the object as planned, and keeps its identity.";
    Session "tag" must acting::tag,
        "Tagging moves an object to another address and changes nothing else.";
    Session "operations" must acting::operations,
        "A gate that a type declares can be run.";
    Session "actions-side-by-side" must acting::side_by_side,
        "An action that waits holds up no other.";
    Session "cancel" must acting::cancel,
        "Cancel ends an action that waits, and its answer tells the truth about the object; an unknown token is no error.";
    Session "delete" must ending::delete,
        "A deleted object is gone.";
    Session "delete-vanished" must ending::delete_vanished,
        "Deleting what is gone already succeeds.";
    Session "refuses-unknown" must acting::refuses_unknown,
        "An operation or a type that is not in the schema is refused as `invalid`.";
    Session "invalid-attributes" must acting::invalid_attributes,
        "A create that does not fit the schema is refused as `invalid`, and makes nothing.";
    Session "no-secret-shown" must secrecy::no_secret_shown,
        "The text of a secret is in no answer, event, error, or line of output.";
    Session "resume" must ending::resume,
        "After the death of the provider inside an action, Resume tells the truth about it, once.";
    Session "resume-unsent" must ending::resume_unsent,
        "Resume of an action that never arrived answers `not-done`.";
    Session "upgrade-state" must evolving::upgrade_state,
        "UpgradeState leaves the present version alone, and refuses one that it does not know as `invalid`.";
    Session "import" must evolving::import,
        "Import finds an object by its identity, and answers `not-found` for one that does not exist.";
    Session "locate" should evolving::locate,
        "Locate answers every item, in their order, and never names an object that carries an ownership.";
    Session "keys-round-trip" must keys::round_trip,
        "UnwrapKey returns what WrapKey has wrapped, also in another process; the data key is not seen in what is wrapped.";
    Session "keys-bound" must keys::bound,
        "What was wrapped for one scope, or was changed, or is asked of another key, is refused; a key that does not exist is `not-found`.";
    Session "instances" must instances::found,
        "Instances answers every query, in their order: by provider id, or by name among the instances of one cluster; an instance that does not exist is absent.";
    Session "instances-never-guessed" must instances::never_guessed,
        "The provider id of another cloud, and an instance that may not be read, is never absent.";
    Session "load-balancers" must balancing::made,
        "A load balancer is found as EnsureLoadBalancer returned it, under the name of its own cluster only, and is absent after DeleteLoadBalancer. Both calls may be repeated.";
    Session "load-balancers-never-guessed" must balancing::never_guessed,
        "A load balancer that may not be read is never absent.";
    Session "routes" must routing::made,
        "A created route is listed with its target, in its own cluster only, and is not listed after DeleteRoute. Both calls may be repeated, and a destination keeps its target.";
    Session "routes-never-guessed" must routing::never_guessed,
        "ListRoutes fails if routes may not be read.";
    Session "tells-progress" should acting::tells_progress,
        "An action that waits says so, or gives a handle.";
}
