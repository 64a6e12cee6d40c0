"""Clients of etcd's JSON gateway: two write keys, two watch them, and two acquire a lock with a lease."""
import base64
import http.client
import json
import os
import random
import sys
import threading
import time

NODES = sys.argv[1:]
OPERATIONS, PAUSE_S, LOOK_S, LEASE_S = 50, 0.4, 0.3, 2
report = open(os.environ["BLOODHOUND_REPORT"], "ab", buffering=0)  # unbuffered: one write for each record
skipped = json.loads(os.environ.get("BLOODHOUND_SKIP") or "[]")


class Refused(Exception):
    """etcd has certainly done nothing."""


def say(**record):
    report.write(json.dumps(record).encode() + b"\n")


def encode(text):
    return base64.b64encode(text.encode()).decode()


def decode(text):
    return base64.b64decode(text or "").decode()


def connect(node, timeout=2):
    connection = http.client.HTTPConnection(node, 2379, timeout=timeout)
    try:
        connection.connect()
    except OSError as e:
        raise Refused(str(e))
    return connection


def call(node, path, body):
    connection = connect(node)
    try:
        connection.request("POST", path, json.dumps(body))
        reply = connection.getresponse()
        text = reply.read()
        if reply.status != 200:
            raise OSError("status %d: %s" % (reply.status, text[:100]))
        return json.loads(text)
    except (http.client.HTTPException, ValueError) as e:
        raise OSError("no complete reply: %r" % e)
    finally:
        connection.close()


def look(node, start):
    """Watches all keys k* from a revision for a moment. Returns the changes."""
    connection = connect(node, LOOK_S)
    changes, created = [], False
    try:
        create = {"key": encode("k"), "range_end": encode("l"), "start_revision": str(start), "progress_notify": False}
        connection.request("POST", "/v3/watch", json.dumps({"create_request": create}))
        reply = connection.getresponse()
        while True:
            line = reply.readline()
            if not line:
                raise OSError("the stream ended")
            result = json.loads(line).get("result")
            if result is None or result.get("canceled") or result.get("compact_revision"):
                raise OSError("the watch was cancelled: %s" % line[:100])
            created = created or result.get("created", False)
            for event in result.get("events", []):
                kv = event["kv"]
                changes.append({"key": decode(kv["key"]), "type": "delete" if event.get("type") == "DELETE" else "put",
                                "value": decode(kv.get("value")), "revision": int(kv["mod_revision"])})
    except TimeoutError:
        if not created:
            raise OSError("the watch was not created in time")
    except (http.client.HTTPException, ValueError) as e:
        raise OSError("no complete line: %r" % e)
    finally:
        connection.close()
    return {"output": json.dumps(changes)}


class Client:
    def __init__(self, name):
        self.name, self.life = name, 0

    def perform(self, op, key, send, **fields):
        who = "%s.%d" % (self.name, self.life)
        say(client=who, type="invoke", op=op, key=key, **fields)
        try:
            result = send()
        except Refused as e:
            say(client=who, type="fail", error=str(e))
        except OSError as e:
            self.life += 1  # the operation may still take effect
            say(client=who, type="info", error=str(e))
        else:
            say(client=who, type="ok", **result)
            return result
        return None


def write(client, k, choices):
    node, key, value = choices.choice(NODES), "k%d" % choices.randrange(3), "%s-%d" % (client.name, k)
    put = lambda: {"output": call(node, "/v3/kv/put", {"key": encode(key), "value": encode(value)})["header"]["revision"]}
    return lambda: client.perform("put", key, put, input=value)


watchers = {}


def observe(client, k, choices):
    node = choices.choice(NODES)

    def act():
        state = watchers.setdefault(client.name, {"client": client, "life": -1, "next": 1})
        if state["life"] != client.life:  # a watch of its own for each name
            state["life"] = client.life
            client.perform("watch", "k*", lambda: {}, input=str(state["next"]))
        result = client.perform("observe", "", lambda: look(node, state["next"]))
        seen = json.loads(result["output"]) if result else []
        if seen:
            state["next"] = seen[-1]["revision"] + 1
        return result is not None and not seen

    return act


def acquire(node, owner):
    """Creates the key of the lock with a lease, if it is not there."""
    lease = call(node, "/v3/lease/grant", {"TTL": str(LEASE_S)})["ID"]
    key = encode("lock")
    compare = {"target": "CREATE", "result": "EQUAL", "key": key, "create_revision": "0"}
    put = {"request_put": {"key": key, "value": encode(owner), "lease": lease}}
    reply = call(node, "/v3/kv/txn", {"compare": [compare], "success": [put]})
    return {"output": reply["header"]["revision"] if reply.get("succeeded") else "false"}


def lock(client, k, choices):
    node, draw = choices.choice(NODES), choices.random()
    if draw < 0.5:
        return lambda: client.perform("acquire", "lock", lambda: acquire(node, client.name), input="%ds" % LEASE_S)
    return lambda: None


def is_skipped(name, k):
    return any(s["client"] == name and s["from"] <= k < s.get("to", OPERATIONS) for s in skipped)


def live(name, work, seed):
    client, choices, start = Client(name), random.Random(seed), time.time()
    for k in range(OPERATIONS):
        if all(is_skipped(name, later) for later in range(k, OPERATIONS)):
            return
        time.sleep(max(0, start + k * PAUSE_S - time.time()))
        act = work(client, k, choices)
        if not is_skipped(name, k):
            act()


works = {"a": write, "b": write, "v": observe, "w": observe, "l": lock, "m": lock}
threads = [threading.Thread(target=live, args=(name, work, random.random())) for name, work in works.items()]
say(type="ready")  # faults begin
for t in threads:
    t.start()
for t in threads:
    t.join()
say(type="done")  # faults end
sys.stdin.readline()
say(type="check")
for name in sorted(watchers):
    for attempt in range(20):
        if observe(watchers[name]["client"], 0, random)():
            break
