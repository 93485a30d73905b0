"""moto's server on a free port, one request at a time: its stores are not safe for concurrent requests."""

import functools
import gc
import os
import threading

import moto.ec2.models.amis
from moto import backends
from moto.core import responses
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class OneAtATime:
    def __init__(self, application):
        self.application = application
        self.lock = threading.Lock()

    def __call__(self, environment, start_response):
        with self.lock:
            answer = self.application(environment, start_response)
            try:
                return [b"".join(answer)]
            finally:
                if hasattr(answer, "close"):
                    answer.close()


class Quiet(WSGIRequestHandler):
    def log_request(self, code="-", size="-"):
        pass


# moto finds these out anew for every request.
backends.list_of_moto_modules = lambda modules=tuple(backends.list_of_moto_modules()): modules
responses.method_names_from_class = functools.cache(responses.method_names_from_class)
# Looked at when a region begins: without it, a region also has a thousand images that Amazon published.
os.environ["MOTO_AMIS_PATH"] = moto.ec2.models.amis.__file__
# The modules stay, and need not be looked through for garbage.
gc.freeze()
gc.set_threshold(50_000, 20, 20)

application = DomainDispatcherApplication(create_backend_app)
if "mend_application" in globals():
    application = mend_application(application)  # noqa: F821, from the module before this one
server = make_server("127.0.0.1", 0, OneAtATime(application), threaded=True, request_handler=Quiet)
print(f"listening on http://127.0.0.1:{server.port}", flush=True)
server.serve_forever()
