"""A job scheduler: POST /submit, and GET /done?from=N with the jobs that have run. A worker runs one job after the other."""
import json
import threading
import time
from serve import FIXED, Log, serve

log = Log("/data/log")
pending, done = [], []
for line in log.lines:
    kind, _, job = line.partition(" ")
    if kind == "submit":
        pending.append(job)
    elif kind == "begin":
        if not FIXED:
            pending.remove(job)  # The planted bug: a job that was cut short by a crash is not run again.
    else:
        if FIXED:
            pending.remove(job)
        done.append(job)
lock = threading.Lock()


def work():
    while True:
        time.sleep(0.02)
        with lock:
            if not pending:
                continue
            job = pending[0]
            log.append("begin " + job)
        time.sleep(0.05)  # the job
        with lock:
            log.append("done " + job)
            pending.remove(job)
            done.append(job)


def handle(method, path, query, body):
    with lock:
        if method == "POST":
            log.append("submit " + body)
            pending.append(body)
            return 200, ""
        start = int(query["from"])
        return 200, json.dumps(done[start:start + 50])


threading.Thread(target=work, daemon=True).start()
serve(handle)
