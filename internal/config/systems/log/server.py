"""A log: POST /append answers with an offset, GET /read?from=N with up to 20 messages from there on."""
import json
import threading
from serve import FIXED, Log, serve

log = Log("/data/log")
messages = list(log.lines)
lock = threading.Lock()


def handle(method, path, query, body):
    with lock:
        if method == "POST":
            messages.append(body)
            log.append(body, sync=FIXED)  # The planted bug: the message stays in memory when the answer goes out.
            return 200, str(len(messages) - 1)
        start = int(query["from"])
        return 200, json.dumps(messages[start:start + 20])


serve(handle)
