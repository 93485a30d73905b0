use std::collections::BTreeMap;

use slipway_resource::{Attribute, Names, Type};

/// The form of `provider.config`.
#[must_use]
pub fn cluster_schema() -> BTreeMap<String, Attribute> {
    let text = || Attribute::optional(Type::String);
    let texts = || Attribute::optional(Type::list(Type::String));
    let flag = || Attribute::optional(Type::Bool);
    let subnet = Type::object([
        ("name", Attribute::required(Type::String)),
        ("allocationId", text().describe("An existing elastic address, by its allocation's id.")),
        ("privateIPv4Address", text().describe("The private address.")),
    ]);
    let balancer = Type::object([
        ("securityGroupOverride", text().describe("An existing security group in place of its own, by id.")),
        ("subnets", Attribute::optional(Type::list(subnet)).describe("The subnets, with addresses.")),
        ("useForInternalApi", flag().describe("Whether nodes reach the API servers through it too.")),
    ]);
    let permissions = Type::object([
        ("name", Attribute::required(Type::String)),
        ("namespace", Attribute::required(Type::String)),
        ("aws", Attribute::optional(Type::object([("policyARNs", texts()), ("inlinePolicy", text())]))),
    ]);
    let iam = Type::object([
        ("allowContainerRegistry", flag().describe("Whether nodes may pull from the account's registry.")),
        ("permissionsBoundary", text().describe("The boundary of every role, by ARN.")),
        (
            "useServiceAccountExternalPermissions",
            flag().describe("Whether service accounts have roles of their own."),
        ),
        ("serviceAccountExternalPermissions", Attribute::optional(Type::list(permissions))),
    ]);
    let discovery = Type::object([
        ("enableAWSOIDCProvider", flag().describe("Whether the account trusts the issuer of tokens.")),
        ("additionalAudiences", texts().describe("Further audiences of tokens.")),
        ("keys", text().describe("The issuer's public keys, a JSON Web Key Set as text.")),
    ]);
    let own_subnet = Type::object([
        ("name", Attribute::required(Type::String)),
        ("ipv6CIDR", text().describe("Its IPv6 range; /64#3 is the fourth part of the network's.")),
        ("publicIP", text().describe("An existing public address of the zone's NAT gateway.")),
        ("type", text().describe("Public, Private, DualStack or Utility, for its tag.")),
    ]);
    let cluster_api = Type::object([
        ("endpoint", Attribute::required(Type::String).names(Names::Server).describe("Its URL.")),
        (
            "caFile",
            text()
                .names(Names::File)
                .describe("The file with the certificates that it is trusted by, in PEM."),
        ),
        ("tokenFile", text().names(Names::File).describe("The file with the token that opens it.")),
    ]);
    let bastion = Type::object([
        ("bastionPublicName", text().describe("The name under which bastions are reached.")),
        (
            "loadBalancer",
            Attribute::optional(Type::object([("additionalSecurityGroups", texts()), ("type", text())])),
        ),
    ]);
    [
        ("account", text().describe("The account's number; another one is refused.")),
        (
            "profile",
            text()
                .names(Names::Credentials)
                .describe("The profile of the shared configuration and credentials."),
        ),
        ("assumeRole", text().names(Names::Credentials).describe("The role that is assumed, by ARN.")),
        (
            "externalId",
            text().names(Names::Credentials).describe("The external id that the trust policy of this role asks for."),
        ),
        ("endpoint", text().names(Names::Endpoint).describe("The URL of every service, for emulators.")),
        (
            "clusterApi",
            Attribute::optional(cluster_api)
                .describe("The API of a cluster that Slipway did not make, to verify and drain its nodes."),
        ),
        ("disableSubnetTags", flag().describe("Whether subnets get no tags for load balancers.")),
        ("additionalPolicies", Attribute::optional(Type::map(Type::String))),
        ("externalPolicies", Attribute::optional(Type::map(Type::list(Type::String)))),
        ("api", Attribute::optional(Type::object([("loadBalancer", Attribute::optional(balancer))]))),
        ("cloudConfig", Attribute::optional(Type::Any).describe("Settings of the cloud controller.")),
        ("configBase", text().describe("The folder of a bucket with the cluster's secrets and backups.")),
        ("containerd", Attribute::optional(Type::Any).describe("Settings of machines' registries.")),
        ("iam", Attribute::optional(iam).describe("Roles and what they may do.")),
        (
            "keyService",
            text().describe(
                "`kms`: the keys of the cluster are encrypted for a key of KMS too, which control planes use; the default of new \
                 clusters. `none`: the images of control planes have an identity that opens them.",
            ),
        ),
        ("masterPublicName", text().describe("The name of the endpoint of the API servers.")),
        ("nodePortAccess", texts().describe("Address ranges that may reach the ports of NodePort services.")),
        ("serviceAccountIssuerDiscovery", Attribute::optional(discovery)),
        ("subnets", Attribute::optional(Type::list(own_subnet)).describe("Settings of single subnets.")),
        ("topology", Attribute::optional(Type::object([("bastion", Attribute::optional(bastion))]))),
        ("prices", Attribute::optional(Type::Any).describe("A list of prices in place of the built-in one.")),
        (
            "state",
            text().names(Names::Caller).describe(
                "The URL of the state store, from which control planes read the keys of the cluster: said by Slipway, not by specs.",
            ),
        ),
        (
            "leaving",
            flag()
                .names(Names::Caller)
                .describe("Whether the whole cluster goes: said by `slipway delete`, not by specs."),
        ),
        ("kops", Attribute::optional(Type::Any).describe("Fields of a kOps document that Slipway does not have, unchanged.")),
    ]
    .into_iter()
    .map(|(name, attribute)| (name.to_owned(), attribute))
    .collect()
}

/// The form of a pool's `providerConfig`.
#[must_use]
pub fn pool_schema() -> BTreeMap<String, Attribute> {
    let text = || Attribute::optional(Type::String);
    let flag = || Attribute::optional(Type::Bool);
    let number = || Attribute::optional(Type::Integer);
    let texts = || Attribute::optional(Type::list(Type::String));
    let balancer = Type::object([("loadBalancerName", text()), ("targetGroupArn", text())]);
    let metadata = Type::object([("httpTokens", text()), ("httpPutResponseHopLimit", number())]);
    let mix = Type::object([
        ("instanceRequirements", Attribute::optional(Type::Any)),
        ("onDemandAllocationStrategy", text()),
    ]);
    let mount = Type::object([
        ("device", Attribute::required(Type::String)),
        ("filesystem", text()),
        ("formatOptions", texts()),
        ("mountOptions", texts()),
    ]);
    let gpu = Type::object([("enabled", flag())]);
    let runtime = Type::object([("nvidiaGPU", Attribute::optional(gpu))]);
    let warm = Type::object([("additionalImages", texts()), ("lifecycleHookTimeout", number())]);
    [
        ("iam", Attribute::optional(Type::object([("profile", text())]))),
        ("securityGroupOverride", text().describe("An existing security group in place of the role's.")),
        ("tenancy", text().describe("default, dedicated or host.")),
        ("detailedInstanceMonitoring", flag().describe("Whether metrics come every minute.")),
        ("cpuCredits", text().describe("standard or unlimited.")),
        ("instanceMetadata", Attribute::optional(metadata)),
        ("instanceProtection", flag().describe("Whether machines stay when the pool shrinks.")),
        ("maxInstanceLifetime", text().describe("After which time a machine is replaced.")),
        ("externalLoadBalancers", Attribute::optional(Type::list(balancer))),
        ("suspendProcesses", texts().describe("Processes of the group that do not run.")),
        ("capacityRebalance", flag().describe("Whether spot machines at risk are replaced early.")),
        ("compressUserData", flag().describe("Whether the user data is compressed.")),
        ("rootVolumeOptimization", flag().describe("Whether the root volume has bandwidth of its own.")),
        ("spotDurationInMinutes", number().describe("For how long a spot machine is asked for.")),
        ("instanceInterruptionBehavior", text().describe("terminate, stop or hibernate.")),
        ("autoscale", flag().describe("Whether the cluster autoscaler may change the size.")),
        ("autoscalePriority", number().describe("Priority of the pool for the cluster autoscaler.")),
        ("manager", text().describe("CloudGroup or Karpenter.")),
        ("mixedInstancesPolicy", Attribute::optional(mix)),
        ("warmPool", Attribute::optional(warm)),
        ("containerd", Attribute::optional(runtime)),
        ("nodeLabels", Attribute::optional(Type::map(Type::String))),
        ("volumeMounts", Attribute::optional(Type::list(mount))),
        (
            "kops",
            Attribute::optional(Type::Any)
                .describe("Fields of a kOps document that Slipway does not have, unchanged."),
        ),
    ]
    .into_iter()
    .map(|(name, attribute)| (name.to_owned(), attribute))
    .collect()
}
