"""Publish/subscribe: POST /subscribe?group=G, POST /publish, POST /receive?group=G."""
import threading
from serve import FIXED, Log, serve

log = Log("/data/log")
groups = {}  # group -> messages that it has not received
lock = threading.Lock()


def apply(line):
    kind, _, rest = line.partition(" ")
    if kind == "subscribe" and FIXED or kind == "subscribe" and live:
        groups.setdefault(rest, [])
    elif kind == "publish":
        for messages in groups.values():
            messages.append(rest)
    elif kind == "receive":
        messages = groups.get(rest, [])
        if messages:
            messages.pop(0)


live = False  # The planted bug: after a restart, subscriptions are not restored, and messages are for nobody.
for line in log.lines:
    apply(line)
live = True


def handle(method, path, query, body):
    with lock:
        if path == "/subscribe":
            log.append("subscribe " + query["group"])
            apply("subscribe " + query["group"])
            return 200, ""
        if path == "/publish":
            log.append("publish " + body)
            apply("publish " + body)
            return 200, ""
        messages = groups.get(query["group"], [])
        if not messages:
            return 404, ""
        message = messages[0]
        log.append("receive " + query["group"])
        apply("receive " + query["group"])
        return 200, message


serve(handle)
