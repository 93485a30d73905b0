//! The permissions that a call needs, as policies name them. The calls of whole lives are compared with those
//! that preflight checks: each change is sent after its permission was checked, and each read was made by a
//! plan before or was checked.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use slipway_testkit::proxy::{Request, Verdict};

use crate::disturbance::Call;
use crate::world::{HIGHLY_AVAILABLE, World};

/// The call that asks for permissions.
const ASKING: &str = "SimulatePrincipalPolicy";
/// AWS' names for the requests of Route 53: the method, a part of the path, and the permission.
const WAYS: &[(&str, &str, &str)] = &[
    ("POST", "/rrset", "ChangeResourceRecordSets"),
    ("GET", "/rrset", "ListResourceRecordSets"),
    ("POST", "/associatevpc", "AssociateVPCWithHostedZone"),
    ("POST", "/disassociatevpc", "DisassociateVPCFromHostedZone"),
    ("POST", "/tags/", "ChangeTagsForResource"),
    ("GET", "/tags/", "ListTagsForResource"),
    ("GET", "/change/", "GetChange"),
    ("GET", "/hostedzonesbyname", "ListHostedZonesByName"),
    ("GET", "/hostedzonesbyvpc", "ListHostedZonesByVPC"),
    ("DELETE", "/hostedzone/", "DeleteHostedZone"),
    ("GET", "/hostedzone/", "GetHostedZone"),
    ("POST", "/hostedzone/", "UpdateHostedZoneComment"),
    ("POST", "/hostedzone", "CreateHostedZone"),
];
/// The permissions that creating calls with tags need in addition.
const TAGGING: &[(&str, &str, &str)] = &[
    ("elasticloadbalancing", "Create", "elasticloadbalancing:AddTags"),
    ("autoscaling", "CreateAutoScalingGroup", "autoscaling:CreateOrUpdateTags"),
    ("iam", "CreateRole", "iam:TagRole"),
    ("iam", "CreateInstanceProfile", "iam:TagInstanceProfile"),
    ("iam", "CreateOpenIDConnectProvider", "iam:TagOpenIDConnectProvider"),
    ("sqs", "CreateQueue", "sqs:TagQueue"),
    ("events", "PutRule", "events:TagResource"),
];

/// Questions of the preflight itself, which it asks beside the one for permissions. Without an answer it has no finding.
const OF_PREFLIGHT: &[&str] = &["servicequotas:GetServiceQuota"];

/// The checked permissions, and the calls.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The permissions that were checked last.
    asked: BTreeSet<String>,
    /// Reads that were made so far, whether they had been checked or not.
    made: BTreeSet<String>,
    /// Reads that were made before the last check.
    seen: BTreeSet<String>,
    /// The permissions that the calls since then needed, each with the call.
    needed: BTreeSet<(String, String)>,
}

impl Ledger {
    /// Takes down a call. The answer to one that asks for permissions is that all are granted.
    pub fn take(&mut self, call: &Call, request: &Request) -> Option<Verdict> {
        if call.action == ASKING {
            self.asked = asked(request);
            self.needed.clear();
            self.seen.clone_from(&self.made);
            return Some(granted(&self.asked));
        }
        for permission in needed(call, request) {
            let is_asked = self.asked.contains(&permission) || OF_PREFLIGHT.contains(&permission.as_str());
            if !is_asked && (call.changes() || !self.seen.contains(&permission)) {
                self.needed.insert((permission.clone(), call.action.clone()));
            }
            if !call.changes() {
                self.made.insert(permission);
            }
        }
        None
    }

    /// Checks that all calls since the last preflight needed only checked permissions.
    pub fn check(&mut self) -> Result<()> {
        ensure!(!self.asked.is_empty(), "no permission was asked for");
        let undeclared = std::mem::take(&mut self.needed);
        ensure!(undeclared.is_empty(), "permissions that the preflight did not ask for: {undeclared:#?}");
        Ok(())
    }
}

/// The permissions that a call needs.
fn needed(call: &Call, request: &Request) -> BTreeSet<String> {
    let body = String::from_utf8_lossy(&request.body);
    let path = request.target.split('?').next().unwrap_or_default();
    let own = match call.service.as_str() {
        "sts" => return BTreeSet::new(),
        "s3" => return of_object(request),
        "route53" => {
            let way = WAYS.iter().find(|(method, part, _)| request.method == *method && path.contains(part));
            way.map_or_else(|| format!("{} {path}", request.method), |(.., name)| (*name).to_owned())
        }
        _ => call.action.clone(),
    };
    let mut permissions = BTreeSet::from([format!("{}:{own}", call.service)]);
    let has = |field: &str| body.starts_with(field) || body.contains(&format!("&{field}"));
    if call.service == "ec2" && has("TagSpecification.") {
        permissions.insert("ec2:CreateTags".to_owned());
    }
    let has_tags = has("Tags.") || body.contains("\"Tags\"") || body.contains("\"tags\"");
    let tagging = TAGGING.iter().filter(|(service, action, _)| {
        has_tags && call.service == *service && call.action.starts_with(action)
    });
    permissions.extend(tagging.map(|(.., permission)| (*permission).to_owned()));
    if call.action == "CreateRole" && has("PermissionsBoundary") {
        permissions.insert("iam:PutRolePermissionsBoundary".to_owned());
    }
    let launches = call.action == "CreateAutoScalingGroup"
        || call.action == "UpdateAutoScalingGroup"
            && (has("LaunchTemplate.") || has("MixedInstancesPolicy."));
    if launches {
        permissions.insert("ec2:RunInstances".to_owned());
    }
    if launches || call.action == "AddRoleToInstanceProfile" {
        permissions.insert("iam:PassRole".to_owned());
    }
    permissions
}

fn of_object(request: &Request) -> BTreeSet<String> {
    let names: &[&str] = match request.method.as_str() {
        "PUT" if request.header("x-amz-copy-source").is_some() => &["GetObject", "PutObject"],
        "PUT" if request.header("x-amz-acl").is_some() => &["PutObject", "PutObjectAcl"],
        "PUT" => &["PutObject"],
        "DELETE" => &["DeleteObject"],
        _ => &["GetObject"],
    };
    names.iter().map(|name| format!("s3:{name}")).collect()
}

/// The actions in a question.
fn asked(request: &Request) -> BTreeSet<String> {
    let body = String::from_utf8_lossy(&request.body);
    let values = body.split('&').filter(|field| field.starts_with("ActionNames."));
    values.filter_map(|field| Some(field.split_once('=')?.1.replace("%3A", ":"))).collect()
}

fn granted(actions: &BTreeSet<String>) -> Verdict {
    let member = |action: &String| {
        format!(
            "<member><EvalActionName>{action}</EvalActionName><EvalResourceName>*</EvalResourceName>\
             <EvalDecision>allowed</EvalDecision></member>"
        )
    };
    let body = format!(
        "<SimulatePrincipalPolicyResponse xmlns=\"https://iam.amazonaws.com/doc/2010-05-08/\">\
         <SimulatePrincipalPolicyResult><IsTruncated>false</IsTruncated><EvaluationResults>{}</EvaluationResults>\
         </SimulatePrincipalPolicyResult></SimulatePrincipalPolicyResponse>",
        actions.iter().map(member).collect::<String>()
    );
    let headers = vec![("Content-Type".to_owned(), "text/xml".to_owned())];
    Verdict::Answer { status: 200, headers, body: body.into_bytes() }
}

/// A cluster with everything that kOps has: created, changed with a roll, and deleted.
pub fn every_call_was_asked_for() -> Result<()> {
    let world = World::new()?;
    world.spec(HIGHLY_AVAILABLE)?;
    world.apply()?;
    let (before, pool) = HIGHLY_AVAILABLE.split_once("name: nodes-us-east-1a,").context("no such pool")?;
    let larger = pool.replacen("machineType: t3.medium", "machineType: t3.large", 1);
    ensure!(larger != pool, "the spec has no such machines");
    world.spec(&format!("{before}name: nodes-us-east-1a,{larger}"))?;
    world.apply()?;
    world.delete()?;
    world.is_empty()
}
