"""A key-value store: PUT and GET /kv/KEY. Its log is on the disk."""
import threading
from serve import FIXED, Log, serve

log = Log("/data/log")
values = dict(line.split(" ", 1) for line in log.lines)
lock = threading.Lock()


def handle(method, path, query, body):
    key = path.removeprefix("/kv/")
    with lock:
        if method == "PUT":
            values[key] = body
            # The planted bug: the answer comes before the disk has the line.
            log.append(key + " " + body, sync=FIXED)
            log.file.flush()
            return 200, ""
        return (200, values[key]) if key in values else (404, "")


serve(handle)
