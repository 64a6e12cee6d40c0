"""A store with watches: PUT /kv/KEY answers with a revision, GET /events?from=R with all changes since then."""
import json
import threading
from serve import FIXED, Log, serve

log = Log("/data/log")
events = [json.loads(line) for line in log.lines]
revision = events[-1]["revision"] if events else 0
if not FIXED:
    events = []  # The planted bug: after a restart, earlier changes are forgotten, and watches are not told.
lock = threading.Lock()


def handle(method, path, query, body):
    global revision
    with lock:
        if method == "PUT":
            revision += 1
            event = {"key": path.removeprefix("/kv/"), "type": "put", "value": body, "revision": revision}
            log.append(json.dumps(event))
            events.append(event)
            return 200, str(revision)
        return 200, json.dumps([e for e in events if e["revision"] >= int(query["from"])])


serve(handle)
