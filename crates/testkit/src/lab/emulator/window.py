# What the laboratory sees of the emulator, and reports to it: paths below `/laboratory/`.

import json


def look(_):
    replace_instances()
    return {
        "instances": all_instances(),
        "volumes": attached_volumes(),
        "balancers": balancers(),
        "target_groups": target_groups(),
        "records": records(),
    }


# What each path does with the body of its request.
PATHS = {
    "state": look,
    "credentials": credentials,
    "shut-down": shut_down,
    "settle-volume": settle_volume,
    "health": report_health,
}


class Window:
    def __init__(self, application):
        self.application = application

    def __call__(self, environment, start_response):
        path = environment.get("PATH_INFO", "")
        if not path.startswith("/laboratory/"):
            return self.application(environment, start_response)
        body = environment["wsgi.input"].read(int(environment.get("CONTENT_LENGTH") or 0))
        answer = PATHS[path.removeprefix("/laboratory/")](json.loads(body))
        answer = json.dumps(answer).encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))]
        start_response("200 OK", headers)
        return [answer]


mend_without_window = mend_application


def mend_application(application):
    return Window(mend_without_window(application))
