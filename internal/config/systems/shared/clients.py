"""Clients that record their operations for Bloodhound; `bloodhound docs write-a-driver` explains the rules."""
import http.client
import json
import os
import random
import sys
import threading
import time

OPERATIONS, PAUSE_S = 80, 0.1
report = open(os.environ["BLOODHOUND_REPORT"], "ab", buffering=0)  # unbuffered: one write for each record
skipped = json.loads(os.environ.get("BLOODHOUND_SKIP") or "[]")


class Refused(Exception):
    """The server has certainly done nothing."""


def say(**record):
    report.write(json.dumps(record).encode() + b"\n")


def request(node, method, path, body=None):
    """Sends one request, and returns the reply's status and text."""
    connection = http.client.HTTPConnection(node, 8080, timeout=1)
    try:
        connection.connect()
    except OSError as e:
        raise Refused(str(e))
    try:
        connection.request(method, path, body)
        reply = connection.getresponse()
        return reply.status, reply.read().decode()
    except http.client.HTTPException as e:
        raise OSError("no complete reply: %r" % e)
    finally:
        connection.close()


def succeed(node, method, path, body=None):
    """Sends one request whose reply must be 200, and returns its text."""
    status, text = request(node, method, path, body)
    if status != 200:
        raise OSError("status %d" % status)
    return text


class Client:
    """A client has one operation under way. After one of unknown outcome it continues under a new name."""

    def __init__(self, name):
        self.name, self.life = name, 0

    def perform(self, op, key, send, **fields):
        """Records an operation around send(), which may return a dict of the result's fields. Returns it, or None."""
        who = "%s.%d" % (self.name, self.life)
        say(client=who, type="invoke", op=op, key=key, **fields)
        try:
            result = send()
        except Refused as e:
            say(client=who, type="fail", error=str(e))
        except OSError as e:
            self.life += 1
            say(client=who, type="info", error=str(e))
        else:
            result = result if isinstance(result, dict) else {}
            say(client=who, type="ok", **result)
            return result
        return None


def is_skipped(name, k):
    return any(s["client"] == name and s["from"] <= k < s.get("to", OPERATIONS) for s in skipped)


def run(works, read_back):
    """Lets each client of works, a map of names to work(client, k, choices), perform OPERATIONS operations at the same time,
    and then calls read_back() when the system has had time to recover."""

    def live(name, work, seed):
        client, choices, start = Client(name), random.Random(seed), time.time()
        for k in range(OPERATIONS):
            if all(is_skipped(name, later) for later in range(k, OPERATIONS)):
                return
            time.sleep(max(0, start + k * PAUSE_S - time.time()))
            act = work(client, k, choices)
            if not is_skipped(name, k):
                act()

    threads = [threading.Thread(target=live, args=(name, work, random.random())) for name, work in works.items()]
    say(type="ready")  # faults begin
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    say(type="done")  # faults end
    sys.stdin.readline()
    say(type="check")
    read_back()
