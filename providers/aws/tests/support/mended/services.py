# Load balancers, queues, identities.

import re

from moto.core.responses import EmptyResult
from moto.elbv2 import models as balancing
from moto.iam import responses as iam_responses
from moto.sqs import models as sqs
from moto.ssm import models as ssm


# Load balancers tell the addresses that they were given.


@wrap(balancing.ELBv2Backend, "create_load_balancer")
def create_load_balancer(original, self, *arguments, **named):
    balancer = original(self, *arguments, **named)
    mappings = named.get("subnet_mappings") or []
    balancer.given = {mapping["SubnetId"]: mapping for mapping in mappings if len(mapping) > 1}
    return balancer


zones_of_balancer = balancing.FakeLoadBalancer.availability_zones.fget


def zones_with_addresses(self):
    zones = zones_of_balancer(self)
    for zone in zones:
        given = getattr(self, "given", {}).get(zone.subnet_id)
        zone.load_balancer_addresses = [given] if given else []
    return zones


balancing.FakeLoadBalancer.availability_zones = property(zones_with_addresses)


# Names of target groups may have two hyphens in a row.


class TwoHyphens:
    def __getattr__(self, name):
        return getattr(re, name)

    @staticmethod
    def match(pattern, text):
        return re.match(pattern.replace("(?!.*--)", ""), text)


balancing.re = TwoHyphens()


# Queues: a policy that is not named stays as it is.


@wrap(sqs.Queue, "_set_attributes")
def set_queue_attributes(original, self, attributes, now=None):
    policy = self.policy if hasattr(self, "_policy_json") else None
    original(self, attributes, now)
    if "Policy" not in attributes:
        self.policy = policy


# OpenID Connect providers: their audiences change.


def change_client_ids(change):
    def method(self):
        provider = self.backend.get_open_id_connect_provider(self._get_param("OpenIDConnectProviderArn"))
        change(provider.client_id_list, self._get_param("ClientID"))
        return EmptyResult()

    return method


def add_client_id(present, wanted):
    if wanted not in present:
        present.append(wanted)


def remove_client_id(present, unwanted):
    if unwanted in present:
        present.remove(unwanted)


iam_responses.IamResponse.add_client_id_to_open_id_connect_provider = change_client_ids(add_client_id)
iam_responses.IamResponse.remove_client_id_from_open_id_connect_provider = change_client_ids(remove_client_id)


# Publishers' images stand under paths that everybody may read.

UBUNTU = "/aws/service/canonical/ubuntu/server/24.04/stable/current/{}/hvm/ebs-gp3/ami-id"
PUBLISHED = {"amd64": "ami-785db401", "arm64": "ami-0e9271c829888680e"}


@wrap(ssm.ParameterDict, "_check_loading_status")
def publish(original, self, key):
    original(self, key)
    if not str(key or "").startswith("/aws/service/canonical/") or getattr(self, "has_published", False):
        return
    self.has_published = True
    for architecture, image in PUBLISHED.items():
        name = UBUNTU.format(architecture)
        nothing = {"description": None, "allowed_pattern": None, "keyid": None}
        parameter = ssm.Parameter(
            account_id=self.account_id,
            name=name,
            value=image,
            parameter_type="String",
            last_modified_date=0,
            version=1,
            data_type="aws:ec2:image",
            **nothing,
        )
        self[name].append(parameter)
