# Copies of the process, which answer as things were when they were made. Follows the window.

import fcntl  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import pickle  # noqa: E402
import signal  # noqa: E402
import socket  # noqa: E402
import struct  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402
from urllib.parse import parse_qs  # noqa: E402


def send(stream, value):
    data = pickle.dumps(value)
    stream.sendall(struct.pack(">I", len(data)) + data)


def receive(stream):
    def exactly(count):
        data = b""
        while len(data) < count:
            part = stream.recv(count - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    return pickle.loads(exactly(struct.unpack(">I", exactly(4))[0]))


def stand_apart(stream):
    """Leaves a copy of the process with nothing of the first one's but this socket."""
    kept = fcntl.fcntl(stream.fileno(), fcntl.F_DUPFD, 1000)
    os.closerange(3, 1000)
    return socket.socket(fileno=kept)


def answer_apart(application, stream):
    """The life of a copy: it answers until nobody asks any more."""
    stream = stand_apart(stream)
    while True:
        try:
            environment, body = receive(stream)
            send(stream, answer_of(application, environment, body))
        except (EOFError, OSError):
            os._exit(0)


def answer_of(application, environment, body):
    """Status, headers and body of an answer."""
    environment["wsgi.input"] = io.BytesIO(body)
    environment["wsgi.errors"] = io.StringIO()
    told = []

    def listen(status, headers, *more):
        told[:] = [status, headers]

    try:
        answer = b"".join(application(environment, listen))
        return *told, answer
    except Exception:
        traceback.print_exc()
        return "500 Internal Server Error", [("Content-Length", "0")], b""


def ask_apart(stream, environment, body, start_response):
    """Has a copy answer."""
    plain = {key: value for key, value in environment.items() if isinstance(value, (str, int, bool, tuple))}
    send(stream, (plain, body))
    status, headers, answer = receive(stream)
    start_response(status, headers)
    return [answer]


def body_of(environment):
    """Reads a request's body; it can be read again."""
    length = int(environment.get("CONTENT_LENGTH") or 0)
    body = environment["wsgi.input"].read(length) if length else b""
    environment["wsgi.input"] = io.BytesIO(body)
    return body


# Reads that lag behind: a copy for every quarter of a second answers as things were then.


class Lagging:
    def __init__(self, application):
        self.application = application
        self.seconds = 0.0
        self.copies = []
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)

    def __call__(self, environment, start_response):
        body = body_of(environment)
        path = environment.get("PATH_INFO", "")
        if path.startswith("/lab/"):
            return self.told(path, environment, start_response)
        self.forget_old()
        if not self.seconds or not self.lags(environment, body):
            if self.seconds:
                self.remember()
            return self.application(environment, start_response)
        if not self.copies:
            return self.application(environment, start_response)
        return ask_apart(self.copies[0][1], environment, body, start_response)

    def told(self, path, environment, start_response):
        answer = {}
        if path == "/lab/inventory":
            answer = inventory()
        elif path == "/lab/forget":
            forget_owners()
        elif path == "/lab/lag":
            self.seconds = float(parse_qs(environment["QUERY_STRING"])["seconds"][0])
        elif path == "/lab/gone":
            zones_are_gone(parse_qs(environment["QUERY_STRING"]).get("zone", []))  # noqa: F821, of the mended groups
        data = json.dumps(answer).encode()
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(data)))])
        return [data]

    @staticmethod
    def lags(environment, body):
        """Whether it is a read of a service whose reads lag."""
        scope = environment.get("HTTP_AUTHORIZATION", "").partition("Credential=")[2].split("/")
        if len(scope) < 4 or scope[3] in ("s3", "sts", "kms"):
            return False
        target = environment.get("HTTP_X_AMZ_TARGET", "").rpartition(".")[2]
        action = target or parse_qs(body.decode("latin1")).get("Action", [""])[0]
        if not action:
            return environment["REQUEST_METHOD"] in ("GET", "HEAD")
        return action.startswith(("Describe", "Get", "List"))

    def forget_old(self):
        until = time.monotonic() - self.seconds
        while self.copies and self.copies[0][0] <= until:
            self.copies.pop(0)[1].close()

    def remember(self):
        now = time.monotonic()
        if self.copies and now - self.copies[-1][0] < 0.25:
            return
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            answer_apart(self.application, theirs)
        theirs.close()
        self.copies.append((now, ours))


# What there is, kept: one copy stands still, and copies of it answer in turn, each from what was kept.


class Kept:
    def __init__(self, application):
        self.application = application
        # The copy that stands still, and the one that answers.
        self.still = None
        self.present = None

    def __call__(self, environment, start_response):
        path = environment.get("PATH_INFO", "")
        if path == "/lab/keep":
            self.keep()
        elif path == "/lab/restore":
            self.restore()
        elif self.present is not None and path != "/moto-api/reset":
            return ask_apart(self.present, environment, body_of(environment), start_response)
        else:
            if path == "/moto-api/reset":
                self.let_go()
            return self.application(environment, start_response)
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    def let_go(self):
        for stream in (self.still, self.present):
            if stream is not None:
                stream.close()
        self.still = self.present = None

    def keep(self):
        self.let_go()
        ours, theirs = socket.socketpair()
        if os.fork() == 0:
            self.stand_still(theirs)
        theirs.close()
        self.still = ours

    def restore(self):
        ours, theirs = socket.socketpair()
        socket.send_fds(self.still, [b"r"], [theirs.fileno()])
        theirs.close()
        if self.present is not None:
            self.present.close()
        self.present = ours

    def stand_still(self, stream):
        """The life of the copy that stands still: for each socket that it is sent it makes one that answers there."""
        stream = stand_apart(stream)
        try:
            while True:
                message, sockets, _, _ = socket.recv_fds(stream, 1, 1)
                if not message:
                    os._exit(0)
                theirs = socket.socket(fileno=sockets[0])
                if os.fork() == 0:
                    stream.close()
                    answer_apart(self.application, theirs)
                theirs.close()
        except BaseException:
            os._exit(0)


mend_before = mend_application  # noqa: F821, from the module before this one


def mend_application(application):
    return Kept(Lagging(mend_before(application)))
