"""Members that send each other heartbeats, and gossip who is dead: GET /members."""
import http.client
import json
import os
import threading
import time
from serve import FIXED, serve

ME, ALL = os.environ["ME"], ["n1", "n2", "n3"]
lock = threading.Lock()
members = {name: {"incarnation": 0, "alive": True} for name in ALL}
heard = {name: time.monotonic() for name in ALL}


def merge(theirs):
    for name, other in theirs.items():
        own = members[name]
        if name == ME:
            # The planted bug: a member that is called dead does not say that it is alive.
            if FIXED and not other["alive"] and other["incarnation"] >= own["incarnation"]:
                own["incarnation"] = other["incarnation"] + 1
        elif (other["incarnation"], not other["alive"]) > (own["incarnation"], not own["alive"]):
            members[name] = dict(other)


def beat():
    while True:
        time.sleep(0.2)
        for name in ALL:
            if name == ME:
                continue
            connection = http.client.HTTPConnection(name, 8080, timeout=0.5)
            try:
                with lock:
                    text = json.dumps({"from": ME, "members": members})
                connection.request("POST", "/gossip", text)
                connection.getresponse().read()
            except (OSError, http.client.HTTPException):
                pass
            finally:
                connection.close()
        with lock:
            for name in ALL:
                if name != ME and time.monotonic() - heard[name] > 1.5:
                    members[name]["alive"] = False


def handle(method, path, query, body):
    with lock:
        if method == "POST":
            message = json.loads(body)
            heard[message["from"]] = time.monotonic()
            merge(message["members"])
            return 200, ""
        return 200, json.dumps({name: members[name]["alive"] for name in ALL})


threading.Thread(target=beat, daemon=True).start()
serve(handle)
