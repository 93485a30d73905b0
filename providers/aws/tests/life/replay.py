"""Sends recorded calls again, so that a cloud has what another tool made: the endpoint and the recording are the arguments.

A line of a recording is a call that changed something: method, path, headers, body in base64, the status of its answer and
the ids in that answer. Ids that the cloud gives now take the place of the recorded ones in later calls.
"""

import base64
import http.client
import json
import re
import sys
import urllib.parse

ID = re.compile(r"\b(?:[a-z]+-[0-9a-f]{8,17}|[0-9a-f]{16}|[A-Z0-9]{13,21})\b")


def replay(endpoint, recording):
    place = urllib.parse.urlparse(endpoint)
    names = {}

    def renamed(text):
        return ID.sub(lambda match: names.get(match.group(), match.group()), text)

    for line in open(recording, encoding="utf-8"):
        call = json.loads(line)
        body = base64.b64decode(call["body"])
        try:
            text = body.decode()
        except UnicodeDecodeError:
            text = None
        if text is not None and re.search(r"(?:^|&)Action=", text):
            fields = urllib.parse.parse_qsl(text, keep_blank_values=True)
            body = urllib.parse.urlencode([(key, renamed(value)) for key, value in fields]).encode()
        elif text is not None:
            body = renamed(text).encode()
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=60)
        headers = dict(call["headers"], Host=place.netloc)
        connection.request(call["method"], renamed(call["path"]), body, headers)
        answer = connection.getresponse()
        said = answer.read().decode("utf-8", "replace")
        told = ID.findall(said)
        if answer.status != call["status"]:
            sent = f"{call['method']} {call['path'][:60]} {body[:200]!r}"
            sys.exit(f"{sent}: {answer.status}, not {call['status']}: {said[:300]}")
        if len(told) == len(call["ids"]):
            names.update((old, new) for old, new in zip(call["ids"], told) if old != new)


replay(sys.argv[1], sys.argv[2])
