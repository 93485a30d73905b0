"""moto's server on a free port, one request at a time: its stores are not safe for concurrent requests."""

import threading

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


application = DomainDispatcherApplication(create_backend_app)
if "mend_application" in globals():
    application = mend_application(application)  # noqa: F821, from the module before this one
server = make_server("127.0.0.1", 0, OneAtATime(application), threaded=True, request_handler=Quiet)
print(f"listening on http://127.0.0.1:{server.port}", flush=True)
server.serve_forever()
