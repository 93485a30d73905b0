//! The error codes of AWS and their meanings.

/// The meaning of an error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Too many calls; this one had no effect.
    Throttled,
    /// The caller is not authenticated.
    Unauthenticated,
    /// The caller lacks a permission.
    Permission,
    /// There is no such object.
    NotFound,
    /// Such an object exists already, or one with its range or name.
    Conflict,
    /// Other objects depend on it.
    Dependency,
    /// A limit of the account.
    Quota,
    /// Something else is at work on the object; this call had no effect.
    Busy,
    /// The service failed; the call may have had its effect.
    Broken,
    /// The object is not as the call expects it.
    Precondition,
    /// The request is wrong.
    Invalid,
    /// Anything else.
    Other,
}

const EXACT: &[(Fault, &[&str])] = &[
    (
        Fault::Throttled,
        &[
            "BandwidthLimitExceeded",
            "EC2ThrottledException",
            "PriorRequestNotComplete",
            "RequestLimitExceeded",
            "RequestThrottled",
            "RequestThrottledException",
            "SlowDown",
            "ThrottledException",
            "Throttling",
            "ThrottlingException",
            "TooManyRequestsException",
        ],
    ),
    (
        Fault::Unauthenticated,
        &[
            "AuthFailure",
            "ExpiredToken",
            "ExpiredTokenException",
            "IncompleteSignature",
            "InvalidAccessKeyId",
            "InvalidClientTokenId",
            "InvalidSecurity",
            "InvalidToken",
            "MissingAuthenticationToken",
            "RequestExpired",
            "SignatureDoesNotMatch",
            "UnrecognizedClientException",
        ],
    ),
    (
        Fault::Permission,
        &[
            "AccessDenied",
            "AccessDeniedException",
            "Blocked",
            "Client.UnauthorizedOperation",
            "KMSAccessDeniedException",
            "NotAuthorized",
            "OptInRequired",
            "PendingVerification",
            "UnauthorizedOperation",
        ],
    ),
    (
        Fault::NotFound,
        &[
            "AWS.SimpleQueueService.NonExistentQueue",
            "Gateway.NotAttached",
            "InvalidAMIID.Unavailable",
            "ListenerNotFound",
            "LoadBalancerNotFound",
            "NatGatewayNotFound",
            "NoSuchBucket",
            "NoSuchEntity",
            "NoSuchHostedZone",
            "NoSuchKey",
            "ParameterNotFound",
            "QueueDoesNotExist",
            "ResourceNotFoundException",
            "RuleNotFound",
            "TargetGroupNotFound",
            "VPCAssociationNotFound",
        ],
    ),
    (
        Fault::Conflict,
        &[
            "AlreadyExists",
            "AlreadyExistsException",
            "AlreadyExistsFault",
            "BucketAlreadyExists",
            "BucketAlreadyOwnedByYou",
            "CidrConflict",
            "ConflictingDomainExists",
            "DuplicateListener",
            "DuplicateLoadBalancerName",
            "DuplicateTargetGroupName",
            "EntityAlreadyExists",
            "HostedZoneAlreadyExists",
            "InvalidSubnet.Conflict",
            "InvalidVpc.Range.Conflict",
            "QueueAlreadyExists",
            "QueueNameExists",
            "Resource.AlreadyAssociated",
            "ResourceAlreadyExistsException",
            "RouteAlreadyExists",
        ],
    ),
    (
        Fault::Dependency,
        &[
            "DeleteConflict",
            "DependencyViolation",
            "HostedZoneNotEmpty",
            "InvalidGroup.InUse",
            "InvalidIPAddress.InUse",
            "ResourceInUse",
            "ResourceInUseException",
            "ResourceInUseFault",
            "VolumeInUse",
        ],
    ),
    (
        Fault::Quota,
        &[
            "LimitExceeded",
            "LimitExceededException",
            "MaxIOPSLimitExceeded",
            "RouteLimitExceeded",
            "TagLimitExceeded",
        ],
    ),
    (
        Fault::Busy,
        &[
            "AWS.SimpleQueueService.QueueDeletedRecently",
            "ConcurrentModification",
            "ConcurrentModificationException",
            "EntityTemporarilyUnmodifiable",
            "OperationAborted",
            "QueueDeletedRecently",
            "ResourceContention",
            "ResourceContentionFault",
            "ScalingActivityInProgress",
            "ScalingActivityInProgressFault",
        ],
    ),
    (
        Fault::Broken,
        &[
            "InternalError",
            "InternalException",
            "InternalFailure",
            "InternalServerError",
            "InternalServiceError",
            "KMSInternalException",
            "KeyUnavailableException",
            "RequestTimeout",
            "RequestTimeoutException",
            "ServerInternal",
            "ServiceFailure",
            "ServiceUnavailable",
            "ServiceUnavailableException",
            "Unavailable",
        ],
    ),
    (Fault::Invalid, &["IncorrectKeyException"]),
    (Fault::Precondition, &["ConditionalRequestConflict", "PreconditionFailed"]),
];

/// Suffixes of codes whose families are too large to list.
const ENDINGS: &[(Fault, &[&str])] = &[
    (Fault::NotFound, &[".NotFound", ".NotFoundException", "NotFoundException", "NotFoundFault"]),
    (Fault::Conflict, &[".Duplicate", ".AlreadyExistsException", ".AlreadyExists"]),
    (Fault::Quota, &["LimitExceeded", "LimitExceededException", "QuotaExceeded"]),
];

/// Prefixes of codes whose families are too large to list.
const BEGINNINGS: &[(Fault, &[&str])] = &[
    (Fault::Quota, &["TooMany"]),
    (
        Fault::Invalid,
        &["Invalid", "Malformed", "Missing", "Unknown", "Unsupported", "Validation", "Idempotent"],
    ),
];

/// The meaning of a code; for an unknown code, that of the HTTP status.
pub(crate) fn fault_of(code: &str, status: u16) -> Fault {
    let exact = EXACT.iter().find(|(_, codes)| codes.contains(&code));
    let ending = || ENDINGS.iter().find(|(_, ends)| ends.iter().any(|end| code.ends_with(end)));
    let beginning =
        || BEGINNINGS.iter().find(|(_, begins)| begins.iter().any(|begin| code.starts_with(begin)));
    match exact.or_else(ending).or_else(beginning) {
        Some((fault, _)) => *fault,
        None => match status {
            429 => Fault::Throttled,
            401 => Fault::Unauthenticated,
            403 => Fault::Permission,
            404 => Fault::NotFound,
            412 => Fault::Precondition,
            500.. => Fault::Broken,
            _ => Fault::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_their_class() {
        for (code, fault) in [
            ("RequestLimitExceeded", Fault::Throttled),
            ("VpcLimitExceeded", Fault::Quota),
            ("TooManyRequestsException", Fault::Throttled),
            ("TooManyTargetGroups", Fault::Quota),
            ("InvalidVpcID.NotFound", Fault::NotFound),
            ("InvalidPermission.Duplicate", Fault::Conflict),
            ("InvalidParameterValue", Fault::Invalid),
            ("DependencyViolation", Fault::Dependency),
            ("InternalError", Fault::Broken),
            ("InvalidLaunchTemplateName.AlreadyExistsException", Fault::Conflict),
        ] {
            assert_eq!(fault_of(code, 400), fault, "{code}");
        }
    }

    #[test]
    fn a_new_code_goes_by_its_status() {
        assert_eq!(fault_of("Whatever", 503), Fault::Broken);
        assert_eq!(fault_of("Whatever", 400), Fault::Other);
        assert_eq!(fault_of("", 429), Fault::Throttled);
    }
}
