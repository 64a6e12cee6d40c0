"""A lock with leases: POST /acquire?owner=O&lease_s=N answers with a fencing token, POST /release?owner=O."""
import threading
import time
from serve import FIXED, Log, serve

log = Log("/data/log")
owner, until, token = "", 0.0, 0
for line in log.lines:
    owner, text, number = line.split(" ")
    token = int(number)
    until = float(text) if FIXED else 0.0  # The planted bug: after a restart, the lock is free.
lock = threading.Lock()


def handle(method, path, query, body):
    global owner, until, token
    with lock:
        if path == "/acquire":
            if time.time() < until and owner != query["owner"]:
                return 409, ""
            owner, until, token = query["owner"], time.time() + float(query["lease_s"]), token + 1
        elif owner == query["owner"]:
            until = 0.0
        log.append("%s %r %d" % (owner, until, token))
        return 200, str(token)


serve(handle)
