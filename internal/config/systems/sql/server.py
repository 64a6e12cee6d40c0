"""Transactions over lists in memory: POST /txn with [["r", key, null], ["append", key, value], ...]."""
import json
import threading
import time
from serve import FIXED, serve

lists = {}
lock, whole = threading.Lock(), threading.Lock()


def perform(accesses):
    done = []
    for kind, key, value in accesses:
        with lock:  # The planted bug: each access is locked by itself, and not the transaction.
            if kind == "append":
                lists.setdefault(key, []).append(value)
                done.append([kind, key, value])
            else:
                done.append([kind, key, list(lists.get(key, []))])
        time.sleep(0.005)
    return done


def handle(method, path, query, body):
    if FIXED:
        with whole:
            return 200, json.dumps(perform(json.loads(body)))
    return 200, json.dumps(perform(json.loads(body)))


serve(handle)
