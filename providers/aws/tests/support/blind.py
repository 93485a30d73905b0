# The role `blind` may not read. Follows the patches.

import re  # noqa: E402

from moto.sts.models import sts_backends  # noqa: E402

REFUSALS = {
    "ec2": "<Response><Errors><Error><Code>UnauthorizedOperation</Code><Message>no</Message></Error></Errors>"
    "<RequestID>1</RequestID></Response>",
    "elasticloadbalancing": '<ErrorResponse xmlns="http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/"><Error>'
    "<Type>Sender</Type><Code>AccessDenied</Code><Message>no</Message></Error><RequestId>1</RequestId></ErrorResponse>",
}


class Blind:
    def __init__(self, application):
        self.application = application

    def __call__(self, environment, start_response):
        scope = re.search("Credential=([^/]+)/[^/]+/[^/]+/([^/]+)/", environment.get("HTTP_AUTHORIZATION", ""))
        key, service = scope.groups() if scope else (None, None)
        role = sts_backends["123456789012"]["aws"].get_assumed_role_from_access_key(key)
        if service not in REFUSALS or role is None or not role.role_arn.endswith(":role/blind"):
            return self.application(environment, start_response)
        start_response("403 Forbidden", [("Content-Type", "text/xml")])
        return [REFUSALS[service].encode()]


mend_with_eyes = mend_application  # noqa: F821, from the module before this one


def mend_application(application):
    return Blind(mend_with_eyes(application))
