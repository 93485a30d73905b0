//! Changes of a spec, one after the other; the snapshot has the expected plan of each.

/// A change: its name, and what is replaced by what.
pub type Change = (&'static str, &'static [(&'static str, &'static str)]);

pub const SECOND_ZONE: &str = "kind: public, cidr: 172.20.32.0/19 }
      - { name: b, zone: us-east-1b, kind: public, cidr: 172.20.64.0/19 }";

const SPOT: &str = "size: { bounds: { min: 1, max: 4 } } # end
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: spot }
spec: { machineType: t3.medium, image: ami-1e749f67, subnets: [a], spot: { maxPrice: \"0.02\" } }";

const MIXED: &str = "spec: { machineType: t3.medium, image: ami-1e749f67, subnets: [a], size: { fixed: 2 }, mixedInstances: { \
    machineTypes: [t3.medium, t3.large], onDemandBase: 1, onDemandPercentageAboveBase: 0 } }";

const BASTION: &str = "size: { bounds: { min: 1, max: 4 } } # end
---
apiVersion: slipway.dev/v1alpha1
kind: NodePool
metadata: { name: bastion }
spec: { role: bastion, machineType: t3.micro, image: ami-1e749f67, subnets: [a] }";

const MORE_GRANTS: &str = "clusterApi: { endpoint: CLUSTER_API }, additionalPolicies: { node: '[{\"Effect\": \"Allow\", \
    \"Action\": [\"ecr:GetAuthorizationToken\"], \"Resource\": [\"*\"]}]' }";

/// The changes in their order.
pub const CHANGES: &[Change] = &[
    ("a tag on everything", &[("{ team: platform }", "{ team: platform, stage: test }")]),
    ("another value, and one tag less", &[("{ team: platform, stage: test }", "{ team: operations }")]),
    ("more may reach the API", &[("[203.0.113.0/24]", "[203.0.113.0/24, 192.0.2.0/24]")]),
    ("some may not any more", &[("[203.0.113.0/24, 192.0.2.0/24]", "[192.0.2.0/24]")]),
    ("others may log in", &[("[198.51.100.0/24]", "[198.51.100.128/25]")]),
    ("two more workers", &[("size: { fixed: 2 }", "size: { fixed: 4 }")]),
    ("one worker less", &[("size: { fixed: 4 }", "size: { fixed: 3 }")]),
    ("an autoscaler's pool", &[("size: { fixed: 3 }", "size: { bounds: { min: 1, max: 4 } } # end")]),
    ("another kind of machine", &[("machineType: t3.medium", "machineType: t3.large")]),
    ("a larger disk", &[("machineType: t3.large", "machineType: t3.large\n  rootVolume: { sizeGiB: 100 }")]),
    ("another image", &[("\n  image: ami-1e749f67", "\n  image: ami-760aaa0f")]),
    (
        "a label",
        &[("machineType: t3.large", "machineType: t3.large\n  nodeLabels: { example.com/tier: web }")],
    ),
    (
        "a taint",
        &[(
            "machineType: t3.large",
            "machineType: t3.large\n  taints: [{ key: example.com/tier, value: web, effect: NoSchedule }]",
        )],
    ),
    (
        "a second zone",
        &[
            ("zones: [us-east-1a]", "zones: [us-east-1a, us-east-1b]"),
            ("kind: public, cidr: 172.20.32.0/19 }", SECOND_ZONE),
        ],
    ),
    ("workers in both zones", &[("subnets: [a] # workers", "subnets: [a, b]")]),
    (
        "a further range",
        &[("cidr: 172.20.0.0/16", "cidr: 172.20.0.0/16\n    additionalCidrs: [10.1.0.0/16]")],
    ),
    ("a pool of spot machines", &[("size: { bounds: { min: 1, max: 4 } } # end", SPOT)]),
    ("a higher price", &[("0.02", "0.03")]),
    (
        "machines of two kinds in that pool",
        &[(
            "spec: { machineType: t3.medium, image: ami-1e749f67, subnets: [a], spot: { maxPrice: \"0.03\" } }",
            MIXED,
        )],
    ),
    (
        "one pool less",
        &[
            ("\n---\napiVersion: slipway.dev/v1alpha1\nkind: NodePool\nmetadata: { name: spot }\n", ""),
            (MIXED, ""),
        ],
    ),
    ("machines kept warm", &[("# end", "# end\n  warmPool: { minSize: 1, maxSize: 2 }")]),
    ("none kept warm", &[("\n  warmPool: { minSize: 1, maxSize: 2 }", "")]),
    ("a bastion", &[("size: { bounds: { min: 1, max: 4 } } # end", BASTION)]),
    (
        "a port that more may reach",
        &[(
            "clusterApi: { endpoint: CLUSTER_API }",
            "clusterApi: { endpoint: CLUSTER_API }, nodePortAccess: [10.20.30.0/24]",
        )],
    ),
    ("more grants for nodes", &[("clusterApi: { endpoint: CLUSTER_API }", MORE_GRANTS)]),
    ("another pod network", &[("cni: { name: cilium }", "cni: { name: calico }")]),
    ("a patch of Kubernetes", &[("kubernetesVersion: 1.34.2", "kubernetesVersion: 1.34.3")]),
    (
        "a load balancer",
        &[(
            "endpoint: { given: { host: api.minimal.example.com, port: 443 } }",
            "endpoint: { loadBalancer: {} }",
        )],
    ),
    (
        "a load balancer over all zones",
        &[("endpoint: { loadBalancer: {} }", "endpoint: { loadBalancer: { crossZone: true } }")],
    ),
    ("no records", &[("dns: { kind: public, zone: example.com }", "dns: { kind: none }")]),
];
