"""A provider in Python: disks and shares in a file. Written from the .proto file and the schema of the cluster alone, without
the Rust SDK."""

import hashlib
import hmac
import json
import os
import queue
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, sys.argv[1])  # where the test set-up has generated the messages; then follows the schema of the cluster

import grpc  # noqa: E402
from slipway.provider.v1alpha1 import provider_pb2 as pb  # noqa: E402
from slipway.provider.v1alpha1 import provider_pb2_grpc as rpc  # noqa: E402

import traffic  # noqa: E402
from failures import Refused, answering, invalid, unreadable  # noqa: E402

VERSION = "1.0.0"
LIMIT = 64 << 20
COMPUTED, WRITE_ONLY = {"id"}, {"key"}
DEFAULTS = {"python_share": {"mode": "rw"}}


# A toy of a key service: enough to show the contract, and no protection at all.
SERVICE_KEYS = {"main", "other"}


def mask(key, data):
    stream = hashlib.shake_256(key.encode()).digest(len(data))
    return bytes(one ^ other for one, other in zip(data, stream))


def seal(request, masked):
    return hmac.digest(request.key.encode(), request.scope.encode() + b"\n" + masked, "sha256")


# ---- values: what is not plain data stays a message


def read(value):
    """A message as plain data."""
    kind = value.WhichOneof("kind")
    if kind is None:
        return None
    if kind == "list":
        return [read(item) for item in value.list.items]
    if kind == "map":
        return {entry.key: read(entry.value) for entry in value.map.entries}
    if kind in ("bool", "integer", "float", "string"):
        return getattr(value, kind)
    return value


def write(data):
    """Plain data as a message."""
    if data is None:
        return pb.Value()
    if isinstance(data, pb.Value):
        return data
    if isinstance(data, bool):
        return pb.Value(bool=data)
    if isinstance(data, int):
        return pb.Value(integer=data)
    if isinstance(data, float):
        return pb.Value(float=data)
    if isinstance(data, str):
        return pb.Value(string=data)
    if isinstance(data, list):
        return pb.Value(list=pb.ListValue(items=[write(item) for item in data]))
    entries = [pb.MapEntry(key=key, value=write(data[key])) for key in sorted(data) if data[key] is not None]
    return pb.Value(map=pb.MapValue(entries=entries))


UNKNOWN = pb.Value(unknown=pb.Unknown())


# ---- schema


def attribute(name, kind, mode, description, **flags):
    kinds = {
        "string": pb.Type(scalar=pb.SCALAR_STRING),
        "integer": pb.Type(scalar=pb.SCALAR_INTEGER),
        "bool": pb.Type(scalar=pb.SCALAR_BOOL),
        "objects": pb.Type(list=pb.Type(scalar=pb.SCALAR_ANY)),
        "strings": pb.Type(set=pb.Type(scalar=pb.SCALAR_STRING)),
    }
    mode = {"required": pb.MODE_REQUIRED, "optional": pb.MODE_OPTIONAL, "computed": pb.MODE_COMPUTED}[mode]
    return pb.Attribute(name=name, type=kinds[kind], mode=mode, description=description, **flags)


def resource_type(name, description, attributes, operations=()):
    return pb.ResourceType(
        name=name,
        version=1,
        description=description,
        attributes=attributes,
        ownership=pb.OWNERSHIP_KIND_TAGS,
        rate_class="calls",
        idempotent_create=True,
        operations=operations,
    )


SCHEMA = pb.GetSchemaResponse(
    config=[
        attribute("blind", "bool", "optional", "Whether nothing may be read."),
        attribute("directory", "string", "required", "Where the cloud is kept."),
        attribute("disks", "objects", "optional", "The disks of the cluster, each with a name and a size in GiB."),
    ],
    types=[
        resource_type(
            "python_disk",
            "A disk.",
            [
                attribute("id", "string", "computed", "Its identity."),
                attribute("label", "string", "optional", "For people, trimmed.", forms=["space"]),
                attribute("size", "integer", "required", "GiB."),
            ],
        ),
        resource_type(
            "python_share",
            "A disk in the network.",
            [
                attribute("clients", "strings", "optional", "Who may mount it."),
                attribute("delay_ms", "integer", "optional", "Milliseconds until it is up.", immutable=True),
                attribute("disk", "string", "required", "The disk's id.", immutable=True),
                attribute("id", "string", "computed", "Its identity."),
                attribute("key", "string", "optional", "Opens it.", sensitive=True, write_only=True),
                attribute("mode", "string", "optional", "rw or ro.", default=pb.Value(string="rw")),
            ],
            [pb.Operation(name="check", description="Looks whether it is up.", duration_ms=1, read_only=True)],
        ),
    ],
)
TYPES = {kind.name: kind for kind in SCHEMA.types}


def kind_of(address):
    kind = TYPES.get(address.split(".", 1)[0])
    if kind is None:
        raise invalid(f"{address}: there is no such type", address)
    return kind


def checked(address, desired):
    """Attributes as they are kept."""
    kind = kind_of(address)
    names = {a.name for a in kind.attributes}
    for a in kind.attributes:
        if a.mode == pb.MODE_REQUIRED and desired.get(a.name) is None:
            raise invalid(f"{a.name} is required", address)
    unknown = set(desired) - names
    if unknown:
        raise invalid(f"{min(unknown)} is not known", address)
    kept = {**DEFAULTS.get(kind.name, {}), **{k: v for k, v in desired.items() if v is not None}}
    return {name: value for name, value in kept.items() if name not in COMPUTED | WRITE_ONLY}


def plan(item):
    kind = kind_of(item.address)
    if not item.HasField("desired"):
        return pb.Planned(normalised=pb.Value())
    desired, observed = read(item.desired), read(item.observed) if item.HasField("observed") else None
    normalised = dict(DEFAULTS.get(kind.name, {}))
    for name, value in desired.items():
        normalised[name] = value.strip() if name == "label" and isinstance(value, str) else value
    if isinstance(normalised.get("clients"), list) and all(isinstance(c, str) for c in normalised["clients"]):
        normalised["clients"] = sorted(normalised["clients"])
    for name in COMPUTED:
        normalised[name] = observed.get(name, UNKNOWN) if observed else UNKNOWN
    return planned(write(normalised), item)


def planned(normalised, item):
    """An answer; a value that stands in the item already is named and not sent again."""
    for name, same in (("desired", pb.SAME_AS_DESIRED), ("observed", pb.SAME_AS_OBSERVED)):
        if item.HasField(name) and getattr(item, name) == normalised:
            return pb.Planned(normalised_same_as=same)
    return pb.Planned(normalised=normalised)


# ---- the cluster, compared with the schema that this provider was written from


with open(sys.argv[2], encoding="utf-8") as schema_file:
    CLUSTER = json.load(schema_file)
API_VERSION = "provider.slipway.dev/v1alpha1"


def resolved(schema):
    """A schema without references and without "or null"."""
    while True:
        if "$ref" in schema:
            schema = CLUSTER["$defs"][schema["$ref"].removeprefix("#/$defs/")]
        elif "anyOf" in schema:
            schema = next(branch for branch in schema["anyOf"] if branch.get("type") != "null")
        else:
            return schema


def unknown_fields(schema, value, pointer="", path=""):
    """The JSON pointers and paths of the fields that the schema does not have."""
    schema = resolved(schema)
    if isinstance(value, list) and "items" in schema:
        names = [item.get("name") if isinstance(item, dict) else None for item in value]
        for index, item in enumerate(value):
            name = names[index] if names[index] and names[index] not in names[:index] else index
            yield from unknown_fields(schema["items"], item, f"{pointer}/{index}", f"{path}[{name}]")
    if not isinstance(value, dict):
        return
    known = dict(schema.get("properties", {}))
    for branch in schema.get("oneOf", []):
        known.update(branch.get("properties", {}))
    others = schema.get("additionalProperties")
    others = others if isinstance(others, dict) else None
    if not known and others is None:
        return
    for key, item in value.items():
        escaped = key.replace("~", "~0").replace("/", "~1")
        of_key = known.get(key, others)
        at = f"{pointer}/{escaped}"
        if any(character in key for character in ".[]/"):
            name = f"{path}[{key}]"
        else:
            name = f"{path}.{key}" if path else key
        if of_key is None:
            yield at, name
        else:
            yield from unknown_fields(of_key, item, at, name)


def cluster_of(request):
    """The cluster of a request, and a note for each field that is ignored."""
    cluster = json.loads(request.cluster)
    found = cluster.get("apiVersion", API_VERSION)
    if found != API_VERSION:
        raise Refused(pb.ERROR_CLASS_INVALID, f"the cluster has the version `{found}`", code="PROVIDER0021")
    notes = []
    for pointer, path in unknown_fields(CLUSTER, cluster):
        for must in cluster.get("mustUnderstand", []):
            if must == pointer or must.startswith(pointer + "/"):
                message = f"this provider does not know `{path}`, which it must understand"
                raise Refused(pb.ERROR_CLASS_INVALID, message, field=path, code="PROVIDER0020")
        message = f"this version of the provider does not know `{path}` and ignores it"
        notes.append(pb.ExpandNote(field=path, message=message))
    return cluster, notes


# ---- the cloud: one file for a directory


class Cloud:
    def __init__(self, directory, lock):
        self.file, self.lock = os.path.join(directory, "cloud.json"), lock

    def load(self):
        try:
            with open(self.file, encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {"made": 0, "objects": {}}

    def look(self, part="objects"):
        with self.lock:
            return self.load().get(part, {})

    def change(self, change):
        with self.lock:
            data = self.load()
            outcome = change(data)
            draft = self.file + ".draft"
            with open(draft, "w", encoding="utf-8") as file:
                json.dump(data, file)
            os.replace(draft, self.file)
            return outcome


class Session:
    def __init__(self, config, request, lock):
        self.cloud = Cloud(config["directory"], lock)
        self.blind = bool(config.get("blind"))
        self.region, self.offline = request.region, request.offline
        self.running = {}  # token: what stops the action

    def observed(self, identity, thing, address=None):
        return pb.Observed(
            address=address or thing["address"],
            identity=identity,
            token=thing["token"],
            present=write(thing["attributes"]),
        )

    def act(self, request, tell):
        """Carries one action out and returns what it has left."""
        tell(started=pb.Started())
        kind = kind_of(request.address)
        action = request.WhichOneof("action")
        if action == "create":
            return self.create(request, tell)
        identity = getattr(request, action).identity
        if action == "delete":
            self.cloud.change(lambda data: data["objects"].pop(identity, None))
            return pb.Applied()
        if action == "operation":
            if request.operation.name not in {operation.name for operation in kind.operations}:
                raise invalid(f"there is no operation {request.operation.name}", request.address)
            return pb.Applied(identity=identity, attributes=write({"up": True}))

        def alter(data):
            thing = data["objects"].get(identity)
            if thing is None:
                raise Refused(pb.ERROR_CLASS_NOT_FOUND, f"{identity} does not exist", request.address)
            if action == "tag":
                thing.update(uid=request.uid, cluster=request.cluster, address=request.address)
            else:
                new = checked(request.address, read(request.update.desired))
                thing["attributes"] = {**new, "id": identity}
            return pb.Applied(identity=identity, attributes=write(thing["attributes"]))

        return self.cloud.change(alter)

    def create(self, request, tell):
        attributes = checked(request.address, read(request.create.desired))
        stop = self.running.setdefault(request.token, threading.Event())

        def make(data):
            for identity, thing in data["objects"].items():
                if thing["token"] == request.token:
                    return identity
            data["made"] += 1
            identity = f"{request.address.split('.', 1)[0]}-{data['made']}"
            data["objects"][identity] = {
                "uid": request.uid,
                "cluster": request.cluster,
                "address": request.address,
                "token": request.token,
                "up_at": time.time() + attributes.get("delay_ms", 0) / 1000,
                "attributes": {**attributes, "id": identity},
            }
            return identity

        try:
            identity = self.cloud.change(make)
            tell(identity=identity)
            tell(handle=f"start of {identity}")
            return self.wait(identity, stop)
        finally:
            self.running.pop(request.token, None)

    def wait(self, identity, stop):
        thing = self.cloud.look()[identity]
        if stop.wait(max(0, thing["up_at"] - time.time())):
            self.cloud.change(lambda data: data["objects"].pop(identity, None))
            raise Refused(pb.ERROR_CLASS_CANCELLED, "stopped while it started")
        return pb.Applied(identity=identity, attributes=write(thing["attributes"]))

    def resume(self, request):
        action = request.request.WhichOneof("action")
        if action == "create":
            for identity, thing in self.cloud.look().items():
                if thing["token"] == request.request.token:
                    return pb.ResumeResponse(done=self.wait(identity, threading.Event()))
        elif action == "delete" and request.request.delete.identity not in self.cloud.look():
            return pb.ResumeResponse(done=pb.Applied())
        return pb.ResumeResponse(not_done=pb.NotDone())


# ---- the service


class Provider(rpc.ProviderServicer):
    def __init__(self):
        self.lock, self.sessions, self.opened = threading.Lock(), {}, 0
        self.actions = ThreadPoolExecutor(max_workers=64)

    def session(self, request):
        session = self.sessions.get(request.session)
        if session is None:
            raise invalid(f"session `{request.session}` is not open")
        return session

    @answering(pb.GetInfoResponse)
    def GetInfo(self, request):
        classes = [pb.RateClass(name="calls", concurrency=16)]
        capabilities = pb.Capabilities(instances=True, load_balancers=True, routes=True)
        return pb.GetInfoResponse(
            name="python", version=VERSION, rate_classes=classes, batch=2000, capabilities=capabilities
        )

    @answering(pb.GetSchemaResponse)
    def GetSchema(self, request):
        return SCHEMA

    @answering(pb.ValidateConfigResponse)
    def ValidateConfig(self, request):
        return pb.ValidateConfigResponse(problems=problems(read(request.config)))

    @answering(pb.OpenSessionResponse)
    def OpenSession(self, request):
        config = read(request.config)
        found = problems(config)
        if found:
            raise invalid("; ".join(found))
        with self.lock:
            self.opened += 1
            name = str(self.opened)
        self.sessions[name] = Session(config, request, self.lock)
        return pb.OpenSessionResponse(session=name, account="" if request.offline else config["directory"])

    @answering(pb.CloseSessionResponse)
    def CloseSession(self, request):
        self.session(request)
        del self.sessions[request.session]
        return pb.CloseSessionResponse()

    @answering(pb.CancelResponse)
    def Cancel(self, request):
        for token, stop in list(self.session(request).running.items()):
            if not request.HasField("token") or request.token == token:
                stop.set()
        return pb.CancelResponse()

    @answering(pb.CatalogResponse)
    def Catalog(self, request):
        self.session(request)
        data = json.dumps({"sizes": [1, 10]}, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        return pb.CatalogResponse(digest="sha256:" + hashlib.sha256(data).hexdigest(), data=data)

    @answering(pb.ExpandResponse)
    def Expand(self, request):
        self.session(request)
        cluster, notes = cluster_of(request)
        config = cluster.get("provider", {}).get("config") or {}
        disks = sorted(config.get("disks", []), key=lambda disk: disk["name"])
        resources = [
            pb.Desired(address=f"python_disk.{disk['name']}", attributes=write({"size": disk["size"]}))
            for disk in disks
        ]
        return pb.ExpandResponse(resources=resources, notes=notes)

    @answering(pb.DiscoverResponse)
    def Discover(self, request):
        session = self.session(request)
        if session.blind:
            unlisted = [pb.Unlisted(type=name, error=unreadable()) for name in sorted(TYPES)]
            return pb.DiscoverResponse(unlisted=unlisted)
        by_uid = request.HasField("uid")
        wanted = ("uid", request.uid) if by_uid else ("cluster", request.cluster)
        found = [(t["address"], i, t) for i, t in session.cloud.look().items() if t[wanted[0]] == wanted[1]]
        # An address sorts by its type and then by its name.
        found.sort(key=lambda entry: (entry[0].split(".", 1), entry[1]))
        answer = pb.DiscoverResponse(observed=[session.observed(i, t) for _, i, t in found])
        if found and not by_uid:
            answer.uid = found[0][2]["uid"]
        return answer

    @answering(pb.ReadResponse)
    def Read(self, request):
        session = self.session(request)
        objects = {} if session.blind else session.cloud.look()
        answer = pb.ReadResponse()
        for item in request.items:
            thing = objects.get(item.identity)
            if session.blind:
                one = pb.Observed(address=item.address, identity=item.identity, unreadable=unreadable())
            elif thing is None:
                one = pb.Observed(address=item.address, identity=item.identity, absent=pb.Absent())
            else:
                one = session.observed(item.identity, thing, item.address)
            answer.observed.append(one)
        return answer

    @answering(pb.PlanResponse)
    def Plan(self, request):
        self.session(request)
        return pb.PlanResponse(planned=[plan(item) for item in request.items])

    @answering(pb.PreflightResponse)
    def Preflight(self, request):
        self.session(request)
        return pb.PreflightResponse()

    @answering(pb.ResumeResponse)
    def Resume(self, request):
        return self.session(request).resume(request)

    @answering(pb.UpgradeStateResponse)
    def UpgradeState(self, request):
        self.session(request)
        if request.type not in TYPES or request.version != TYPES[request.type].version:
            raise invalid(f"{request.type} has no version {request.version}")
        return pb.UpgradeStateResponse(attributes=request.attributes)

    @answering(pb.LocateResponse)
    def Locate(self, request):
        self.session(request)
        # Whatever is in this cloud was made by this contract: there is nothing to take over.
        nothing = [pb.Located(address=item.address) for item in request.items]
        return pb.LocateResponse(located=nothing)

    @answering(pb.ImportResponse)
    def Import(self, request):
        session = self.session(request)
        thing = session.cloud.look().get(request.identity)
        if thing is None:
            raise Refused(pb.ERROR_CLASS_NOT_FOUND, f"{request.identity} does not exist", request.address)
        return pb.ImportResponse(observed=session.observed(request.identity, thing, request.address))

    @answering(pb.WrapKeyResponse)
    def WrapKey(self, request):
        if request.key not in SERVICE_KEYS:
            raise Refused(pb.ERROR_CLASS_NOT_FOUND, f"there is no key {request.key}")
        masked = mask(request.key, request.plain)
        return pb.WrapKeyResponse(wrapped=seal(request, masked) + masked)

    @answering(pb.UnwrapKeyResponse)
    def UnwrapKey(self, request):
        sealed, masked = request.wrapped[:32], request.wrapped[32:]
        if not hmac.compare_digest(sealed, seal(request, masked)):
            raise Refused(pb.ERROR_CLASS_INVALID, f"this is not what {request.key} has wrapped")
        return pb.UnwrapKeyResponse(plain=mask(request.key, masked))

    @answering(pb.InstancesResponse)
    def Instances(self, request):
        """A share is served by an instance of its own; its node has the name of the share."""
        session = self.session(request)
        if session.blind:
            return pb.InstancesResponse(answers=[pb.InstanceAnswer(unreadable=unreadable()) for _ in request.queries])
        shares = {i: t for i, t in session.cloud.look().items() if t["address"].startswith("python_share.")}
        ids = {"python:///" + identity: identity for identity in shares}
        names = {
            thing["address"].split(".", 1)[1]: identity
            for identity, thing in shares.items()
            if thing["cluster"] == request.cluster
        }
        answer = pb.InstancesResponse()
        for query in request.queries:
            if query.provider_id and not query.provider_id.startswith("python:///"):
                foreign = invalid(f"{query.provider_id} is a provider id of another cloud").error
                answer.answers.append(pb.InstanceAnswer(unreadable=foreign))
                continue
            identity = ids.get(query.provider_id) if query.provider_id else names.get(query.node)
            if identity is None:
                answer.answers.append(pb.InstanceAnswer(absent=pb.Absent()))
                continue
            addresses = [pb.NodeAddress(type="Hostname", address=query.node)]
            found = pb.Instance(provider_id="python:///" + identity, addresses=addresses)
            answer.answers.append(pb.InstanceAnswer(present=found))
        return answer

    def Apply(self, requests, context):
        """All actions of a session: a thread takes requests, the pool runs them, this one tells events."""
        events, under_way = queue.Queue(), threading.Semaphore(0)
        try:
            first = next(requests)
            session = self.session(first)
        except StopIteration:
            return
        except Refused as refused:
            yield pb.ApplyEvents(error=refused.error)
            return

        def run(request):
            def tell(**event):
                events.put(pb.ApplyEvent(token=request.token, **event))

            try:
                tell(done=session.act(request, tell))
            except Refused as refused:
                tell(failed=refused.error)
            except Exception as fault:  # nobody knows what has happened
                kind = {"class": pb.ERROR_CLASS_OUTCOME_UNKNOWN}
                tell(failed=pb.Error(message=f"the provider failed: {type(fault).__name__}", **kind))

        def intake():
            running = [self.actions.submit(run, request) for request in first.requests]
            try:
                for message in requests:
                    running.extend(self.actions.submit(run, request) for request in message.requests)
            except grpc.RpcError:
                pass
            for future in running:
                future.result()
            events.put(None)

        threading.Thread(target=intake, daemon=True).start()
        while True:
            batch = [events.get()]
            while not events.empty() and len(batch) < 256:
                batch.append(events.get())
            told = [event for event in batch if event is not None]
            if told:
                yield pb.ApplyEvents(events=told)
            if None in batch:
                return


def problems(config):
    directory = config.get("directory")
    if not isinstance(directory, str) or not directory.startswith("/"):
        return [f"directory `{directory}` is not an absolute path"]
    return []


def main():
    directory, nonce = os.environ["SLIPWAY_PROVIDER_DIRECTORY"], os.environ["SLIPWAY_PROVIDER_NONCE"]
    address = os.path.join(directory, "provider.sock")
    limits = [("grpc.max_receive_message_length", LIMIT), ("grpc.max_send_message_length", LIMIT)]
    server = grpc.server(ThreadPoolExecutor(max_workers=32), options=limits)
    provider = Provider()
    rpc.add_ProviderServicer_to_server(provider, server)
    rpc.add_LoadBalancersServicer_to_server(traffic.LoadBalancers(provider.session), server)
    rpc.add_RoutesServicer_to_server(traffic.Routes(provider.session), server)
    server.add_insecure_port("unix:" + address)
    server.start()
    schema = SCHEMA.SerializeToString(deterministic=True)
    announcement = {
        "magic": "slipway-provider",
        "protocol": ["v1alpha1"],
        "transport": "unix",
        "address": address,
        "pid": os.getpid(),
        "name": "python",
        "version": VERSION,
        "schema_digest": "sha256:" + hashlib.sha256(schema).hexdigest(),
        "nonce": nonce,
    }
    print(json.dumps(announcement), flush=True)
    # Nothing is ever sent: the end of it is the end of the engine.
    sys.stdin.buffer.read()
    os._exit(0)


main()
