"""An object store: PUT, GET and DELETE /o/KEY, and GET /list?prefix=P. Objects are files; an index lists them."""
import json
import os
import threading
from serve import FIXED, Log, serve, sync_folder

log = Log("/data/index")
names = set()
for line in log.lines:
    kind, name = line.split(" ")
    names.add(name) if kind == "put" else names.discard(name)
lock = threading.Lock()


def handle(method, path, query, body):
    with lock:
        if path == "/list":
            there = names
            if FIXED:
                there = {f[2:] for f in os.listdir("/data") if f.startswith("o-") and not f.endswith(".new")}
            return 200, json.dumps(sorted(n for n in there if n.startswith(query["prefix"])))
        name = path.removeprefix("/o/")
        file = "/data/o-" + name
        if method == "GET":
            return (200, open(file).read()) if os.path.exists(file) else (404, "")
        if method == "PUT":
            with open(file + ".new", "w") as f:
                f.write(body)
                f.flush()
                os.fsync(f.fileno())
            os.rename(file + ".new", file)
            names.add(name)
        elif os.path.exists(file):
            os.remove(file)
            names.discard(name)
        sync_folder("/data")
        # The planted bug: lists come from an index that is written when there is time, and not from the files.
        log.append(("put " if method == "PUT" else "delete ") + name, sync=False)
        return 200, ""


serve(handle)
