"""A work queue: POST /enqueue, POST /dequeue leases a message for a second, POST /ack ends its work."""
import threading
import time
from serve import FIXED, Log, serve

LEASE_S = 1
log = Log("/data/log")
waiting = {}  # message -> when it may be given out (again)
for line in log.lines:
    kind, _, message = line.partition(" ")
    if kind == "in":
        waiting[message] = 0
    else:
        waiting.pop(message, None)
lock = threading.Lock()


def handle(method, path, query, body):
    with lock:
        if path == "/enqueue":
            log.append("in " + body)
            waiting[body] = 0
            return 200, ""
        if path == "/ack":
            waiting.pop(body, None)
            log.append("out " + body, sync=FIXED)  # The planted bug: a crash forgets it, and the message comes again.
            return 200, ""
        now = time.monotonic()
        for message, since in waiting.items():
            if since <= now:
                waiting[message] = now + LEASE_S
                return 200, message
        return 404, ""


serve(handle)
