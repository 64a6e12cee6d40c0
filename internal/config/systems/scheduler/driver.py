"""Two clients submit jobs, and a third one looks which have run."""
import json
import time
from clients import Client, run, succeed

seen = [0]


def submit(client, k, choices):
    job = "%s-%d" % (client.name, k)
    return lambda: client.perform("send", "jobs", lambda: succeed("scheduler", "POST", "/submit", job), input=job)


def look(client):
    result = client.perform("poll", "jobs", lambda: {"output": succeed("scheduler", "GET", "/done?from=%d" % seen[0])}, group="run")
    got = json.loads(result["output"]) if result else []
    seen[0] += len(got)
    return result is not None and not got


def read_back():
    client, quiet = Client("end"), 0
    while quiet < 3:  # a job takes less than the pause
        quiet = quiet + 1 if look(client) else 0
        time.sleep(0.5)


run({"a": submit, "b": submit, "c": lambda client, k, choices: lambda: look(client)}, read_back)
