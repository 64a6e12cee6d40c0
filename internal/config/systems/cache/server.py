"""A store (STORE=1), and a cache in front of it: PUT and GET /kv/KEY."""
import http.client
import os
import threading
from serve import FIXED, serve

values, generation, writing = {}, {}, {}
uncertain = set()  # keys that a write of unknown outcome may still change
lock = threading.Lock()


def store(method, path, query, body):
    with lock:
        if method == "PUT":
            values[path] = body
            return 200, ""
        return (200, values[path]) if path in values else (404, "")


def ask(method, path, body=None):
    connection = http.client.HTTPConnection("store", 8080, timeout=2)
    try:
        connection.request(method, path, body)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    finally:
        connection.close()


def cache(method, path, query, body):
    if method == "PUT":
        with lock:
            values.pop(path, None)
            writing[path] = writing.get(path, 0) + 1
        try:
            status, text = ask("PUT", path, body)
        except (OSError, http.client.HTTPException):
            status, text = 503, ""
        with lock:  # what was in the cache is old now, or may be
            values.pop(path, None)
            writing[path] -= 1
            generation[path] = generation.get(path, 0) + 1
            if status != 200:
                uncertain.add(path)
        return status, text
    with lock:
        if path in values:
            return 200, values[path]
        before = generation.get(path, 0), writing.get(path, 0)
    try:
        status, text = ask("GET", path)
    except (OSError, http.client.HTTPException):
        return 503, ""
    with lock:
        # The planted bug: what was read before a write fills the cache after it.
        now = generation.get(path, 0), writing.get(path, 0)
        if status == 200 and (not FIXED or now == before and now[1] == 0 and path not in uncertain):
            values[path] = text
    return status, text


serve(store if os.environ.get("STORE") else cache)
