//! Grants, gathered from the parts of a cluster and written with as few statements as they need.

use std::collections::{BTreeMap, BTreeSet};

use super::document::{Conditions, Document, Statement, Text};

/// The values in ARNs and conditions of a policy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scope<'a> {
    /// The cluster's name, which its objects carry as the tag `KubernetesCluster`.
    pub(crate) cluster: &'a str,
    /// As `aws` or `aws-cn`.
    pub(crate) partition: &'a str,
    /// The region's name.
    pub(crate) region: &'a str,
}

impl Scope<'_> {
    /// Every object of an EC2 type in any region and account, as ARN.
    pub(crate) fn ec2(&self, kind: &str) -> String {
        format!("arn:{}:ec2:*:*:{kind}/*", self.partition)
    }
}

/// The condition of a grant.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Condition(Conditions);

impl Condition {
    /// Nothing.
    pub(crate) fn none() -> Self {
        Self::default()
    }

    /// The object carries the cluster's tag.
    pub(crate) fn tagged(scope: &Scope<'_>) -> Self {
        Self::none().and("StringEquals", "aws:ResourceTag/KubernetesCluster", [scope.cluster])
    }

    /// The request gives the object the cluster's tag.
    pub(crate) fn tagging(scope: &Scope<'_>) -> Self {
        Self::none().and("StringEquals", "aws:RequestTag/KubernetesCluster", [scope.cluster])
    }

    /// Adds one more.
    pub(crate) fn and<'a>(
        mut self,
        operator: &str,
        key: &str,
        values: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let values = values.into_iter().map(str::to_owned);
        self.0.entry(operator.to_owned()).or_default().entry(key.to_owned()).or_default().extend(values);
        self
    }
}

/// Actions by the resource and the condition for which they are granted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Grants {
    by_target: BTreeMap<(Condition, Text), BTreeSet<String>>,
}

impl Grants {
    /// Allows actions, given as `ec2:DescribeInstances`, on resources under a condition.
    pub(crate) fn allow<'a, R: Into<Text>>(
        &mut self,
        resources: impl IntoIterator<Item = R>,
        condition: &Condition,
        actions: impl IntoIterator<Item = &'a str>,
    ) {
        let actions: Vec<&str> = actions.into_iter().collect();
        for resource in resources {
            self.by_target
                .entry((condition.clone(), resource.into()))
                .or_default()
                .extend(actions.iter().map(|action| (*action).to_owned()));
        }
    }

    /// Allows actions on everything, where the service knows no narrower resource.
    pub(crate) fn anywhere<'a>(&mut self, actions: impl IntoIterator<Item = &'a str>) {
        self.allow(["*"], &Condition::none(), actions);
    }

    /// Allows actions on objects that carry the cluster's tag.
    pub(crate) fn tagged<'a>(&mut self, scope: &Scope<'_>, actions: impl IntoIterator<Item = &'a str>) {
        self.allow(["*"], &Condition::tagged(scope), actions);
    }

    /// Allows actions whose requests set the cluster's tag.
    pub(crate) fn tagging<'a>(&mut self, scope: &Scope<'_>, actions: impl IntoIterator<Item = &'a str>) {
        self.allow(["*"], &Condition::tagging(scope), actions);
    }

    /// Allows tags on objects of EC2: all tags in the call that creates the object, later any but the
    /// cluster's.
    pub(crate) fn tags_of(&mut self, scope: &Scope<'_>, kinds: &[&str], creating: &[&str]) {
        let resources: Vec<String> = kinds.iter().map(|kind| scope.ec2(kind)).collect();
        let at_creation =
            Condition::tagging(scope).and("StringEquals", "ec2:CreateAction", creating.iter().copied());
        self.allow(resources.clone(), &at_creation, ["ec2:CreateTags"]);
        let later = Condition::tagged(scope).and("Null", "aws:RequestTag/KubernetesCluster", ["true"]);
        self.allow(resources, &later, ["ec2:CreateTags", "ec2:DeleteTags"]);
    }

    /// The document. Resources with the same actions under the same condition share a statement.
    pub(crate) fn document(self) -> Document {
        let mut merged: BTreeMap<(Condition, BTreeSet<String>), Vec<Text>> = BTreeMap::new();
        for ((condition, resource), actions) in self.by_target {
            merged.entry((condition, actions)).or_default().push(resource);
        }
        let statements = merged
            .into_iter()
            .map(|((condition, actions), resources)| Statement {
                principal: None,
                actions,
                resources,
                conditions: condition.0,
            })
            .collect();
        Document { statements }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCOPE: Scope<'static> =
        Scope { cluster: "a.example.com", partition: "aws-cn", region: "cn-north-1" };

    #[test]
    fn what_is_granted_twice_is_written_once() {
        let mut grants = Grants::default();
        grants.anywhere(["ec2:DescribeInstances", "ec2:DescribeTags"]);
        grants.anywhere(["ec2:DescribeInstances"]);
        grants.tagged(&SCOPE, ["ec2:AttachVolume"]);
        let document = grants.document();
        assert_eq!(document.statements.len(), 2);
        assert_eq!(document.statements[0].actions.len(), 2);
    }

    #[test]
    fn resources_with_the_same_actions_share_a_statement() {
        let mut grants = Grants::default();
        grants.tags_of(&SCOPE, &["volume", "snapshot"], &["CreateVolume"]);
        let document = grants.document();
        assert_eq!(document.statements.len(), 2);
        assert!(document.statements.iter().all(|statement| statement.resources.len() == 2));
        assert!(document.to_value().as_str().unwrap().contains("arn:aws-cn:ec2:*:*:snapshot/*"));
    }
}
