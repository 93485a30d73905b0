"""Failures of calls, which are parts of answers."""

from slipway.provider.v1alpha1 import provider_pb2 as pb


class Refused(Exception):
    """A failure with its class."""

    def __init__(self, kind, message, address="", **more):
        super().__init__(message)
        self.error = pb.Error(message=message, address=address, **{"class": kind}, **more)


def invalid(message, address=""):
    return Refused(pb.ERROR_CLASS_INVALID, message, address)


def unreadable():
    refused = pb.Error(message="the session may not read", permission=pb.Permission(action="read"))
    setattr(refused, "class", pb.ERROR_CLASS_PERMISSION)
    return refused


def answering(message):
    """A call whose failures are answers."""

    def decorate(call):
        def unary(self, request, context):
            try:
                return call(self, request)
            except Refused as refused:
                return message(error=refused.error)

        def paged(self, request, context):
            yield unary(self, request, context)

        return paged if call.__name__ in PAGED else unary

    return decorate


PAGED = {"Locate", "GetSchema", "Catalog", "Expand", "Discover", "Read", "Plan", "Resume"}
