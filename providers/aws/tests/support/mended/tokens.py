# Client tokens.


# Creating calls with a client token have one effect: the answer to the first is that to all.


class OnceForEachToken:
    def __init__(self, application):
        self.application = application
        self.answers = {}

    def __call__(self, environment, start_response):
        import io
        from urllib.parse import parse_qs

        length = int(environment.get("CONTENT_LENGTH") or 0)
        body = environment["wsgi.input"].read(length) if length else b""
        environment["wsgi.input"] = io.BytesIO(body)
        fields = parse_qs(body.decode("latin1")) if b"ClientToken=" in body and b"Action=Create" in body else {}
        token = fields.get("ClientToken", [None])[0]
        key = token and (environment.get("HTTP_AUTHORIZATION", "")[:80], fields["Action"][0], token)
        if key in self.answers:
            status, headers, answer = self.answers[key]
            start_response(status, headers)
            return [answer]
        told = []

        def listen(status, headers, *more):
            told[:] = [status, headers]
            return start_response(status, headers, *more)

        answer = b"".join(self.application(environment, listen))
        if key and told and told[0].startswith("200"):
            self.answers[key] = (told[0], told[1], answer)
        return [answer]


def mend_application(application):
    return OnceForEachToken(application)
