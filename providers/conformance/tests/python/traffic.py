"""Load balancers of Services and routes to pods. They are kept in the file of the cloud."""

from slipway.provider.v1alpha1 import provider_pb2 as pb
from slipway.provider.v1alpha1 import provider_pb2_grpc as rpc

from failures import Refused, answering

PROVIDER_ID = "python:///"


def seen(session, part):
    """A part of the cloud, for a session that may read it."""
    if session.blind:
        raise Refused(pb.ERROR_CLASS_PERMISSION, "the session may not read", permission=pb.Permission(action="read"))
    return session.cloud.look(part)


def has_instance(objects, provider_id):
    thing = objects.get(provider_id.removeprefix(PROVIDER_ID))
    return thing is not None and thing["address"].startswith("python_share.")


class LoadBalancers(rpc.LoadBalancersServicer):
    def __init__(self, session):
        self.session = session

    @staticmethod
    def name(key):
        return f"{key.cluster}/{key.name}"

    @staticmethod
    def shown(balancer):
        return pb.LoadBalancer(ingress=[pb.BalancerIngress(ip=balancer["ip"], ip_mode="VIP")])

    @answering(pb.GetLoadBalancerResponse)
    def GetLoadBalancer(self, request):
        balancer = seen(self.session(request), "balancers").get(self.name(request.key))
        if balancer is None:
            return pb.GetLoadBalancerResponse(absent=pb.Absent())
        return pb.GetLoadBalancerResponse(present=self.shown(balancer))

    @answering(pb.EnsureLoadBalancerResponse)
    def EnsureLoadBalancer(self, request):
        def make(data):
            balancers = data.setdefault("balancers", {})
            name = self.name(request.key)
            if name not in balancers:
                data["made"] += 1
                # A range for benchmarks (RFC 2544).
                balancers[name] = {"ip": f"198.18.{data['made'] // 256}.{data['made'] % 256}"}
            balancers[name]["nodes"] = [node.node for node in request.nodes]
            return balancers[name]

        made = self.session(request).cloud.change(make)
        return pb.EnsureLoadBalancerResponse(load_balancer=self.shown(made))

    @answering(pb.UpdateLoadBalancerResponse)
    def UpdateLoadBalancer(self, request):
        def update(data):
            balancer = data.get("balancers", {}).get(self.name(request.key))
            if balancer is None:
                raise Refused(pb.ERROR_CLASS_NOT_FOUND, "there is no such load balancer")
            balancer["nodes"] = [node.node for node in request.nodes]

        self.session(request).cloud.change(update)
        return pb.UpdateLoadBalancerResponse()

    @answering(pb.DeleteLoadBalancerResponse)
    def DeleteLoadBalancer(self, request):
        name = self.name(request.key)
        self.session(request).cloud.change(lambda data: data.get("balancers", {}).pop(name, None))
        return pb.DeleteLoadBalancerResponse()


class Routes(rpc.RoutesServicer):
    def __init__(self, session):
        self.session = session

    @answering(pb.ListRoutesResponse)
    def ListRoutes(self, request):
        session = self.session(request)
        routes = seen(session, "routes").get(request.cluster, {})
        objects = session.cloud.look()
        answer = pb.ListRoutesResponse()
        for destination, provider_id in sorted(routes.items()):
            target = pb.NodeReference(provider_id=provider_id)
            blackhole = not has_instance(objects, provider_id)
            route = pb.Route(name=destination, destination=destination, target=target, blackhole=blackhole)
            answer.routes.append(route)
        return answer

    @answering(pb.CreateRouteResponse)
    def CreateRoute(self, request):
        def create(data):
            target = request.target.provider_id
            if not has_instance(data["objects"], target):
                raise Refused(pb.ERROR_CLASS_NOT_FOUND, f"there is no instance {target}")
            routes = data.setdefault("routes", {}).setdefault(request.cluster, {})
            if routes.setdefault(request.destination, target) != target:
                raise Refused(pb.ERROR_CLASS_CONFLICT, f"{request.destination} has another target")

        self.session(request).cloud.change(create)
        return pb.CreateRouteResponse()

    @answering(pb.DeleteRouteResponse)
    def DeleteRoute(self, request):
        def delete(data):
            data.get("routes", {}).get(request.cluster, {}).pop(request.route.destination, None)

        self.session(request).cloud.change(delete)
        return pb.DeleteRouteResponse()
